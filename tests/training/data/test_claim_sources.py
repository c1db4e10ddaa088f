"""The formats of training claims, and errors in bad records."""

import csv
import json
from pathlib import Path

import pytest

from admiral.errors import AdmiralError
from admiral.gold import Label
from admiral.records import Document
from training.data.claim_sources import FORMATS, Source, sample_claims, titles_of
from training.data.evidence_corpora import GivenDocuments
from trie.safe_tokenizer import TASKS

QUESTION = {
    "question_id": "q1",
    "question_text": "In which year was the architect of the Salt Mill born?",
    "answers_objects": [{"number": "", "spans": ["1801"]}],
    "contexts": [
        {
            "title": "Salt Mill",
            "paragraph_text": "The Salt Mill is a mill.  It was drawn by Ida Penn (architect).",
            "is_supporting": True,
        },
        {
            "title": "Ida Penn (architect)",
            "paragraph_text": "Ida Penn drew mills.  She was born in 1801.  She died old.",
            "is_supporting": True,
        },
        {"title": "Pepper Mill", "paragraph_text": "It grinds.", "is_supporting": False},
    ],
}
FOOL = {
    "id": "f1",
    "text": "The Salt Mill never burned.",
    "label": "REFUTES",
    "wikipedia_page": "Salt Mill",
    "gold_evidence": [{"section_header": "History", "text": "It burned in 1900."}],
    "retrieved_evidence": [
        {"section_header": "History", "text": "It was sold in 1890."},
        {"section_header": "History", "text": "It burned in 1900."},
    ],
}
WICE = {
    "label": "partially_supported",
    "claim": "The Salt Mill burned twice.",
    "supporting_sentences": [[3, 1], [2]],
    "evidence": ["(meta data) TITLE: Mill news", "It burned.", "Twice.", "It was the Salt Mill."],
    "meta": {"id": "dev1", "claim_title": "Salt Mill", "claim_section": "", "claim_context": ""},
}
CREAK = {"ex_id": "c1", "sentence": "Mills are wet.", "label": "false", "entity": "Salt Mill"}
EX_FEVER = {
    "claim": "The Salt Mill was drawn by an architect born in 1801.",
    "explanation": "Ida Penn drew it.",
    "label": "SUPPORT",
    "golden entity": "['Salt_Mill', 'Ida_Penn_-LRB-architect-RRB-', 'Salt_Mill']",
}


def write(path, *records):
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            rows = csv.DictWriter(file, list(records[0]))
            rows.writeheader()
            rows.writerows(records)
    else:
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def read(format, path):
    return list(Source.parse(f"{format}:{path}").claims())


def test_hotpotqa_questions_have_paragraphs_and_supporting_sentences(tmp_path):
    (item,) = read("hotpotqa", write(tmp_path / "q.jsonl", QUESTION))
    assert [len(p.sentences) for p in item.passages] == [2, 3, 1]
    # The sentence that names the other document, and the one with the answer.
    assert item.claim.sentences == (("Salt Mill", 1), ("Ida Penn (architect)", 1))
    assert item.claim.label is None


def test_fool_me_twice_has_gold_and_retrieved_sentences_of_one_page(tmp_path):
    (item,) = read("fool-me-twice", write(tmp_path / "f.jsonl", FOOL))
    (page,) = item.passages
    assert page.sentences == ("It was sold in 1890.", "It burned in 1900.")
    assert item.claim.sentences == (("Salt Mill", 1),) and item.claim.refuted is True


def test_wice_has_alternative_sentences_of_one_page(tmp_path):
    nothing = {**WICE, "label": "not_supported", "supporting_sentences": [[]]}
    no_title = {**WICE, "label": "supported", "evidence": ["Home", *WICE["evidence"][1:]]}
    item, empty, untitled = read("wice", write(tmp_path / "w.jsonl", WICE, nothing, no_title))
    (page,) = item.passages
    assert page == Document("Mill news", ("Mill news", *WICE["evidence"][1:]))
    sets = ((("Mill news", 2),), (("Mill news", 3), ("Mill news", 1)))  # the smallest comes first
    assert (item.claim.id, item.claim.evidence) == ("dev1", sets)
    assert item.claim.label is Label.NOT_ENOUGH_INFO
    assert empty.claim.evidence == ()
    assert untitled.passages[0].title == "Salt Mill"
    assert untitled.passages[0].sentences[0] == "Home"
    assert untitled.claim.label is Label.SUPPORTS


