"""The numbers of /metrics after real requests."""

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from admiral import Admiral
from admiral.serving.application import create_app
from admiral.serving.service import Service
from tests.admiral.serving.live_service import EMMY, quick_config

# What a hop consists of, one after the other.
PARTS = ("mentions", "first_stage", "documents", "sentences", "evidence", "proof", "beam_search")


@pytest.fixture(scope="module")
def service(user_cache):
    config = quick_config(reranker="cross-encoder")
    opened = Service({"demo": Admiral.from_pretrained(config=config)}, places=4)
    yield opened
    opened.close()


@pytest.fixture
def client(service):
    return TestClient(create_app(service), raise_server_exceptions=False)


def samples(client):
    """Return the values by name and stage or knowledge base."""
    return {
        (sample.name, sample.labels.get("stage") or sample.labels.get("kb", "")): sample.value
        for family in text_string_to_metric_families(client.get("/metrics").text)
        for sample in family.samples
    }


def test_stages_hops_and_batches_of_requests_are_counted(client):
    before = samples(client)
    body = {"claims": [EMMY, "Seth Meyers was born in 1973."], "hops": 2}
    records = client.post("/v1/retrieve/batch", json=body).json()["results"]
    after = samples(client)

    def added(name, label=""):
        return after[name, label] - before.get((name, label), 0.0)

    hops = sum(len(record["hops"]) for record in records)
    assert hops == 4
    assert added("admiral_claim_hops_sum") == hops
    assert added("admiral_claim_hops_count") == 2
    assert added("admiral_claim_wait_seconds_count") == 2
    assert added("admiral_batch_claims_sum") == hops
    batches = added("admiral_batch_claims_count")
    assert 2 <= batches <= hops
    assert added("admiral_stage_seconds_count", "hop") == batches
    for stage in ("documents", "sentences", "cross_encoder", "evidence", "proof"):
        assert added("admiral_stage_seconds_count", stage) == batches, stage
    assert added("admiral_stage_seconds_count", "ranking") == 2
    assert 0 < added("admiral_stage_seconds_count", "beam_search") <= batches
    seconds = {part: added("admiral_stage_seconds_sum", part) for part in PARTS}
    assert min(seconds.values()) > 0
    in_hops = sum(seconds[part] for part in PARTS if part not in ("mentions", "first_stage"))
    assert in_hops <= added("admiral_stage_seconds_sum", "hop")
    assert added("admiral_stage_seconds_sum", "cross_encoder") < seconds["sentences"]
