"""Building a knowledge base on two Ray nodes gives the same as locally, even if one dies."""

from dataclasses import replace

import pytest

from admiral.cluster.ray_session import ClusterOptions, ray_build_workers
from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, build, verify
from tests.admiral.kb.corpus.test_sharded_corpora import QUERIES, write


@pytest.mark.slow
def test_a_dying_node_does_not_change_the_build(cluster, tmp_path):
    corpus = write(tmp_path / "corpus", titles=10_000)
    build(corpus, tmp_path / "local", bm25="bm25s", on_duplicate="skip", progress=False)
    with ray_build_workers(ClusterOptions(address=cluster.address, workers=4)) as workers:
        seen = []

        def killing_map(work, jobs):
            for result in workers.map(work, jobs):
                seen.append(work.__name__)
                if len(seen) == 2:
                    cluster.remove_node(cluster.list_all_nodes()[1], allow_graceful=False)
                yield result

        build(
            corpus,
            tmp_path / "cluster",
            bm25="bm25s",
            on_duplicate="skip",
            progress=False,
            workers=replace(workers, map=killing_map, rows=100),
        )
    assert seen.count("read_shard") == 7
    assert seen.count("index_shard") > 1
    assert verify(tmp_path / "cluster", progress=False) == []
    with (
        KnowledgeBase.open(tmp_path / "local") as local,
        KnowledgeBase.open(tmp_path / "cluster") as remote,
    ):
        assert list(local.documents()) == list(remote.documents())
        assert local.search(QUERIES, 500) == remote.search(QUERIES, 500)


@pytest.mark.slow
def test_an_error_of_a_worker_is_raised_once(cluster, tmp_path):
    corpus = write(tmp_path / "corpus", titles=10_000)
    with (corpus / "part-4.jsonl").open("a") as file:
        file.write("{}\n")
    with (
        ray_build_workers(ClusterOptions(address=cluster.address)) as workers,
        pytest.raises(AdmiralError, match=r"part-4\.jsonl:\d+: field 'title': missing"),
    ):
        build(
            corpus,
            tmp_path / "kb",
            bm25="none",
            on_duplicate="skip",
            progress=False,
            workers=workers,
        )
    assert not (tmp_path / "kb").exists()
