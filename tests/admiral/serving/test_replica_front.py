"""The front of replicas, with replicas in this process that end when a test says so."""

import json
import socket
import threading
import time
from contextlib import aclosing
from dataclasses import asdict

import httpx
import pytest
from fastapi.testclient import TestClient

from admiral.serving import ray_replicas
from admiral.serving.claim_queue import QueueFullError
from admiral.serving.ray_replicas import Replica, ReplicaLostError, create_front
from admiral.serving.service import ServiceLimits
from tests.admiral.serving.live_service import EMMY, listening, quick_config
from tests.admiral.serving.test_api import events, problem, without_seconds

LIMITS = ServiceLimits(places=2, deadline=20.0, claim_characters=500, body_bytes=20_000)
KEY = "a-key-that-is-long-enough"


class EndingReplicas:
    """Call a replica in this process, which fails after `ends` messages; None: nobody has room."""

    def __init__(self, replica):
        self.replica = replica
        self.ends = []

    async def ask(self, request, body):
        left = self.ends.pop(0) if self.ends else -1
        if left is None:
            raise QueueFullError
        async with aclosing(self.replica.answer(request, body)) as messages:
            async for message in messages:
                if left == 0:
                    break
                left -= 1
                yield message
        if left == 0:
            raise ReplicaLostError

    async def metrics(self):
        return {"first": self.replica.app.state.metrics.text()}


@pytest.fixture(scope="module")
def replica(user_cache):
    given = {"kbs": ["demo"], "config": asdict(quick_config()), "limits": asdict(LIMITS)}
    opened = Replica(json.dumps(given))
    opened.check_health()
    yield opened
    service(opened).close()
    with pytest.raises(RuntimeError, match="not being processed"):
        opened.check_health()


@pytest.fixture
def replicas(replica):
    return EndingReplicas(replica)


@pytest.fixture
def client(replicas):
    with (
        listening(create_front(replicas, LIMITS), lifespan="off") as url,
        httpx.Client(base_url=url, timeout=30) as opened,
    ):
        yield opened


def service(replica):
    opened = replica.app.state.service
    return opened


def test_answers_are_those_of_the_application(client, replica):
    body = {"claim": EMMY}
    response = client.post("/v1/retrieve", json=body)
    direct = TestClient(replica.app).post("/v1/retrieve", json=body)
    assert without_seconds(response.content) == without_seconds(direct.content)
    assert client.get("/").headers["content-security-policy"]
    assert problem(client.get("/v1/documents/No such title"), 404)["field"] == "title"
    problem(client.post("/v1/retrieve", json={"claim": "x" * 30_000}), 413)
    assert client.get("/healthz").status_code == client.get("/readyz").status_code == 200


@pytest.mark.parametrize("messages", [0, 1])
def test_a_request_is_repeated_after_its_replica_has_ended(client, replicas, messages):
    replicas.ends = [messages, messages]
    assert client.post("/v1/retrieve", json={"claim": EMMY}).status_code == 200
    assert not replicas.ends


def test_only_a_new_request_is_refused_by_replicas_without_room(client, replicas):
    replicas.ends = [None]
    problem(client.post("/v1/retrieve", json={"claim": EMMY}), 429)
    replicas.ends = [0, None]
    assert client.post("/v1/retrieve", json={"claim": EMMY}).status_code == 200


def test_a_request_that_ends_every_replica_is_given_up(client, replicas):
    replicas.ends = [0, 0, 0]
    problem(client.post("/v1/retrieve", json={"claim": EMMY}), 503)
    assert client.post("/v1/retrieve", json={"claim": EMMY}).status_code == 200


def test_a_stream_goes_on_after_its_replica_has_ended(client, replicas):
    replicas.ends = [5]  # the status, three stages and the first hop
    response = client.post("/v1/retrieve/stream", json={"claim": EMMY, "hops": 2})
    *begun, (last, result) = events(response.text)
    assert [hop["number"] for name, hop in begun if name == "hop"] == [1, 1, 2]
    assert (last, len(result["hops"])) == ("result", 2)


def test_a_stream_that_has_begun_ends_with_its_problem(client, replicas):
    replicas.ends = [2, 0, 0]
    response = client.post("/v1/retrieve/stream", json={"claim": EMMY, "hops": 2})
    assert response.status_code == 200
    *_, (last, record) = events(response.text)
    assert (last, record["status"]) == ("problem", 503)


def test_an_accepted_request_waits_for_a_place(client, replicas):
    queue = service(replicas.replica).queue(None)
    with queue.reserve(2):
        refused = client.post("/v1/retrieve", json={"claim": EMMY})
        problem(refused, 429)
        assert int(refused.headers["retry-after"]) > 0
        replicas.ends = [0]
        statuses = []

        def ask():
            statuses.append(client.post("/v1/retrieve", json={"claim": EMMY}).status_code)

        thread = threading.Thread(target=ask)
        thread.start()
        time.sleep(0.6)
        assert not statuses
    thread.join()
    assert statuses == [200]


def test_a_client_that_leaves_frees_the_place(client, replica):
    body = {"claim": EMMY, "hops": 3}
    caught = False
    for _ in range(5):  # on a busy machine, the claim may be done before its first line is here
        with client.stream("POST", "/v1/retrieve/stream", json=body) as response:
            next(response.iter_lines())
            caught = service(replica).queue(None).taken == 1
        if caught:
            break
    assert caught
    end = time.monotonic() + 10
    while service(replica).queue(None).taken:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_metrics_are_those_of_all_processes(client):
    client.post("/v1/retrieve", json={"claim": EMMY, "hops": 1})
    lines = client.get("/metrics").text.splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert float(values['admiral_stage_seconds_count{replica="first",stage="proof"}']) >= 1
    assert values['admiral_queue_places{kb="demo",replica="first"}'] == "2.0"
    memory = [name for name in values if name.startswith("process_resident_memory_bytes")]
    assert len(memory) == 2
    requests = [name for name in values if name.startswith("admiral_requests_total")]
    assert requests == [
        'admiral_requests_total{method="POST",replica="front",route="/v1/retrieve",status="200"}'
    ]


def test_keys_are_checked(replicas):
    with listening(create_front(replicas, LIMITS, [KEY.encode()]), lifespan="off") as url:
        problem(httpx.get(f"{url}/v1/kbs"), 401)
        given = {"Authorization": f"Bearer {KEY}"}
        assert httpx.get(f"{url}/v1/kbs", headers=given).status_code == 200


def test_the_process_is_interrupted_when_rays_head_is_lost(monkeypatch):
    monkeypatch.setattr(ray_replicas, "_HEALTH_SECONDS", 0.05)
    monkeypatch.setattr(ray_replicas, "_HEAD_SECONDS", 0.5)
    ended, lost = threading.Event(), threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as head:
        address = "127.0.0.1:{1}".format(*head.getsockname())
        watching = threading.Thread(target=ray_replicas._watch, args=(address, ended, lost))
        watching.start()
        assert not lost.wait(1)
    with pytest.raises(KeyboardInterrupt):
        time.sleep(30)
    watching.join()
    assert lost.is_set()
