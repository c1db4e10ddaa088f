"""Two Ray nodes on this machine, one of which a test may kill."""

import warnings

import pytest

from admiral import RetrievalConfig
from admiral.cluster import load_ray
from admiral.errors import AdmiralError


@pytest.fixture
def ray():
    """Import Ray, or skip the test."""
    try:
        return load_ray()
    except AdmiralError as error:
        pytest.skip(str(error))


@pytest.fixture
def cluster(user_cache, ray):
    """Start a cluster of a head and a second node with one CPU each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of Ray's imports and shutdown
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
def config():
    return RetrievalConfig(beam_size=4, title_beams=2, rerank_documents=6, top_k=20, batch_size=2)
