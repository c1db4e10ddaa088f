import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError, RecordError
from admiral.io.text_cleaning import clean_text, clean_title
from admiral.kb import KnowledgeBase, build, check
from admiral.records import Document


def _build(corpora, kb, **options):
    return build(corpora, kb, bm25="none", progress=False, **options)


def _contents(kb):
    with KnowledgeBase.open(kb) as base:
        return [base.document_at(row) for row in range(len(base))]


def test_build(birds, tmp_path):
    report = _build(birds, tmp_path / "kb")
    assert (report.documents, report.sentences, report.links) == (3, 5, 3)
    assert (report.bad, report.duplicates) == (0, 0)
    assert report.bytes == sum(f.stat().st_size for f in report.path.rglob("*") if f.is_file())
    assert _contents(tmp_path / "kb") == [
        Document(
            "Great tit",
            ("The great tit is a bird.", "", "It eats seeds."),
            (("Bird",), (), ("Seed", "Bird")),
        ),
        Document("Bird", ("Birds lay eggs.", "Most of them fly.")),
        Document("Seed", ()),
    ]
    assert check(tmp_path / "kb") == []


@given(
    st.dictionaries(
        st.text(st.characters(), min_size=1, max_size=12).filter(clean_title),
        st.lists(st.text(st.characters(), max_size=20), max_size=3),
        min_size=1,
        max_size=8,
    )
)
def test_stored_text_is_cleaned(corpus):
    expected = {}
    for title, sentences in corpus.items():
        expected.setdefault(clean_title(title), []).extend(map(clean_text, sentences))
    with TemporaryDirectory() as folder:
        path = Path(folder, "c.jsonl")
        lines = [json.dumps({"title": t, "sentences": s}) for t, s in corpus.items()]
        path.write_text("\n".join(lines))
        # Titles that are equal after cleaning are merged, as in the oracle.
        _build(path, Path(folder, "kb"), format="jsonl", on_duplicate="merge")
        assert check(Path(folder, "kb")) == []
        documents = _contents(Path(folder, "kb"))
        assert [(d.title, list(d.sentences)) for d in documents] == list(expected.items())
        with KnowledgeBase.open(Path(folder, "kb")) as kb:
            for title in corpus:
                assert kb.document(title).title == clean_title(title)


RECORDS = [
    {"title": "A", "sentences": ["a1"], "links": [["B"]]},
    {"title": "B", "sentences": ["b1"]},
    {"title": " A\n", "sentences": ["a2", "a3"]},
    {"title": "A (2)", "sentences": ["other"]},
    {"title": "B", "sentences": ["b2"], "links": [["A"]]},
    {"title": "A", "sentences": ["a4"]},
]


def test_duplicates_are_an_error_that_names_both_places(write_jsonl, tmp_path):
    first, second = write_jsonl(RECORDS[:2], "one.jsonl"), write_jsonl(RECORDS[2:], "two.jsonl")
    with pytest.raises(RecordError) as caught:
        _build([first, second], tmp_path / "kb")
    assert str(caught.value).startswith(f"{second}:1: field 'title': 'A' is taken")
    assert f"{first}:1" in str(caught.value)
    assert "--on-duplicate" in str(caught.value)
    assert not (tmp_path / "kb").exists()


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("skip", {"A": ["a1"], "B": ["b1"], "A (2)": ["other"]}),
        ("merge", {"A": ["a1", "a2", "a3", "a4"], "B": ["b1", "b2"], "A (2)": ["other"]}),
        (
            "rename",
            {
                "A": ["a1"],
                "B": ["b1"],
                "A (2)": ["a2", "a3"],
                "A (2) (2)": ["other"],
                "B (2)": ["b2"],
                "A (3)": ["a4"],
            },
        ),
    ],
)
def test_duplicates(policy, expected, write_jsonl, tmp_path):
    report = _build(write_jsonl(RECORDS), tmp_path / "kb", on_duplicate=policy)
    documents = _contents(tmp_path / "kb")
    assert {d.title: list(d.sentences) for d in documents} == expected
    assert report.documents == len(expected)
    assert report.duplicates == (4 if policy == "rename" else 3)
    assert check(tmp_path / "kb") == []
    if policy == "merge":
        assert documents[0].links == (("B",), (), (), ())
        assert documents[1].links == ((), ("A",))


def test_many_documents_of_one_title_are_renamed_quickly(write_jsonl, tmp_path):
    corpus = write_jsonl({"title": "A", "text": str(n)} for n in range(3000))
    _build(corpus, tmp_path / "kb", on_duplicate="rename")
    assert _contents(tmp_path / "kb")[-1] == Document("A (3000)", ("2999",))


def test_bad_records(write_jsonl, tmp_path, caplog):
    bad = [{"title": ""}, {"title": "x"}, [], {"title": "", "text": "x"}]
    corpus = write_jsonl([{"title": "A", "text": "x"}, *bad, {"title": "B", "text": "x"}])
    with pytest.raises(RecordError, match=r"corpus\.jsonl:2: field 'sentences': missing"):
        _build(corpus, tmp_path / "kb")
    assert not (tmp_path / "kb").exists()
    with caplog.at_level(logging.WARNING):
        report = _build(corpus, tmp_path / "kb", skip_bad=True)
    assert (report.documents, report.bad) == (2, 4)
    assert [r.getMessage().split(": ")[1] for r in caplog.records[:4]] == [
        f"{corpus}:{n}" for n in (2, 3, 4, 5)
    ]


@pytest.mark.parametrize("lines", ["", "\n\n", '{"id": "", "text": "", "lines": ""}\n'])
def test_an_empty_corpus_is_an_error(lines, tmp_path):
    (tmp_path / "c.jsonl").write_text(lines)
    with pytest.raises(AdmiralError, match="no documents in it"):
        _build(tmp_path / "c.jsonl", tmp_path / "kb", format="fever")
    assert not (tmp_path / "kb").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "xml"}, "auto, jsonl, wiki-jsonl, fever, hotpotqa, feverous, kilt, beir, "),
        ({"on_duplicate": "keep"}, "error, merge, skip, rename"),
        ({"bm25": "elastic"}, "lucene, bm25s, none"),
    ],
)
def test_unknown_setting_values(options, message, birds, tmp_path):
    with pytest.raises(AdmiralError, match=message):
        build(birds, tmp_path / "kb", **{"bm25": "none", "progress": False, **options})


_CHILD = """
import sys
from pathlib import Path
from admiral.kb import build
build(sys.argv[1], sys.argv[2], bm25="none", overwrite=True, progress=False)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_corpus(tmp_path):
    """Ten times the documents take less than 24 MB more, half the size of the text."""
    script = _CHILD + "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    peaks = []
    for count in (5_000, 50_000):
        corpus = tmp_path / f"{count}.jsonl"
        with corpus.open("w") as stream:
            for n in range(count):
                text = f"Sentence {n} " + "of many words " * 70
                stream.write(json.dumps({"title": f"T{n}", "sentences": [text]}) + "\n")
        run = subprocess.run(
            [sys.executable, "-c", script, str(corpus), str(tmp_path / f"kb{count}")],
            capture_output=True,
            check=True,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        peaks.append(int(run.stdout) / 1024)
    assert (tmp_path / "50000.jsonl").stat().st_size > 48e6
    assert peaks[1] - peaks[0] < 24
