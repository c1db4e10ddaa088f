"""Knowledge bases that change on disk while requests are answered; graph retrieval."""

import json
import os
import shutil
import threading
import time

import pytest
from fastapi.testclient import TestClient

from admiral import kb
from admiral.graph import build_graph
from admiral.serving.application import create_app
from admiral.serving.service import Service, ServiceLimits
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
    limits = ServiceLimits(reload_seconds=0.05)
    opened = Service.open([str(folder)], quick_config(hops="1"), limits)
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
    wait_for(lambda: client.get("/v1/documents/CBS").status_code == 200)
    second = version(client)
    # Another knowledge base takes its place.
    other = {**DOCUMENTS, "ABC": "ABC is a broadcaster."}
    corpus = write_corpus(tmp_path / "other.jsonl", other)
    kb.build(corpus, folder, bm25="bm25s", overwrite=True, progress=False)
    wait_for(lambda: client.get("/v1/documents/ABC").status_code == 200)
    assert client.get("/v1/documents/CBS").status_code == 404
    assert len({first, second, version(client)}) == 3
    # The directory is removed, then there again.
    shutil.rmtree(folder)
    time.sleep(0.2)
    assert client.post("/v1/retrieve", json={"claim": CLAIM}).status_code == 200
    kb.build(tmp_path / "corpus.jsonl", folder, bm25="bm25s", progress=False)
    wait_for(lambda: client.get("/v1/documents/ABC").status_code == 404)
    stopping.set()
    for asker in askers:
        asker.join()
    assert len(statuses) > 8
    assert {status for _, status in statuses} == {200}
    with pytest.raises(Exception, match="closed"):
        former.retrieve(CLAIM)


def test_files_of_former_versions_are_closed(folder, client, tmp_path):
    """Before, each version left 17 open files until Python's collector came by."""

    def open_files():
        links = (os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd"))
        return sum(str(folder) in os.readlink(link) for link in links if os.path.islink(link))

    counts = []
    for number in range(5):
        title = f"Added {number}"
        more = write_corpus(tmp_path / "more.jsonl", {title: "It is new."})
        kb.add(more, folder, progress=False)
        wait_for(lambda title=title: client.get(f"/v1/documents/{title}").status_code == 200)
        time.sleep(0.3)
        counts.append(open_files())
    assert max(counts) < counts[0] + 17


def test_a_damaged_replacement_is_not_opened(folder, client, caplog):
    before = version(client)
    (folder / "manifest.json").write_text("{}")
    wait_for(lambda: "changing: cannot be opened again" in caplog.text)
    time.sleep(0.2)
    assert caplog.text.count("cannot be opened again") == 1
    assert client.post("/v1/retrieve", json={"claim": CLAIM}).status_code == 200
    assert version(client) == before


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


def titles_file(folder):
    return folder / "titles.marisa"


def test_a_file_that_is_cut_off_is_a_503_until_it_is_restored(folder, client, caplog):
    """Reading beyond its end would end the process (SIGBUS)."""
    file = titles_file(folder)
    whole = file.read_bytes()
    assert client.post("/v1/retrieve", json={"claim": CLAIM}).status_code == 200
    os.truncate(file, 16)
    time.sleep(0.02)
    for method, path, body in (
        ("POST", "/v1/retrieve", {"claim": CLAIM}),
        ("GET", "/v1/documents/NBC", None),
        ("GET", "/v1/search?q=broadcaster", None),
        ("GET", "/v1/titles?prefix=N", None),
    ):
        response = client.request(method, path, json=body)
        assert response.status_code == 503, path
        detail = response.json()["detail"]
        assert "titles.marisa" in detail
        assert f"16 bytes instead of {len(whole):,}" in detail
        assert str(folder) not in detail
        assert response.headers["retry-after"]
    assert client.get("/readyz").status_code == 503
    wait_for(lambda: f"{file}: 16 bytes where the manifest says" in caplog.text)
    file.write_bytes(whole)
    wait_for(lambda: client.get("/readyz").status_code == 200)
    assert client.post("/v1/retrieve", json={"claim": CLAIM}).status_code == 200


def test_a_file_that_is_replaced_is_opened_or_refused(folder, client):
    file = titles_file(folder)
    whole = file.read_bytes()

    def replace(data):
        other = folder.with_name("other")
        other.write_bytes(data)
        other.replace(file)

    replace(whole)  # the same, as from a backup
    time.sleep(0.2)
    assert client.get("/v1/documents/NBC").status_code == 200
    replace(whole[:-8] + b"damaged!")
    wait_for(lambda: client.get("/v1/documents/NBC").status_code == 503)
    assert "titles.marisa" in client.get("/v1/documents/NBC").json()["detail"]
    replace(whole)
    wait_for(lambda: client.get("/v1/documents/NBC").status_code == 200)
