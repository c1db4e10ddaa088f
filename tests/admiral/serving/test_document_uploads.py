"""Uploads of documents: knowledge bases of real files, bad files, hostile names, and limits."""

import gzip
import time
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from admiral import Admiral
from admiral.cli.serve import default_uploads
from admiral.io.limited_reading import DEFAULT_LIMITS
from admiral.serving import document_uploads
from admiral.serving.application import create_app
from admiral.serving.document_uploads import Uploads
from admiral.serving.service import Service, open_system
from tests.admiral.kb.corpus.files.test_file_formats import HTML, pdf, word
from tests.admiral.serving.live_service import quick_config

BRIDGE = "The Eastern Bridge was opened in 1932 by Ada Lane."


@pytest.fixture(scope="module")
def demo(user_cache):
    with Admiral.from_pretrained(config=quick_config(hops="1")) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "uploads"


@pytest.fixture
def serve(demo, folder, monkeypatch):
    """Return a function that begins a service on the folder of uploads, and ends the last one."""
    monkeypatch.setattr(document_uploads, "UPLOAD_BYTES", 100_000)
    opened = []

    def start(limits=DEFAULT_LIMITS):
        end()
        service = Service({"demo": open_system("demo", demo.checkpoint, demo.config)})
        opened.append(service)
        uploads = Uploads(service, folder, limits)
        return TestClient(create_app(service, uploads=uploads), raise_server_exceptions=False)

    def end():
        while opened:
            opened.pop(0).close()

    yield start
    end()


def send(client, files, **form):
    return client.post("/v1/uploads", files=[("files", each) for each in files], data=form)


def ended(client, kb):
    deadline = time.monotonic() + 60
    while True:
        record = client.get(f"/v1/uploads/{kb}").json()
        if record["state"] not in ("waiting", "running") or time.monotonic() > deadline:
            return record
        time.sleep(0.02)


def test_files_become_a_knowledge_base_that_can_be_deleted(serve, folder):
    client = serve()
    files = [
        ("report.docx", word()),
        ("lines.pdf", pdf("A river of Paris is the Seine.", title="On lines")),
        ("guide.html", HTML.encode("latin-1")),
        ("bridge.txt", BRIDGE.encode()),
        ("broken.pdf", b"%PDF-1.4 no"),
        ("program.exe", b"MZ"),
    ]
    answer = send(client, files, name="My notes, 2nd/../draft")
    assert answer.status_code == 202
    name = answer.json()["kb"]
    assert name == "My-notes-2nd-draft"
    record = ended(client, name)
    assert (record["state"], record["stage"], record["problem"]) == ("complete", "opening", "")
    assert (record["files"], record["done"], record["documents"]) == (6, 6, 4)
    assert [each["file"] for each in record["left_out"]] == ["program.exe", "broken.pdf"]
    assert {path.name for path in (folder / name).iterdir() if path.name[0] != "."} == {"kb"}
    listed = client.get("/v1/kbs").json()
    assert [(each["name"], each["documents"]) for each in listed["kbs"]][1] == (name, 4)
    assert listed["uploads"]
    found = client.post("/v1/retrieve", json={"claim": BRIDGE, "kb": name}).json()
    assert found["documents"][0]["title"] == "bridge"
    assert client.get("/v1/documents/bridge", params={"kb": name}).json()["source"] == "bridge.txt"
    assert client.get("/v1/documents/On lines", params={"kb": name}).status_code == 200

    client = serve()  # a later run
    (record,) = client.get("/v1/uploads").json()["uploads"]
    assert (record["kb"], record["state"]) == (name, "complete")
    assert client.post("/v1/retrieve", json={"claim": BRIDGE, "kb": name}).status_code == 200
    assert client.delete(f"/v1/uploads/{name}").status_code == 204
    assert list(folder.iterdir()) == []
    assert client.post("/v1/retrieve", json={"claim": BRIDGE, "kb": name}).status_code == 404
    assert client.delete(f"/v1/uploads/{name}").status_code == 404
    assert client.delete("/v1/uploads/demo").status_code == 404


