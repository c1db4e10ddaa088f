"""`admiral add`, `remove` and `info`, and the embeddings of `index`."""

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


def test_additions_and_removals(admiral, kb, tmp_path):
    more = corpus(tmp_path / "more.jsonl", "Egg", "Bird")
    done = admiral("add", more, "--kb", kb, "--on-duplicate", "replace", "--no-progress")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(f"{kb}: 4 documents, in ".encode())
    assert done.stdout.decode().splitlines()[1:] == [
        "added: 1",
        "replaced: 1",
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
    assert (record["removed"], record["missing"]) == (2, 1)
    assert admiral("titles", "--kb", kb).stdout == b"Bird\nEgg\n"
    done = admiral("info", "--kb", kb, "--check")
    assert (done.returncode, done.stderr.decode()) == (0, f"{kb}: sound\n")
    with (kb / "kb.sqlite").open("r+b") as file:
        file.truncate(8192)
    done = admiral("info", "--kb", kb, "--check")
    assert (done.returncode, b"malformed" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["remove", "Emu", "--kb", "KB"], 1, "error: KB: no document has the title or URL 'Emu'. "),
        (["remove", "--kb", "KB"], 2, "Name the documents to remove: TITLE... or --titles FILE."),
        (["remove", "Bird"], 2, "Missing option '--kb'"),
        (["add", "--kb", "KB"], 2, "Missing argument 'CORPUS...'"),
        (["add", "none.jsonl", "--kb", "KB"], 1, "error: none.jsonl: no such file or folder"),
        (["add", "CORPUS", "--kb", "KB", "--on-duplicate", "rename"], 2, "is not one of 'error'"),
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

    corpora = (tmp_path / "titles.jsonl", "--kb", kb, "--bm25", "none", "--no-progress")
    run("index", *corpora, "--overwrite")
    run("index", *corpora, "--embeddings")
    assert "embeddings" in run("info", "--kb", kb)
    run("add", corpus(tmp_path / "more.jsonl", "Egg"), "--kb", kb)
    assert "3 documents, mini-encoder\n" in run("info", "--kb", kb)
    run("index", *corpora, "--embeddings")
    assert "4 documents, mini-encoder\n" in run("info", "--kb", kb)

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
