"""Audits of pages: the API and its limits."""

import time

import pytest
from fastapi.testclient import TestClient

from admiral.citations.citation_settings import CitationConfig
from admiral.citations.extract import read_page
from admiral.errors import AdmiralError
from admiral.serving import page_audits
from admiral.serving.application import create_app
from admiral.serving.jobs import Jobs
from admiral.serving.page_audits import PageAudits
from admiral.serving.service import Service
from admiral.sources.source_indexing import build_sources
from tests.admiral.citations.cited_pages import BRIDGE, HARBOUR

ATTACK = "<img src=x onerror=\"document.title='attacked'\">"
PAGE = (
    f"The Eastern Bridge was opened in 1932 by Ada Lane.<ref>{HARBOUR.url}</ref>\n"
    f"Ferries leave for the islands twice a day in summer.<ref>{HARBOUR.url}</ref>\n"
    "It has a mill.<ref>https://elsewhere.example/mill</ref>\n"
)
KEY = b"a-key-for-the-tests"


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    path = tmp_path_factory.mktemp("audits") / "kb"
    build_sources([BRIDGE, HARBOUR], path)
    return path


@pytest.fixture
def audits(kb):
    config = CitationConfig(verifier="coverage", accept_above=0.5)
    opened = PageAudits(kb, config, Jobs())
    yield opened
    opened.close()


def ended(client, id, headers=None):
    deadline = time.monotonic() + 60
    while True:
        record = client.get(f"/v1/audits/{id}", headers=headers).json()
        if record["state"] not in ("waiting", "running") or time.monotonic() > deadline:
            return record
        time.sleep(0.02)


def test_a_page_is_audited_and_shown(audits):
    client = TestClient(app_of(audits))
    answer = client.post("/v1/audits", json={"text": PAGE, "title": f"Belmar {ATTACK}"})
    assert answer.status_code == 202
    assert answer.json()["statements"] == 3
    record = ended(client, answer.json()["id"])
    assert (record["state"], record["done"], record["problem"]) == ("complete", 3, "")
    shown = client.get(record["address"])
    assert shown.headers["content-type"].startswith("text/html")
    assert "script-src 'sha256-" in shown.headers["content-security-policy"]
    assert shown.headers["cache-control"] == "no-store"
    assert ATTACK not in shown.text
    assert shown.text.count("<article") == 3
    assert "Eastern Bridge" in shown.text


def app_of(audits, keys=()):
    """Return an application that only audits: no claim is asked."""
    return create_app(Service({}), keys, None, audits)


def test_errors_of_audits(audits):
    client = TestClient(app_of(audits))
    post = client.post
    answer = post("/v1/audits", json={"text": "No reference."})
    assert answer.status_code == 422
    assert "no statement with a reference" in answer.json()["detail"]
    assert post("/v1/audits", json={"text": PAGE, "formats": "x"}).status_code == 422
    answer = post("/v1/audits", json={"text": PAGE * 50_000})
    assert (answer.status_code, answer.json()["remedy"]) == (
        413,
        "Send less in one request: fewer claims, sections or files",
    )
    assert post("/v1/split", json={"text": PAGE * 10_000}).status_code == 413
    for path in ("/v1/audits/unknown", "/audits/unknown"):
        assert client.get(path).status_code == 404
    answer = TestClient(app_of(None)).post("/v1/audits", json={"text": PAGE})
    assert answer.status_code == 404
    assert "--kb KB" in answer.json()["remedy"]


def test_keys_are_needed_for_all_but_the_page_of_an_audit(audits):
    client = TestClient(app_of(audits, [KEY]))
    body = {"text": PAGE}
    assert client.get("/audit").status_code == 200
    assert client.post("/v1/audits", json=body).status_code == 401
    headers = {"Authorization": f"Bearer {KEY.decode()}"}
    id = client.post("/v1/audits", json=body, headers=headers).json()["id"]
    assert client.get(f"/v1/audits/{id}").status_code == 401
    assert ended(client, id, headers)["state"] == "complete"
    assert client.get(f"/audits/{id}").status_code == 200


def test_a_page_with_too_many_statements_is_refused(audits, monkeypatch):
    monkeypatch.setattr(page_audits, "_STATEMENTS", 2)
    with pytest.raises(AdmiralError, match="has 3 statements, more than 2"):
        audits.submit(read_page(PAGE, "Belmar"))