def test_names_are_made_safe_and_told_apart(serve, folder):
    client = serve()
    names = [
        "../../escape.txt",
        "/etc/passwd.txt",
        "C:\\temp\\escape.txt",
        ".hidden.txt",
        "a\x85b\u202e<img src=x>.txt",
        f"{'long' * 100}.txt",
        "..",
    ]
    files = [(each, f"Sentence {at} is here.".encode()) for at, each in enumerate(names)]
    (one, other) = [send(client, files, name="demo").json()["kb"] for _ in range(2)]
    assert (one, other) == ("demo-2", "demo-3")
    record = ended(client, one)
    assert (record["state"], record["files"], record["documents"]) == ("complete", 7, 6)
    assert ended(client, other)["state"] == "complete"
    assert {path.name for path in folder.iterdir()} == {one, other}
    assert {path.name for path in folder.parent.iterdir()} == {"uploads"}
    titles = client.get("/v1/titles", params={"kb": one, "limit": 10}).json()["titles"]
    assert len(titles) == 6
    sources = {
        client.get(f"/v1/documents/{quote(title)}", params={"kb": one}).json()["source"]
        for title in titles
    }
    plain = {"escape.txt", "escape-2.txt", "passwd.txt", "hidden.txt", "a b <img src=x>.txt"}
    assert sources == {*plain, "long" * 15 + ".txt"}


def test_uploads_that_are_refused_or_fail_leave_nothing(serve, folder):
    client = serve()
    assert client.post("/v1/uploads", data={"name": "x"}).status_code == 422
    assert client.post("/v1/uploads", json={"files": []}).status_code == 422
    assert client.post("/v1/uploads", data={"files": "text"}).status_code == 422
    too_large = send(client, [("large.txt", b"Large. " * 20_000)])
    assert (too_large.status_code, too_large.json()["remedy"]) == (
        413,
        "Send less in one request: fewer claims, sections or files",
    )
    assert not folder.exists()
    for name, content, problem in (
        ("bomb.txt.gz", gzip.compress(b"It is said again. " * 20_000), "100,000 characters"),
        ("none.pdf", b"%PDF-1.4 no", "none of the files"),
    ):
        kb = send(client, [(name, content)]).json()["kb"]
        record = ended(client, kb)
        assert record["state"] == "failed"
        assert problem in record["problem"]
        assert str(folder) not in record["problem"]
        assert not {"files", "kb"} & {path.name for path in (folder / kb).iterdir()}
        assert client.delete(f"/v1/uploads/{kb}").status_code == 204
    assert list(folder.iterdir()) == []
    assert [each["name"] for each in client.get("/v1/kbs").json()["kbs"]] == ["demo"]


def test_an_upload_is_stopped_while_it_waits_or_is_read(serve, folder, monkeypatch):
    client = serve()
    going = document_uploads.threading.Event()
    build = document_uploads.build_records

    def late(*arguments, **options):
        assert going.wait(60)
        return build(*arguments, **options)

    monkeypatch.setattr(document_uploads, "build_records", late)
    names = [send(client, [("bridge.txt", BRIDGE.encode())]).json()["kb"] for _ in range(3)]
    assert client.delete(f"/v1/uploads/{names[0]}").status_code == 204
    assert client.delete(f"/v1/uploads/{names[1]}").status_code == 204
    going.set()
    assert ended(client, names[2])["state"] == "complete"
    assert [each["kb"] for each in client.get("/v1/uploads").json()["uploads"]] == names[2:]
    assert {path.name for path in folder.iterdir()} == set(names[2:])


def test_pages_of_other_origins_upload_and_delete_nothing(serve, folder):
    client = serve()
    kb = send(client, [("bridge.txt", BRIDGE.encode())]).json()["kb"]
    assert ended(client, kb)["state"] == "complete"
    elsewhere = {"Origin": "https://elsewhere.example"}
    files = {"files": ("a.txt", b"It rained.")}
    assert client.post("/v1/uploads", files=files, headers=elsewhere).status_code == 403
    assert client.delete(f"/v1/uploads/{kb}", headers=elsewhere).status_code == 403
    assert {path.name for path in folder.iterdir()} == {kb}


def test_uploads_are_off_where_others_may_reach_the_service(demo):
    assert default_uploads("127.0.0.1", ()) is not None
    assert default_uploads("127.0.0.1", ("facts.example",)) is None
    assert default_uploads("0.0.0.0", ()) is None
    client = TestClient(create_app(Service({})))
    answer = send(client, [("bridge.txt", BRIDGE.encode())])
    assert (answer.status_code, "--uploads DIR" in answer.json()["remedy"]) == (404, True)
    assert client.get("/v1/kbs").json()["uploads"] is False
    assert send(client, [("large.txt", b"Large. " * 200_000)]).status_code == 413
