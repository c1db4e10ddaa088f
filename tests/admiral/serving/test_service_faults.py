"""Faults of clients and of stages: others are answered, and places and connections are freed."""

import socket
import time
from dataclasses import replace

import httpx
import pytest

from admiral import Admiral
from admiral.serving import access
from admiral.serving.application import create_app
from admiral.serving.service import Service
from tests.admiral.serving.live_service import EMMY, listening, quick_config
from tests.admiral.serving.test_api import problem

PLACES = 4


class FailingJudge:
    """A judge that raises an error for claims that name one."""

    def __init__(self, judge):
        self._judge = judge

    def judge(self, claims, evidence):
        for claim in claims:
            if "SystemExit" in claim:
                raise SystemExit(1)
            if "ZeroDivisionError" in claim:
                raise ZeroDivisionError
        judgements = self._judge.judge(claims, evidence)
        return judgements


@pytest.fixture(scope="module")
def service(user_cache):
    system = Admiral.from_pretrained(config=quick_config(hops="1"))
    system.stages = replace(system.stages, judge=FailingJudge(system.stages.judge))
    opened = Service({"demo": system}, PLACES, deadline=60.0)
    yield opened
    opened.close()


@pytest.fixture
def url(service):
    # Without a lifespan, the application does not close the service.
    with listening(create_app(service), lifespan="off") as address:
        yield address


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_body_in_chunks_is_limited_as_a_whole(url):
    """Each chunk is below the limit, and the client never says how many there will be."""

    def body(chunks):
        yield b'{"claim": "'
        for _ in range(chunks):
            yield b"x" * 10_000
        yield b'"}'

    problem(httpx.post(f"{url}/v1/retrieve", content=body(200)), 413)
    kind = {"Content-Type": "application/json"}
    long = httpx.post(f"{url}/v1/retrieve", content=body(20), headers=kind)
    problem(long, 422)  # a claim that is too long
    for length, status in ((access.BODY_BYTES, 400), (access.BODY_BYTES + 1, 413)):
        problem(httpx.post(f"{url}/v1/retrieve", content=b"x" * length), status)


@pytest.mark.parametrize("path", ["/v1/retrieve", "/v1/retrieve/stream"])
def test_a_client_that_leaves_frees_its_place_of_the_queue(url, service, path):
    queue = service.queue(None)
    host, port = url.removeprefix("http://").split(":")
    request = httpx.Request("POST", f"{url}{path}", json={"claim": EMMY, "hops": 5})
    head = f"POST {path} HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(request.content)}\r\n\r\n"
    for _ in range(3 * PLACES):
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(head.encode() + request.content)
            wait_for(lambda: queue.taken == 1)
        wait_for(lambda: queue.taken == 0)
    assert httpx.post(f"{url}/v1/retrieve", json={"claim": EMMY}, timeout=60).status_code == 200


@pytest.mark.parametrize("name", ["ZeroDivisionError", "SystemExit"])
def test_a_stage_that_fails_fails_only_its_claim(url, service, name):
    claims = [EMMY, f"{EMMY} {name}", "Paris is in France."]
    response = httpx.post(f"{url}/v1/retrieve/batch", json={"claims": claims}, timeout=60)
    first, failed, last = response.json()["results"]
    assert first["hops"]
    assert last["hops"]
    assert (failed["problem"]["status"], failed["problem"]["detail"]) == (500, "internal error")
    response = httpx.post(f"{url}/v1/retrieve", json={"claim": claims[1]}, timeout=60)
    problem(response, 500)
    assert response.headers["x-request-id"]
    stream = httpx.post(f"{url}/v1/retrieve/stream", json={"claim": claims[1]}, timeout=60)
    assert stream.text.rstrip().split("\n\n")[-1].startswith("event: problem\n")
    assert httpx.get(f"{url}/readyz").status_code == 200
    assert service.queue(None).taken == 0