def test_creak_and_ex_fever_have_titles_only(tmp_path):
    (item,) = read("creak", write(tmp_path / "c.jsonl", CREAK))
    assert item.claim.titles == ("Salt Mill",) and item.claim.label is Label.REFUTES
    assert not item.passages and not item.claim.sentences
    (item,) = read("ex-fever", write(tmp_path / "e.csv", EX_FEVER))
    assert item.claim.titles == ("Salt Mill", "Ida Penn (architect)")
    assert not item.claim.sentences


@pytest.mark.parametrize(
    ("format", "record", "field"),
    [
        ("hotpotqa", {**QUESTION, "contexts": "none"}, "contexts"),
        ("hotpotqa", {**QUESTION, "contexts": [{"title": "A"}]}, r"contexts\[0\]\.paragraph_text"),
        ("fool-me-twice", {**FOOL, "label": "PERHAPS"}, "label"),
        ("wice", {**WICE, "evidence": []}, "evidence"),
        ("wice", {**WICE, "meta": {}, "evidence": ["a"]}, r"meta\.id"),
        ("wice", {**WICE, "supporting_sentences": [2]}, r"supporting_sentences\[0\]"),
        ("creak", {**CREAK, "entity": ""}, "entity"),
        ("ex-fever", {**EX_FEVER, "golden entity": "Salt_Mill"}, "golden entity"),
    ],
)
def test_errors_name_record_and_field(tmp_path, format, record, field):
    path = write(tmp_path / ("x.csv" if format == "ex-fever" else "x.jsonl"), record)
    with pytest.raises(AdmiralError, match=rf"x\.(csv: row |jsonl:)1: field '{field}'"):
        read(format, path)


@pytest.mark.parametrize("format", FORMATS)
def test_an_empty_file_is_an_error(tmp_path, format):
    path = tmp_path / "empty"
    path.write_text("")
    with pytest.raises(AdmiralError, match="holds no claims"):
        read(format, path)
    with pytest.raises(AdmiralError, match="nowhere"):
        read(format, tmp_path / "nowhere")


def test_sources_are_parsed():
    assert Source.parse("hover:a:b.jsonl") == Source("hover", Path("a:b.jsonl"), TASKS)
    named = Source.parse("gold/prove+rerank:x")
    assert named.tasks == ("prove", "rerank")
    assert Source.parse("fool-me-twice:x").tasks == ("rerank",)
    assert Source.parse("wice:x").tasks == ("rerank", "prove")
    assert Source.parse("hipporag:x").tasks == TASKS
    for text, problem in [
        ("claims.jsonl", "not FORMAT:FILE"),
        ("hover:", "not FORMAT:FILE"),
        ("hoover:x", "no format 'hoover'"),
        ("hover/fly:x", "no task 'fly'"),
    ]:
        with pytest.raises(AdmiralError, match=problem):
            Source.parse(text)


def test_claims_are_sampled_from_every_source(tmp_path):
    first = write(tmp_path / "a.jsonl", *({**CREAK, "sentence": f"A{n}."} for n in range(9)))
    second = write(tmp_path / "b.jsonl", CREAK, {**CREAK, "entity": "Unknown"})
    sources = [Source.parse(f"creak:{first}"), Source.parse(f"creak:{second}")]
    corpus = GivenDocuments([Document("Salt Mill", ("A mill.",))])
    claims = sample_claims(sources, corpus, 5, seed=0)
    # Of the second source, one claim needs a document that the corpus lacks.
    assert len(claims) == 6 and [claim.id for claim in claims] == list("012345")
    assert sum(claim.claim == CREAK["sentence"] for claim in claims) == 1
    assert claims == sample_claims(sources, corpus, 5, seed=0)
    assert claims != sample_claims(sources, corpus, 5, seed=1)


def test_alternatives_that_the_corpus_lacks_are_left_out(tmp_path):
    pages = [["Unknown", "Salt Mill"], ["Ida Penn", "Salt Mill"], ["Unknown"]]
    records = [{"claim": "c", "id": n, "gold_pages_union": union} for n, union in enumerate(pages)]
    source = Source.parse(f"pages:{write(tmp_path / 'p.jsonl', *records)}")
    corpus = GivenDocuments([Document(title, ("x",)) for title in ("Salt Mill", "Ida Penn")])
    found = {claim.title_sets for claim in sample_claims([source], corpus, 5, seed=0)}
    assert found == {(("Salt Mill",),), (("Ida Penn",), ("Salt Mill",))}
    excluded = titles_of([source.path])
    assert excluded == {"Unknown", "Salt Mill", "Ida Penn"}
