"""The HTTP API on the demo knowledge base: records, problems, limits and streams."""

import json
import re
from datetime import datetime

import pytest
from fastapi.testclient import TestClient

from admiral import Admiral
from admiral.serving.access import read_api_keys
from admiral.serving.application import JsonLines, create_app
from admiral.serving.service import Service
from proofs import NatOp, Verdict
from tests.admiral.serving.live_service import EMMY, QUICK, quick_config

KEY = "a-key-that-is-long-enough"


@pytest.fixture(scope="module")
def service(user_cache):
    opened = Service({"demo": Admiral.from_pretrained(config=quick_config())}, places=4)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def client(service):
    # Without `with`, the application does not shut down, so that the service stays open.
    return TestClient(create_app(service), raise_server_exceptions=False)


def without_seconds(record):
    return re.sub(rb'"seconds": [0-9.e-]+', b"", record)


def problem(response, status):
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    record = response.json()
    assert record["status"] == status
    assert record["detail"]
    assert record["remedy"]
    return dict(record)


def events(text):
    blocks = [block for block in text.split("\n\n") if block.strip() and block[0] != ":"]
    pairs = [re.fullmatch(r"event: (\w+)\ndata: (.*)", block) for block in blocks]
    return [(match[1], json.loads(match[2])) for match in pairs if match is not None]


def test_a_record_is_that_of_the_command_line(client, admiral):
    done = admiral("retrieve", EMMY, "--json", "--quiet", *settings())
    assert done.returncode == 0, done.stderr
    response = client.post("/v1/retrieve", json={"claim": EMMY})
    assert response.status_code == 200
    assert without_seconds(response.content) == without_seconds(done.stdout)


def settings():
    return [part for key, value in QUICK.items() for part in ("--set", f"{key}={value}")]


def test_a_stream_has_each_hop_and_then_the_result(client):
    response = client.post("/v1/retrieve/stream", json={"claim": EMMY, "hops": 2})
    assert response.headers["content-type"].startswith("text/event-stream")
    *begun, (last, result) = events(response.text)
    stages = [record["stage"] for name, record in begun if name == "stage"]
    assert stages[0] == "Hop 1: searching for candidates"
    assert stages[-1] == "Hop 2: judging the evidence"
    hops = [(name, record) for name, record in begun if name != "stage"]
    assert [(name, hop["number"]) for name, hop in hops] == [("hop", 1), ("hop", 2)]
    assert last == "result"
    for (_, hop), recorded in zip(hops, result["hops"], strict=True):
        named = [[s["title"], s["sentence_id"]] for s in hop["evidence"]]
        added = {"contrasts", "questions"}
        fields = {key: value for key, value in hop.items() if key not in added}
        assert {**fields, "evidence": named} == recorded
        texts = {(s["title"], s["sentence_id"]): s["text"] for s in hop["evidence"]}
        assert len(hop["contrasts"]) == len(hop["proof"])
        for step in hop["proof"]:
            assert EMMY[step["claim_start"] : step["claim_end"]] == step["claim"]
            if not step["evidence"]:
                assert step["title"] is step["sentence_id"] is None
                continue
            text = texts[step["title"], step["sentence_id"]]
            whole = step["title"] if step["in_title"] else text
            assert whole[step["evidence_start"] : step["evidence_end"]] == step["evidence"]
        assert [each["span"] for each in hop["questions"]] == hop["missing"]
    assert hops[-1][1]["evidence"] == result["evidence"]


def test_a_batch_has_the_records_of_its_claims(client):
    claims = [EMMY, "Paris is in France."]
    batch = client.post("/v1/retrieve/batch", json={"claims": claims, "hops": 1}).json()
    for number, (claim, record) in enumerate(zip(claims, batch["results"], strict=True), 1):
        single = client.post("/v1/retrieve", json={"claim": claim, "hops": 1}).json()
        assert record["id"] == str(number)
        assert record["evidence"] == single["evidence"]
        assert len(record["hops"]) == 1


def test_prove_judges_given_sentences(client):
    evidence = [{"title": "Paris", "text": "Paris is the capital of France."}]
    body = {"claim": "Paris is the capital of France.", "evidence": evidence}
    record = client.post("/v1/prove", json=body).json()
    assert record["evidence"] == evidence
    assert isinstance(record["sufficient"], bool)


def test_documents_titles_and_search(client):
    (kb,) = client.get("/v1/kbs").json()["kbs"]
    assert kb["name"] == "demo"
    assert kb["documents"] > 0
    examples = client.get("/v1/examples").json()
    assert len(examples["claims"]) == len(examples["titles"]) == 4
    titles = client.get("/v1/titles", params={"prefix": "Seth", "limit": 1}).json()["titles"]
    assert titles == ["Seth Meyers"]
    document = client.get("/v1/documents/Seth Meyers").json()
    assert document["title"] == "Seth Meyers"
    found = client.get("/v1/search", params={"q": "Seth Meyers", "k": 3}).json()["results"]
    assert [each["rank"] for each in found] == [1, 2, 3]
    assert problem(client.get("/v1/documents/No such title"), 404)["field"] == "title"
    assert problem(client.get("/v1/search", params={"q": " "}), 422)["field"] == "q"
    assert problem(client.get("/v1/titles", params={"limit": 0}), 422)["field"] == "limit"


