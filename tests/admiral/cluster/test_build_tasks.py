"""A knowledge base built on two Ray nodes, one of which dies, beside the local one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from admiral.cluster.build_tasks import spread_over
from admiral.cluster.ray_session import ClusterOptions
from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, build, verify
from tests.admiral.kb.corpus.test_shards import QUERIES, write


@pytest.mark.slow
def test_a_node_that_dies_changes_nothing(cluster: Any, tmp_path: Path) -> None:
    corpus = write(tmp_path / "corpus", titles=10_000)
    build(corpus, tmp_path / "local", bm25="bm25s", on_duplicate="skip", progress=False)
    with spread_over(ClusterOptions(address=cluster.address, workers=4)) as spread:
        seen = []

        def deadly(work: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[Any]:
            for result in spread.map(work, jobs):
                seen.append(work.__name__)
                if len(seen) == 2:
                    cluster.remove_node(cluster.list_all_nodes()[1], allow_graceful=False)
                yield result

        build(
            corpus,
            tmp_path / "spread",
            bm25="bm25s",
            on_duplicate="skip",
            progress=False,
            spread=replace(spread, map=deadly, rows=100),
        )
    assert seen.count("read_shard") == 7
    assert seen.count("index_shard") > 1
    assert verify(tmp_path / "spread", progress=False) == []
    with (
        KnowledgeBase.open(tmp_path / "local") as one,
        KnowledgeBase.open(tmp_path / "spread") as two,
    ):
        assert list(one.documents()) == list(two.documents())
        assert one.search(QUERIES, 500) == two.search(QUERIES, 500)


@pytest.mark.slow
def test_an_error_of_a_worker_is_one_error(cluster: Any, tmp_path: Path) -> None:
    corpus = write(tmp_path / "corpus", titles=10_000)
    with (corpus / "part-4.jsonl").open("a") as file:
        file.write("{}\n")
    with (
        spread_over(ClusterOptions(address=cluster.address)) as spread,
        pytest.raises(AdmiralError, match=r"part-4\.jsonl:\d+: field 'title': missing"),
    ):
        build(
            corpus,
            tmp_path / "kb",
            bm25="none",
            on_duplicate="skip",
            progress=False,
            spread=spread,
        )
    assert not (tmp_path / "kb").exists()
