"""The client of a service on this machine, beside the system that it serves."""

import json
from itertools import pairwise

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral import Admiral, AdmiralError, Claim, RetrievalResult
from admiral import client as client_module
from admiral.client import Client
from admiral.records import Hop
from admiral.serving.application import create_app
from admiral.serving.retrieval_routes import hop_event
from admiral.serving.service import Service
from tests.admiral.results import result, verified_result
from tests.admiral.serving.live_service import EMMY, listening, quick_config

CLAIMS = [EMMY, "Paris is in France.", "A river of Paris.", "An opera by Verdi."]
KEY = "a-key-that-is-long-enough"


@pytest.fixture(scope="module")
def served(quick):
    return Admiral(quick.kb, quick.checkpoint, quick_config())


@pytest.fixture(scope="module")
def url(user_cache):
    service = Service({"demo": Admiral.from_pretrained(config=quick_config())})
    with listening(create_app(service, [KEY.encode()])) as address:
        yield address


@pytest.fixture
def client(url):
    with Client(url, api_key=KEY) as opened:
        yield opened


def comparable(given):
    record = given.to_json()
    for hop in record["hops"]:
        del hop["seconds"]
    return record


def sentences(given):
    return [[sentence.text for sentence in hop.evidence] for hop in given.hops]


def test_a_result_is_that_of_the_system(client, served):
    ours, theirs = client.retrieve(Claim("e", EMMY)), served.retrieve(Claim("e", EMMY))
    assert comparable(ours) == comparable(theirs)
    assert sentences(ours) == sentences(theirs)
    assert ours.verdict is theirs.verdict
    assert [hop.missing for hop in ours.hops] == [hop.missing for hop in theirs.hops]


def test_many_results_come_in_order(client, served):
    results = list(client.retrieve_many(CLAIMS, hops=1))
    assert [each.claim for each in results] == [Claim(str(n), c) for n, c in enumerate(CLAIMS, 1)]
    for ours, theirs in zip(results, served.retrieve_many(CLAIMS, hops=1), strict=True):
        assert [d.title for d in ours.documents] == [d.title for d in theirs.documents]


def test_a_stream_has_the_hops_of_its_result(client):
    *hops, last = client.stream(EMMY, hops=2)
    assert isinstance(last, RetrievalResult)
    assert tuple(hops) == last.hops


def test_proofs_and_documents(client, served):
    evidence = [("Paris", "Paris is the capital of France.")]
    claim = "Paris is the capital of Spain."
    assert client.prove(claim, evidence) == served.prove(claim, evidence)
    assert client.document("Seth Meyers") == served.document("Seth Meyers")
    with pytest.raises(AdmiralError, match=r"field 'title': .*no document has this title"):
        client.document("No such title")


def test_an_error_comes_after_the_results_before_it(client):
    results = client.retrieve_many(["Paris is in France.", " ", "A river."], hops=1)
    assert next(results).claim.id == "1"
    with pytest.raises(AdmiralError, match="field 'claim'"):
        next(results)
    broken = client.retrieve_many(["Paris is in France.", 7], hops=1)
    assert next(broken).claim.id == "1"
    with pytest.raises(AdmiralError, match="claim 2: is of type int"):
        next(broken)


def test_wrong_addresses_and_keys_are_named(url):
    for wrong in ("127.0.0.1:8080", "ftp://host", "x"):
        with pytest.raises(AdmiralError, match="address"):
            Client(wrong)
    missing = pytest.raises(AdmiralError, match="the API key is missing or unknown")
    with Client(url, api_key="wrong") as opened, missing:
        opened.retrieve(EMMY)
    with Client("http://127.0.0.1:9") as opened, pytest.raises(AdmiralError, match="no answer"):
        opened.retrieve(EMMY)
    page = httpx.MockTransport(lambda request: httpx.Response(404, text="<html>"))
    other = pytest.raises(AdmiralError, match="status 404")
    with Client("http://host", transport=page) as opened, other:
        opened.document("Paris")


def test_a_full_queue_is_waited_for_within_patience(monkeypatch):
    monkeypatch.setattr(client_module, "_PAUSE", 0.01)
    claim = Claim("1", EMMY)
    record = json.dumps(result(claim).to_json())
    answers = [httpx.Response(200, text=f"event: result\ndata: {record}\n\n")]

    def answer(request):
        problem = {"status": 429, "detail": "all places are taken", "remedy": "Wait"}
        full = httpx.Response(429, json=problem)
        asked.append(request.url.path)
        return full if len(asked) < 3 else answers[0]

    asked = []
    with Client("http://host", transport=httpx.MockTransport(answer)) as opened:
        assert opened.retrieve(claim).documents == result(claim).documents
    assert asked == ["/v1/retrieve/stream"] * 3
    asked = []
    transport = httpx.MockTransport(answer)
    with (
        Client("http://host", patience=-1, transport=transport) as opened,
        pytest.raises(AdmiralError, match="all places are taken"),
    ):
        opened.retrieve(EMMY)
    assert len(asked) == 1


def test_an_early_end_is_an_error():
    cut = httpx.MockTransport(lambda request: httpx.Response(200, content=b": keep-alive\n\n"))
    with (
        Client("http://host", transport=cut) as opened,
        pytest.raises(AdmiralError, match="closed the connection early"),
    ):
        opened.retrieve(EMMY)


@given(st.lists(st.integers(0, 3000), max_size=6), st.booleans())
def test_a_stream_may_be_cut_anywhere(cuts, verified):
    claim = Claim("x", "Ada wrote the first program.")
    expected = verified_result(claim) if verified else result(claim)
    events = [("hop", hop_event(hop)) for hop in expected.hops]
    events = [events[0], *events, ("result", expected.to_json())]  # a repeated hop is given once
    data = b": keep-alive\n\n" + b"".join(
        f"event: {name}\ndata: {json.dumps(record)}\n\n".encode() for name, record in events
    )
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    parts = [data[start:end] for start, end in pairwise(places)]
    answer = httpx.MockTransport(lambda request: httpx.Response(200, content=iter(parts)))
    with Client("http://host", transport=answer) as opened:
        found = list(opened.stream(claim))
    assert found == [*expected.hops, expected]
    assert [isinstance(each, Hop) for each in found] == [True, True, False]
