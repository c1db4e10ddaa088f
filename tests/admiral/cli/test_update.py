"""`admiral add`, `remove` and `compact`."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from admiral import RetrievalConfig
from admiral.cli.main import cli
from admiral.kb import KnowledgeBase, build
from admiral.records import Sentence
from admiral.retrieval.stage_assembly import build_sentence_encoder


def corpus(path, *titles):
    path.write_text("".join(json.dumps({"title": t, "text": "It is."}) + "\n" for t in titles))
    return path


@pytest.fixture
def kb(tmp_path):
    titles = corpus(tmp_path / "titles.jsonl", "Bird", "Seed", "Nest")
    build(titles, tmp_path / "kb", bm25="none", progress=False)
    return tmp_path / "kb"


def test_from_addition_to_compaction(admiral, kb, tmp_path):
    more = corpus(tmp_path / "more.jsonl", "Egg", "Bird")
    done = admiral("add", more, "--kb", kb, "--on-duplicate", "replace", "--no-progress")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(f"{kb}: 4 documents, in ".encode())
    assert done.stdout.decode().splitlines()[1:] == [
        "added: 1",
        "replaced: 1",
        "waiting for `admiral compact`: 3",
    ]
    assert admiral("titles", "--kb", kb).stdout == b"Bird\nEgg\nNest\nSeed\n"
    (tmp_path / "gone.txt").write_text("Nest\nEmu\n")
    done = admiral(
        "remove",
        "Seed",
        "--titles",
        tmp_path / "gone.txt",
        "--ignore-missing",
        "--kb",
        kb,
        "--json",
    )
    record = json.loads(done.stdout)
    assert (record["path"], record["documents"]) == (str(kb), 2)
    assert (record["removed"], record["missing"], record["pending"]) == (2, 1, 5)
    shown = admiral("info", "--kb", kb).stdout.decode()
    assert "changed since    2 added, 3 removed\n" in shown
    assert admiral("verify", "--kb", kb).returncode == 0
    done = admiral("compact", "--kb", kb)
    assert (done.returncode, done.stdout.count(b"\n")) == (0, 1)
    assert admiral("titles", "--kb", kb).stdout == b"Bird\nEgg\n"
    assert admiral("verify", "--kb", kb).returncode == 0
    assert b"changed since" not in admiral("info", "--kb", kb).stdout


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["remove", "Emu", "--kb", "KB"], 1, "error: KB: no document has the title 'Emu'. "),
        (["remove", "--kb", "KB"], 2, "Name the documents to remove: TITLE... or --titles FILE."),
        (["remove", "Bird"], 2, "Missing option '--kb'"),
        (["add", "--kb", "KB"], 2, "Missing argument 'CORPUS...'"),
        (["add", "none.jsonl", "--kb", "KB"], 1, "error: none.jsonl: no such file or folder"),
        (["add", "CORPUS", "--kb", "KB", "--on-duplicate", "rename"], 1, "Choose one of error, re"),
    ],
)
def test_bad_requests(admiral, kb, tmp_path, arguments, status, message):
    names = {"KB": str(kb), "CORPUS": str(corpus(tmp_path / "more.jsonl", "Bird"))}
    done = admiral(*(names.get(argument, argument) for argument in arguments), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (status, b"")
    assert message.replace("KB", str(kb)) in done.stderr.decode()


def test_embeddings_from_storing_to_completion(kb, tmp_path):
    def run(*arguments):
        result = CliRunner().invoke(cli, [*map(str, arguments)])
        assert result.exit_code == 0, result.output
        return result.stdout

    shown = run("embed", "--kb", kb, "--no-progress")
    assert shown.startswith(f"{kb}: embeddings of 3 sentences by mini-encoder, ")
    facts = run("info", "--kb", kb)
    assert "embeddings        3 sentences, mini-encoder\n" in facts
    assert "size: embeddings  " in facts

    run("add", corpus(tmp_path / "more.jsonl", "Egg"), "--kb", kb)
    run("compact", "--kb", kb)
    assert "embeddings        3 sentences" in run("info", "--kb", kb)
    record = json.loads(run("embed", "--kb", kb, "--json"))
    assert (record["path"], record["sentences"]) == (str(kb), 4)
    assert run("verify", "--kb", kb) == f"{kb}: sound\n"

    # As if all had been embedded when the knowledge base was built.
    four = corpus(tmp_path / "four.jsonl", "Bird", "Seed", "Nest", "Egg")
    run("index", four, "--kb", tmp_path / "built", "--bm25", "none", "--embeddings")
    encoder = build_sentence_encoder(RetrievalConfig())
    sentences = [Sentence(title, 0, "It is.") for title in ("Bird", "Seed", "Nest", "Egg")]
    vectors = []
    for path in (kb, tmp_path / "built"):
        with KnowledgeBase.open(path) as opened:
            stored = opened.stored_vectors(encoder)
            assert stored is not None
            vectors.append(stored.unit_vectors(sentences))
    exact = np.asarray(encoder.unit_vectors([f"{s.title}: {s.text}" for s in sentences]))
    for each in vectors:
        np.testing.assert_allclose(each, exact, atol=0.003)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kb", "none"], "error: none: no such knowledge base"),
        (["--kb", "KB", "--device", "tpu"], "error: device=tpu: key 'device': "),
    ],
)
def test_bad_requests_of_embeddings(admiral, kb, arguments, message):
    before = (kb / "manifest.json").read_bytes()
    done = admiral("embed", *(str(kb) if a == "KB" else a for a in arguments))
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().startswith(message)
    assert (kb / "manifest.json").read_bytes() == before
