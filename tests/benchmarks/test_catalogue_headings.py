"""The command that turns the titles of a corpus and of claims into catalogue headings."""

import gzip
import json

import pytest
from click.testing import CliRunner

from admiral.gold import read_gold
from admiral.kb import KnowledgeBase, build
from admiral.retrieval.first_stage import find_mentions
from benchmarks.catalogue_headings import main

DOCUMENTS = [
    {"title": "Seth Meyers", "sentences": ["Seth Meyers hosts Late Night.", ""]},
    {"title": "Late Night (show)", "sentences": ["A show."], "links": [["Seth Meyers"]]},
    {"title": "Rome", "text": "A city. It is old."},
]
CLAIM = {
    "uid": "a",
    "claim": "Seth Meyers is in Rome.",
    "supporting_facts": [["Seth Meyers", 1], ["Rome", 0]],
    "label": "SUPPORTED",
    "note": "kept",
}


def lines(path, records):
    text = "".join(json.dumps(record) + "\n" for record in records)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def records(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_titles_change_and_texts_do_not(tmp_path):
    corpus = lines(tmp_path / "corpus.jsonl.gz", DOCUMENTS)
    claims = lines(tmp_path / "claims.dev.jsonl.gz", [CLAIM])
    done = run(corpus, claims, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "3 titles: 1 of one word are unchanged, 0 share their heading" in done.output
    assert records(tmp_path / "out" / "corpus.jsonl") == [
        {"title": "Meyers, Seth", "sentences": ["Seth Meyers hosts Late Night.", ""]},
        {"title": "Night, Late (show)", "sentences": ["A show."], "links": [["Meyers, Seth"]]},
        {"title": "Rome", "sentences": ["A city.", "It is old."]},
    ]
    assert records(tmp_path / "out" / "claims.dev.jsonl") == [
        CLAIM | {"supporting_facts": [["Meyers, Seth", 1], ["Rome", 0]]}
    ]


def test_texts_mention_titles_of_one_word_only(tmp_path):
    corpus, claims = lines(tmp_path / "c.jsonl", DOCUMENTS), lines(tmp_path / "q.jsonl", [CLAIM])
    out = tmp_path / "out"
    assert run(corpus, claims, "--out", out).exit_code == 0
    build(out / "corpus.jsonl", tmp_path / "kb", bm25="bm25s", progress=False)
    (claim,) = read_gold(out / "q.jsonl")
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert [kb.document(title).title for title in claim.titles] == ["Meyers, Seth", "Rome"]
        assert [m.titles for m in find_mentions(kb, claim.claim)] == [("Rome",)]


def test_titles_that_share_a_heading_are_counted(tmp_path):
    titles = ["Foo (bar) Baz", "Foo Baz (bar)", "Foo Baz (bar)", "B A", "A B"]
    corpus = lines(tmp_path / "c.jsonl", [{"title": t, "sentences": ["A."]} for t in titles])
    done = run(corpus, "--out", tmp_path / "out")
    assert "4 titles: 0 of one word are unchanged, 1 share their heading" in done.output
    assert [r["title"] for r in records(tmp_path / "out" / "corpus.jsonl")] == [
        *["Baz, Foo (bar)"] * 3,
        *("A, B", "B, A"),
    ]


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"claim": "A."}, "claims.jsonl:2: field 'supporting_facts': is not"),
        ({"claim": "A.", "supporting_facts": [["Rome"]]}, "is not [title, sentence number]"),
        ([], "a JSON list instead of an object"),
    ],
)
def test_bad_claims_are_errors_and_leave_no_file(tmp_path, record, problem):
    corpus = lines(tmp_path / "c.jsonl", DOCUMENTS)
    claims = lines(tmp_path / "claims.jsonl", [CLAIM, record])
    done = run(corpus, claims, "--out", tmp_path / "out")
    assert done.exit_code == 1 and problem in done.output
    assert list((tmp_path / "out").iterdir()) == []
