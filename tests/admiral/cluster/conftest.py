"""Two Ray nodes on this machine, one of which a test may kill."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from admiral import RetrievalConfig
from admiral.cluster.ray_session import load_ray
from admiral.errors import AdmiralError


@pytest.fixture
def ray() -> Any:
    """The package, without which a test is skipped."""
    try:
        return load_ray()
    except AdmiralError as error:
        pytest.skip(str(error))


@pytest.fixture
def cluster(user_cache: None, ray: Any) -> Iterator[Any]:
    """A cluster of a head and a second node with one CPU each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray's own, at its imports and its end
        from ray.cluster_utils import Cluster

        node = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
        made = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
        try:
            made.add_node(**node)
            yield made
        finally:
            ray.shutdown()
            made.shutdown()


@pytest.fixture
def config() -> RetrievalConfig:
    """Settings under which a claim takes little time."""
    return RetrievalConfig(beam_size=4, title_beams=2, rerank_documents=6, top_k=20, batch_size=2)
