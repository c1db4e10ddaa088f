"""`admiral search` and `admiral show`."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from admiral.cli.search import search_command, show_command
from admiral.errors import AdmiralError
from admiral.io.rendering import render_text
from admiral.kb import KnowledgeBase, add, build
from admiral.records import Document
from tests.admiral.kb.corpus.files.test_pdf_files import pdf, shown

DOCUMENTS = [
    Document("Seth Meyers", ("He is a comedian.", "He hosts Late Night.", "", "He was born.")),
    Document("Late Night", ("It is a talk show.", "NBC broadcasts the late show at night.")),
    Document("NBC", ("A network.\x1b[2J",), (("Late Night",),)),
    Document("Empty", ()),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search")
    corpus = folder / "corpus.jsonl"
    records = [
        {"title": d.title, "sentences": d.sentences, **({"links": d.links} if d.links else {})}
        for d in DOCUMENTS
    ]
    corpus.write_text("".join(json.dumps(record) + "\n" for record in records))
    for backend in ("bm25s", "none"):
        build([corpus], folder / backend, bm25=backend, progress=False)
    return folder


@pytest.fixture
def kb(folder):
    return folder / "bm25s"


@pytest.fixture
def no_index(folder):
    return folder / "none"


def search(kb, *arguments):
    return CliRunner().invoke(search_command, [*arguments, "--kb", str(kb)])


def show(kb, *arguments):
    return CliRunner().invoke(show_command, [*arguments, "--kb", str(kb)])


def test_documents_are_ranked_with_their_best_sentence(kb):
    done = search(kb, "hosts", "late", "night")
    assert done.exit_code == 0, done.output
    shown = done.output.splitlines()
    ranked = dict(zip(shown[::2], shown[1::2], strict=True))
    assert [title.partition(" (")[0] for title in ranked] == [" 1. Late Night", " 2. Seth Meyers"]
    assert list(ranked.values()) == [
        "    1  NBC broadcasts the late show at night.",
        "    1  He hosts Late Night.",
    ]
    assert search(kb, "hosts late", "night").output == done.output


def test_records_of_a_search(kb):
    done = search(kb, "late night", "--json", "-k", "1")
    (record,) = map(json.loads, done.output.splitlines())
    assert record.pop("score") > 0
    assert record == {
        "rank": 1,
        "title": "Late Night",
        "sentence_id": 1,
        "text": "NBC broadcasts the late show at night.",
    }
    assert json.loads(search(kb, "empty", "--json").output)["sentence_id"] is None


def test_nothing_found(kb, no_index):
    for words in (["qwertyuiop"], ["the"]):
        done = search(kb, *words)
        assert isinstance(done.exception, AdmiralError)
        assert "no document has any of these words" in str(done.exception)
    assert "without a BM25 index" in str(search(no_index, "late").exception)


def test_neither_torch_nor_a_model_is_loaded(kb, environment):
    code = (
        "import sys; from admiral.cli.main import main; status = main(sys.argv[1:]); "
        "assert 'torch' not in sys.modules; sys.exit(status)"
    )
    for arguments in (["search", "late"], ["show", "NBC"]):
        given = [sys.executable, "-c", code, *arguments, "--kb", str(kb)]
        assert subprocess.run(given, env=environment, capture_output=True).returncode == 0


def test_a_document_is_shown_with_numbered_sentences(no_index):
    assert show(no_index, "Seth Meyers").output.splitlines() == [
        "Seth Meyers",
        "  0  He is a comedian.",
        "  1  He hosts Late Night.",
        "  2",
        "  3  He was born.",
    ]
    assert show(no_index, "NBC").output == "NBC\n  0  A network.\\x1b[2J\n"
    assert show(no_index, "Empty").output == "Empty\n"


def test_a_file_is_shown_with_its_source_and_sections():
    document = Document(
        "curl", ("A.", "B.", "C."), (), "man/curl.1", ("", "Options", "Options"), (0, 3, 6)
    )
    assert render_text("document", document=document, origin="", places=()) == (
        "curl\nman/curl.1\n  0  A.\n\nOptions\n  1  B.\n  2  C.\n"
    )


def test_the_record_of_a_document(folder, no_index):
    assert json.loads(show(no_index, "NBC", "--json").output) == {
        "title": "NBC",
        "sentences": ["A network.\x1b[2J"],
        "links": [["Late Night"]],
        "origin": {"file": str(folder / "corpus.jsonl"), "line": 3},
    }
    record = json.loads(show(no_index, "Late Night", "--json").output)
    assert record["sentences"] == list(DOCUMENTS[1].sentences)
    assert "links" not in record


@pytest.mark.parametrize(
    ("title", "suggested"),
    [("seth meyers", "'Seth Meyers'"), ("Seth Meyrs", "'Seth Meyers'"), ("nbc", "'NBC'")],
)
def test_similar_titles_are_suggested(kb, no_index, title, suggested):
    for path in (kb, no_index):
        done = show(path, title)
        assert isinstance(done.exception, AdmiralError)
        assert str(done.exception).endswith(f"Similar titles: {suggested}")


def test_titles_that_bm25_finds_are_suggested(kb):
    assert "Similar titles: 'Seth Meyers'" in str(show(kb, "The Seth Meyers").exception)


def test_the_page_of_a_sentence(tmp_path):
    page = "\n".join(["The mill stands by the river.", "It has two wheels."])
    (tmp_path / "mill.pdf").write_bytes(pdf(shown(page), shown("Its owner is Ida Penn.")))
    build(tmp_path / "mill.pdf", tmp_path / "kb", bm25="none", progress=False)
    (title,) = titles(tmp_path / "kb")
    done = show(tmp_path / "kb", title, "--source")
    assert str(tmp_path / "mill.pdf") in done.output.splitlines()
    assert "  2  [page 2] Its owner is Ida Penn." in done.output.splitlines()
    origin = json.loads(show(tmp_path / "kb", title, "--json").output)["origin"]
    pages = [{"page": 1}, {"page": 1}, {"page": 2}]
    assert origin == {"file": str(tmp_path / "mill.pdf"), "places": pages}


def test_lines_survive_changes(tmp_path):
    first, second, kb = tmp_path / "1.jsonl", tmp_path / "2.jsonl", tmp_path / "kb"
    first.write_text('{"title": "A", "text": "One."}\n{"title": "B", "text": "Two."}\n')
    second.write_text('\n{"title": "B", "text": "Three."}\n')
    build(first, kb, bm25="none", progress=False)
    add(second, kb, on_duplicate="replace", progress=False)
    places = [json.loads(show(kb, t, "--json").output)["origin"] for t in ("A", "B")]
    assert places == [{"file": str(first), "line": 1}, {"file": str(second), "line": 2}]


def titles(kb):
    with KnowledgeBase.open(kb) as opened:
        return list(opened.titles())
