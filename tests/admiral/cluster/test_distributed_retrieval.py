"""Retrieval on two Ray nodes of this machine: the same results, whatever dies on the way."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import torch

from admiral import Admiral, RetrievalConfig
from admiral.cluster.chunks import Failure, Record
from admiral.cluster.distributed_retrieval import retrieve_on_cluster
from admiral.cluster.ray_session import ClusterOptions, connected, load_ray
from admiral.cluster.worker import Opener, open_system, worker_config
from admiral.errors import AdmiralError
from admiral.kb import build, join
from admiral.models.devices import choose_precision
from admiral.records import Claim
from tests.admiral.cluster.poisoned import open_and_die, open_nothing, open_poisoned
from tests.admiral.results import without_timings

TEXTS = (
    "The 66th Primetime Emmy Awards was hosted by an Iraqi comedian born in 1973.",
    "A telescope that orbits the Earth was named after an astronomer.",
    "The river that flows through the capital of France ends in the sea.",
    "Nobody ever described qwertyuiop \u2028 \x85.",
)
CLAIMS = [Claim(f"c{n}", TEXTS[n % 4] + " And" * (n // 4)) for n in range(16)]


def outcomes(
    cluster: Any,
    config: RetrievalConfig,
    claims: list[Claim],
    opener: Opener = open_system,
    **options: int,
) -> Iterator[Record | Failure]:
    return retrieve_on_cluster(
        config,
        claims,
        ClusterOptions(address=cluster.address, **options),  # type: ignore[arg-type]
        total=len(claims),
        opener=opener,
    )


def alike(first: Any, second: Any) -> bool:
    """Whether two records agree; scores differ in their last digits by the number of threads."""
    if isinstance(first, float):
        return bool(first == pytest.approx(second, abs=1e-4))
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(alike(first[k], second[k]) for k in first)
    if isinstance(first, list):
        return len(first) == len(second) and all(map(alike, first, second))
    return bool(first == second)


@pytest.mark.slow
def test_a_node_that_dies_costs_no_claim(cluster: Any, config: RetrievalConfig) -> None:
    found: list[Record] = []
    for outcome in outcomes(cluster, config, CLAIMS):
        assert isinstance(outcome, dict)
        found.append(outcome)
        if len(found) == 4:
            cluster.remove_node(cluster.list_all_nodes()[1], allow_graceful=False)
    assert [record["id"] for record in found] == [claim.id for claim in CLAIMS]
    with Admiral.from_pretrained(config=config) as system:
        want = [result.to_json() for result in system.retrieve_many(CLAIMS)]
    for one, other in zip(found, want, strict=True):
        assert alike(without_timings(one), without_timings(other))


@pytest.mark.slow
def test_a_joined_knowledge_base_gives_what_it_gives_here(
    cluster: Any, config: RetrievalConfig, tmp_path: Path
) -> None:
    lines = (files("admiral") / "data" / "demo" / "documents.jsonl").read_bytes().splitlines(True)
    for name, part in {"a": lines[:200], "b": lines[200:]}.items():
        (tmp_path / "part.jsonl").write_bytes(b"".join(part))
        build(tmp_path / "part.jsonl", tmp_path / name, bm25="bm25s", progress=False)
    join([tmp_path / "a", tmp_path / "b"], tmp_path / "all")
    joined = replace(config, kb=str(tmp_path / "all"))
    found = list(outcomes(cluster, joined, CLAIMS[:4]))
    with Admiral.from_pretrained(config=joined) as system:
        want = [result.to_json() for result in system.retrieve_many(CLAIMS[:4])]
    for one, other in zip(found, want, strict=True):
        assert isinstance(one, dict)
        assert alike(without_timings(one), without_timings(other))


@pytest.mark.slow
def test_poison_is_passed_over_and_nothing_else(cluster: Any, config: RetrievalConfig) -> None:
    claims = [
        CLAIMS[0],
        Claim("raises", "A poisonous claim."),
        *CLAIMS[1:4],
        Claim("kills", "A deadly claim."),
        *CLAIMS[4:8],
    ]
    quick = replace(config, hops="1")
    found = list(outcomes(cluster, quick, claims, open_poisoned, attempts=2))
    failures = {f.claim.id: f for f in found if isinstance(f, Failure)}
    assert failures.keys() == {"raises", "kills"}
    assert failures["raises"].to_json() == {
        "id": "raises",
        "claim": "A poisonous claim.",
        "attempts": 2,
        "error": "ValueError: poison",
    }
    assert failures["kills"].error.startswith("its worker died: ")
    ids = [f.claim.id if isinstance(f, Failure) else f["id"] for f in found]
    assert ids == [claim.id for claim in claims]


@pytest.mark.slow
def test_a_claim_that_hangs_is_passed_over(cluster: Any, config: RetrievalConfig) -> None:
    claims = [CLAIMS[0], Claim("hangs", "An endless claim."), *CLAIMS[1:15]]
    quick = replace(config, hops="1")
    found = list(outcomes(cluster, quick, claims, open_poisoned, attempts=1, claim_seconds=20))
    assert [f.claim.id if isinstance(f, Failure) else f["id"] for f in found] == [
        claim.id for claim in claims
    ]
    (failure,) = (f for f in found if isinstance(f, Failure))
    assert (failure.claim.id, failure.error) == ("hangs", "no answer in 20 s")


@pytest.mark.slow
def test_what_no_worker_can_open_ends_the_run(cluster: Any, config: RetrievalConfig) -> None:
    with pytest.raises(AdmiralError, match=r"node \S+: kb: is not there. Bring it"):
        list(outcomes(cluster, config, CLAIMS, open_nothing))
    with pytest.raises(AdmiralError, match="workers in a row died while they opened"):
        list(outcomes(cluster, config, CLAIMS, open_and_die))
    with pytest.raises(AdmiralError, match="no node of the cluster has 2 CPUs and 0 GPUs"):
        list(outcomes(cluster, config, CLAIMS, cpus=2))


def test_an_address_where_nobody_listens(ray: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        message = f"--ray-address {address}: no cluster"
        with pytest.raises(AdmiralError, match=message), connected(address):
            pass


def test_without_ray_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(AdmiralError, match=r"pip install 'admiral-retrieval\[ray\]'"):
        load_ray()


def test_settings_of_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kb").mkdir()
    monkeypatch.chdir(tmp_path)
    config = RetrievalConfig(kb="kb", model="mini")
    alone = worker_config(config, 4, 0)
    assert (alone.device, alone.threads) == ("cpu", 4)
    assert (alone.kb, alone.model) == (str(tmp_path / "kb"), "mini")
    assert worker_config(config, 4, 0.5).device == "auto"
    assert alone.precision == choose_precision(replace(config, device="cpu")) != "auto"
    on_gpu = replace(config, device="cuda:3", threads=2)
    assert worker_config(on_gpu, 4, 1) == replace(
        on_gpu, device="cuda", kb=alone.kb, precision="bf16"
    )
    named = worker_config(replace(on_gpu, precision="fp32"), 4, 1)
    assert (named.precision, worker_config(named, 4, 1)) == ("fp32", named)
    assert worker_config(config, 4, 0.5).precision == "bf16"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)  # a GPU that no worker uses
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    assert worker_config(config, 4, 0).precision == "fp32"
    with pytest.raises(AdmiralError, match="add --gpus-per-worker"):
        worker_config(replace(config, device="cuda"), 4, 0)


@pytest.mark.parametrize("field", ["workers", "cpus", "gpus", "attempts", "claim_seconds"])
def test_bad_options_are_named(field: str) -> None:
    with pytest.raises(AdmiralError, match=f"setting '{field}' of the cluster: -1"):
        ClusterOptions(**{field: -1})
