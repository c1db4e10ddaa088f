"""The numbers of /metrics after real requests."""

import psutil
import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from admiral import Admiral
from admiral.serving.application import create_app
from admiral.serving.service import Service, ServiceLimits
from tests.admiral.serving.live_service import EMMY, quick_config

# What a hop consists of, one after the other.
PARTS = ("mentions", "first_stage", "documents", "sentences", "evidence", "proof", "beam_search")


@pytest.fixture(scope="module")
def service(user_cache):
    config = quick_config(reranker="cross-encoder")
    opened = Service({"demo": Admiral.from_pretrained(config=config)}, ServiceLimits(places=4))
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


def test_made_up_methods_share_one_label(client):
    for number in range(20):
        client.request(f"METHOD{number}", "/healthz")
    text = client.get("/metrics").text
    assert "METHOD" not in text
    (requests,) = [
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "admiral_requests_total" and sample.labels["method"] == "other"
    ]
    assert requests == 20


def test_the_queue_and_the_memory_are_read_when_asked(client, service):
    with service.queue(None).reserve(3):
        during = samples(client)
    assert during["admiral_queue_places", "demo"] == 4
    assert during["admiral_queue_places_taken", "demo"] == 3
    assert during["admiral_queue_waiting", "demo"] == 0
    assert samples(client)["admiral_queue_places_taken", "demo"] == 0
    resident = psutil.Process().memory_info().rss
    assert during["process_resident_memory_bytes", ""] == pytest.approx(resident, rel=0.2)
