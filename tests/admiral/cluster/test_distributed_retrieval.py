"""Retrieval on two Ray nodes of this machine: results are the same, even if nodes die."""

from dataclasses import replace

import pytest

from admiral import Admiral
from admiral.cluster import ClusterOptions
from admiral.cluster.distributed_retrieval import FailedClaim, open_system, retrieve_on_cluster
from admiral.errors import AdmiralError
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


def outcomes(cluster, config, claims, opener=open_system, **options):
    return retrieve_on_cluster(
        config,
        claims,
        ClusterOptions(address=cluster.address, **options),
        total=len(claims),
        opener=opener,
    )


def nearly_equal(first, second):
    """Compare two records; the number of threads changes the last digits of scores."""
    if isinstance(first, float):
        return bool(first == pytest.approx(second, abs=1e-4))
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(
            nearly_equal(first[k], second[k]) for k in first
        )
    if isinstance(first, list):
        return len(first) == len(second) and all(map(nearly_equal, first, second))
    return bool(first == second)


@pytest.mark.slow
def test_no_claim_is_lost_when_a_node_dies(cluster, config):
    results = []
    for outcome in outcomes(cluster, config, CLAIMS):
        assert isinstance(outcome, dict)
        results.append(outcome)
        if len(results) == 4:
            cluster.remove_node(cluster.list_all_nodes()[1], allow_graceful=False)
    assert [record["id"] for record in results] == [claim.id for claim in CLAIMS]
    with Admiral.from_pretrained(config=config) as system:
        expected = [result.to_json() for result in system.retrieve_many(CLAIMS)]
    for record, local in zip(results, expected, strict=True):
        assert nearly_equal(without_timings(record), without_timings(local))


@pytest.mark.slow
def test_only_bad_claims_fail(cluster, config):
    claims = [
        CLAIMS[0],
        Claim("raises", "A poisonous claim."),
        *CLAIMS[1:4],
        Claim("kills", "A deadly claim."),
        *CLAIMS[4:8],
    ]
    quick = replace(config, hops="1")
    results = list(outcomes(cluster, quick, claims, open_poisoned, attempts=2))
    failures = {r.claim.id: r for r in results if isinstance(r, FailedClaim)}
    assert failures.keys() == {"raises", "kills"}
    assert failures["raises"].to_json() == {
        "id": "raises",
        "claim": "A poisonous claim.",
        "attempts": 2,
        "error": "ValueError: poison",
    }
    assert failures["kills"].error.startswith("its worker died: ")
    ids = [r.claim.id if isinstance(r, FailedClaim) else r["id"] for r in results]
    assert ids == [claim.id for claim in claims]


@pytest.mark.slow
def test_a_claim_that_times_out_fails(cluster, config):
    claims = [CLAIMS[0], Claim("hangs", "An endless claim."), *CLAIMS[1:15]]
    quick = replace(config, hops="1")
    results = list(outcomes(cluster, quick, claims, open_poisoned, attempts=1, claim_seconds=20))
    assert [r.claim.id if isinstance(r, FailedClaim) else r["id"] for r in results] == [
        claim.id for claim in claims
    ]
    (failure,) = (r for r in results if isinstance(r, FailedClaim))
    assert (failure.claim.id, failure.error) == ("hangs", "no answer in 20 s")


@pytest.mark.slow
def test_a_run_ends_if_no_worker_can_open_the_system(cluster, config):
    with pytest.raises(AdmiralError, match=r"node \S+: kb: is not there. Bring it"):
        list(outcomes(cluster, config, CLAIMS, open_nothing))
    with pytest.raises(AdmiralError, match="workers in a row died while they opened"):
        list(outcomes(cluster, config, CLAIMS, open_and_die))
    with pytest.raises(AdmiralError, match="no node of the cluster has 2 CPUs and 0 GPUs"):
        list(outcomes(cluster, config, CLAIMS, cpus=2))