@pytest.mark.parametrize(
    ("body", "field", "detail", "remedy"),
    [
        ({}, "claim", "field 'claim': is missing", "Correct it"),
        ({"claim": " "}, "claim", "field 'claim': ' ' should have at least 1", "Correct it"),
        ({"claim": "x" * 5001}, "claim", "field 'claim': [...] should have at most", "Correct it"),
        ({"claim": EMMY, "clam": 1}, "clam", "field 'clam': is unknown", "Correct it"),
        ({"claim": EMMY, "hops": 99}, "hops", "field 'hops': 99 should be less", "Correct it"),
        ({"claim": EMMY, "hops": "many"}, "hops", "field 'hops': 'many' should", "Correct it"),
        ([], "", "the body [] should be", "Correct it"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/retrieve", "/v1/retrieve/stream"])
def test_a_bad_field_is_named(client, path, body, field, detail, remedy):
    record = problem(client.post(path, json=body), 422)
    assert record.get("field", "") == field
    assert record["detail"].startswith(detail)
    assert record["remedy"].startswith(remedy)


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{", b'{"claim": "\xff"}', b'{"claim": "\\ud800"}', b"[" * 9000, b"\x00"],
)
def test_a_bad_body_is_a_problem(client, content):
    headers = {"Content-Type": "application/json"}
    response = client.post("/v1/retrieve", content=content, headers=headers)
    assert response.status_code in (400, 422)
    problem(response, response.status_code)


def test_unknown_names_are_problems(client):
    body = {"claim": EMMY, "kb": "other"}
    assert problem(client.post("/v1/retrieve", json=body), 404)["field"] == "kb"
    problem(client.get("/v1/nothing"), 404)
    problem(client.get("/v1/retrieve"), 405)
    body = {"claims": [EMMY] * 5}
    assert problem(client.post("/v1/retrieve/batch", json=body), 422)["field"] == "claims"
    problem(client.post("/v1/retrieve", json={"claim": "x" * 1_000_000}), 413)
    chunks = iter([b'{"claim": "'] + [b"x" * 100_000] * 11)
    problem(client.post("/v1/retrieve", content=chunks), 413)


def test_a_full_queue_asks_to_try_again(client, service):
    queue = service.queue(None)
    with queue.reserve(4):
        response = client.post("/v1/retrieve", json={"claim": EMMY})
        problem(client.post("/v1/retrieve/stream", json={"claim": EMMY}), 429)
    problem(response, 429)
    assert int(response.headers["retry-after"]) > 0
    assert queue.taken == 0


def test_a_passed_deadline_frees_the_place(service):
    impatient = Service({}, deadline=1e-6)
    impatient.queues = service.queues
    client = TestClient(create_app(impatient), raise_server_exceptions=False)
    problem(client.post("/v1/retrieve", json={"claim": EMMY}), 504)
    response = client.post("/v1/retrieve/stream", json={"claim": EMMY})
    ((name, record),) = events(response.text)
    assert (name, record["status"]) == ("problem", 504)
    assert service.queue(None).taken == 0


def test_keys_are_checked(service, tmp_path):
    path = tmp_path / "keys"
    second = KEY[::-1]
    path.write_text(f"# of the tests\n{KEY}\n{second}\n")
    client = TestClient(create_app(service, read_api_keys(path)))
    assert client.get("/healthz").status_code == 200
    assert client.get("/").status_code == 200
    assert client.head("/").status_code == 200
    problem(client.get("/v1/kbs"), 401)
    for wrong in ("Bearer wrong", f"Basic {KEY}", "Bearer é", "Bearer"):
        problem(client.get("/v1/kbs", headers={"Authorization": wrong.encode("latin-1")}), 401)
    for key in (KEY, second):
        assert client.get("/v1/kbs", headers={"Authorization": f"Bearer {key}"}).status_code == 200


def test_health_and_metrics(client):
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}
    metrics = client.get("/metrics").text
    assert 'admiral_queue_places_taken{kb="demo"} 0.0' in metrics
    assert 'route="/healthz"' in metrics


def test_the_log_has_no_contents(client, caplog):
    with caplog.at_level("INFO", "admiral.serving"):
        response = client.get("/v1/search", params={"q": "Meyers"})
    (line,) = [each for each in caplog.records if each.name == "admiral.serving.access"]
    text = JsonLines().format(line)
    record = json.loads(text)
    assert datetime.fromisoformat(record["time"]).tzinfo is not None
    assert record["request"] == response.headers["x-request-id"]
    assert record["route"] == "/v1/search"
    assert "Meyers" not in text


def test_a_text_is_split_into_claims(client):
    body = {"text": "Paris is in France. It is on the Seine."}
    claims = client.post("/v1/split", json=body).json()["claims"]
    assert claims == ["Paris is in France.", "It is on the Seine."]
    assert problem(client.post("/v1/split", json={"text": " "}), 422)["field"] == "text"


def test_the_page_loads_nothing_from_elsewhere(client):
    page = client.get("/")
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    files = re.findall(r'(?:src|href)="([^"#]+)"', page.text)
    assert files == ["page/page.css", "data:,", "page/page.js", "audit"]  # that is a link
    style, script = client.get("/page/page.css").text, client.get("/page/page.js").text
    modules = {"page.js": script}
    while missing := set(re.findall(r'from "\./([^"]+)"', "".join(modules.values()))) - set(
        modules
    ):
        for name in missing:
            response = client.get(f"/page/{name}")
            assert response.status_code == 200
            assert response.headers["content-security-policy"] == policy
            modules[name] = response.text
    scripts = "".join(modules.values())
    # Texts become text nodes, so that no title or sentence is read as HTML. Reading `outerHTML`
    # does no harm.
    assert not re.search(
        r"innerHTML|outerHTML\s*=|insertAdjacentHTML|document\.write|eval\(|parseFromString",
        scripts,
    )
    assert not re.search(r"\son\w+=|<style|style=", page.text)
    addresses = set(re.findall(r"https?://[^\"]+", page.text + style + scripts))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, from which nothing is loaded
    for operator in NatOp:
        assert f'"{operator.value}": "{operator.phrase}"' in scripts
    for verdict in Verdict:
        assert verdict.value in scripts
