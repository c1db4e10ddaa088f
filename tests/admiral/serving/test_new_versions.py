"""Knowledge bases that change on disk while requests are answered; graph retrieval."""

import json
import threading
import time

import pytest
from fastapi.testclient import TestClient

from admiral import kb
from admiral.errors import AdmiralError
from admiral.graph import build_graph
from admiral.serving.application import create_app
from admiral.serving.service import Service
from tests.admiral.serving.live_service import quick_config

DOCUMENTS = {
    "Seth Meyers": "Seth Meyers hosted the 66th Emmy Awards.",
    "66th Emmy Awards": "The 66th Emmy Awards were shown by NBC.",
    "NBC": "NBC is an American broadcaster.",
}
CLAIM = "Seth Meyers hosted the 66th Emmy Awards on NBC."


def write_corpus(path, documents):
    records = [{"title": title, "sentences": [text]} for title, text in documents.items()]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture
def folder(tmp_path):
    corpus = write_corpus(tmp_path / "corpus.jsonl", DOCUMENTS)
    kb.build(corpus, tmp_path / "changing", bm25="bm25s", progress=False)
    return tmp_path / "changing"


@pytest.fixture
def service(folder):
    opened = Service.open([str(folder)], quick_config(hops="1"))
    yield opened
    opened.close()


@pytest.fixture
def client(service):
    return TestClient(create_app(service), raise_server_exceptions=False)


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def version(client):
    return client.get("/v1/kbs").json()["kbs"][0]["version"]


def test_changes_are_served_without_a_dropped_request(folder, service, client, tmp_path):
    statuses = []
    stopping = threading.Event()

    def ask():
        while not stopping.is_set():
            for method, path, body in (
                ("POST", "/v1/retrieve", {"claim": CLAIM}),
                ("POST", "/v1/prove", {"claim": CLAIM, "evidence": [{"text": "NBC."}]}),
                ("GET", "/v1/documents/NBC", None),
                ("GET", "/v1/search?q=broadcaster", None),
            ):
                response = client.request(method, path, json=body)
                statuses.append((path, response.status_code))

    askers = [threading.Thread(target=ask, daemon=True) for _ in range(2)]
    for asker in askers:
        asker.start()
    former = service.queue(None).system
    first = version(client)
    # Documents are added.
    more = write_corpus(tmp_path / "more.jsonl", {"CBS": "CBS is a broadcaster."})
    kb.add(more, folder, progress=False)
    assert client.get("/v1/documents/CBS").status_code == 200
    second = version(client)
    # Another knowledge base takes its place.
    other = {**DOCUMENTS, "ABC": "ABC is a broadcaster."}
    corpus = write_corpus(tmp_path / "other.jsonl", other)
    kb.build(corpus, folder, bm25="bm25s", overwrite=True, progress=False)
    assert client.get("/v1/documents/ABC").status_code == 200
    assert client.get("/v1/documents/CBS").status_code == 404
    assert len({first, second, version(client)}) == 3
    stopping.set()
    for asker in askers:
        asker.join()
    assert len(statuses) > 8
    assert {status for _, status in statuses} == {200}
    wait_for(lambda: _is_closed(former))


def _is_closed(system):
    try:
        system.document("NBC")
    except AdmiralError as error:
        return "closed" in str(error)
    return False


def test_a_version_that_cannot_be_searched_is_not_used(folder, client, caplog, tmp_path):
    before = version(client)
    assert client.get("/readyz").status_code == 200
    more = write_corpus(tmp_path / "more.jsonl", {"CBS": "CBS is a broadcaster."})
    kb.add(more, folder, progress=False)
    for file in folder.glob("derived/*/bm25/bm25.json"):
        file.unlink()
    for _ in range(2):
        assert client.post("/v1/retrieve", json={"claim": CLAIM}).status_code == 200
    assert version(client) == before
    assert caplog.text.count("the newest version cannot be opened") == 1
    problem = client.get("/readyz")
    assert (problem.status_code, "bm25.json: damaged" in problem.json()["detail"]) == (503, True)


@pytest.mark.parametrize("break_it", ["no index", "damaged index"])
def test_a_service_refuses_what_cannot_be_searched(folder, tmp_path, break_it):
    if break_it == "no index":
        kb.build(tmp_path / "corpus.jsonl", folder, bm25="none", overwrite=True, progress=False)
    else:
        next(folder.glob("derived/*/bm25/bm25.json")).unlink()
    with pytest.raises(AdmiralError, match=r"without a BM25 index|bm25\.json: damaged"):
        Service.open([str(folder)], quick_config(hops="1"))


@pytest.mark.parametrize("method", ["pagerank", "graph", "entity+mention"])
def test_graph_records_are_those_of_the_command_line(folder, client, admiral, method):
    missing = client.post("/v1/graph", json={"claim": CLAIM})
    assert (missing.status_code, missing.json()["field"]) == (404, "kb")
    build_graph(folder, progress=False)
    done = admiral("graph", "query", CLAIM, "--kb", folder, "--method", method, "--json", "-k", 5)
    assert done.returncode == 0, done.stderr
    response = client.post("/v1/graph", json={"claim": CLAIM, "method": method, "k": 5})
    assert response.content == done.stdout
    nothing = client.post("/v1/graph", json={"claim": "Zzz qqq.", "method": method}).json()
    assert not nothing.get("documents")
    assert client.post("/v1/graph", json={"claim": CLAIM, "k": 0}).json()["field"] == "k"
