"""Connecting to Ray: addresses, options, and Java in the same process."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from admiral.cluster import (
    ClusterOptions,
    connect_ray,
    load_ray,
    preserve_fault_handlers,
    ray_build_workers,
)
from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, build, verify
from tests.admiral.kb.corpus.test_sharded_corpora import QUERIES, write

ROOT = Path(__file__).parents[3]
JAVA_THEN_RAY = """
import sys
from pathlib import Path
from admiral.cluster import connect_ray
from admiral.kb.bm25 import build_bm25, merge_bm25, open_bm25
folder = Path(sys.argv[1])
build_bm25("lucene", [("a", "lamp")] * 3, folder / "0")
with connect_ray("local"):
    texts = [("b", " ".join(f"w{n * n % (7 + k)}" for k in range(200))) for n in range(20_000)]
    build_bm25("lucene", texts, folder / "1")
    merge_bm25("lucene", [folder / "0", folder / "1"], folder / "merged")
    with open_bm25("lucene", folder / "merged") as index:
        print([row for row, _ in index.search_rows(["lamp"], 9)[0]])
"""


def handler(fault):
    action = (ctypes.c_void_p * 128)()
    ctypes.CDLL(None).sigaction(int(fault), None, action)
    return action[0]


def test_fault_handlers_are_restored():
    before = handler(signal.SIGFPE)
    with preserve_fault_handlers():
        action = (ctypes.c_void_p * 128)()
        action[0] = 1  # SIG_IGN
        ctypes.CDLL(None).sigaction(int(signal.SIGFPE), action, None)
        assert handler(signal.SIGFPE) == 1
    assert handler(signal.SIGFPE) == before != 1


@pytest.mark.slow
def test_java_survives_a_later_start_of_ray(ray, tmp_path):
    process = subprocess.run(
        [sys.executable, "-c", JAVA_THEN_RAY, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (process.returncode, process.stdout) == (0, "[0, 1, 2]\n"), process.stderr


def test_an_address_without_a_cluster_is_an_error(ray):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        message = f"--ray-address {address}: no cluster"
        with pytest.raises(AdmiralError, match=message), connect_ray(address):
            pass


def test_a_machine_on_which_ray_does_not_start_is_an_error(ray, monkeypatch):
    monkeypatch.setenv("RAY_raylet_start_wait_time_s", "0")
    with (
        pytest.raises(AdmiralError, match="cannot be started on this machine"),
        connect_ray("local"),
    ):
        pass


def test_the_error_without_ray_names_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        AdmiralError, match=r"-m pip install 'ray<3,>=2.50'`, or use --engine local"
    ):
        load_ray()


@pytest.mark.parametrize("field", ["workers", "cpus", "gpus", "attempts", "claim_seconds"])
def test_the_error_of_a_bad_option_names_it(field):
    with pytest.raises(AdmiralError, match=f"setting '{field}' of the cluster: -1"):
        ClusterOptions(**{field: -1})


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
