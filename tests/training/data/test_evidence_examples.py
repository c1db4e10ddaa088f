"""Examples of gold claims: complete evidence, evidence without a part, and other documents."""

import random

import pytest

from admiral.gold import GoldClaim, Label
from admiral.kb import KnowledgeBase, demo_kb
from admiral.records import Document
from training.data.evidence_corpora import GivenDocuments, missing_evidence, with_documents
from training.data.evidence_examples import evidence_examples

DOCUMENTS = [
    Document("Rome", ("Rome is in Italy.", "It has seven hills.", "Rome is old.")),
    Document("Italy", ("Italy is in Europe.", "Its capital is Rome.")),
    Document("Oslo", ("Oslo is in Norway.", "It is cold.", "It has trams.")),
]
CORPUS = GivenDocuments(DOCUMENTS)
ONE = (("Rome", 1),)
TWO = (("Rome", 0), ("Italy", 0))
PAGES = GivenDocuments(
    [
        Document("Rome", ("Old.", "It has hills.", "It is a capital.", "Big.", "It has trams.")),
        Document("Oslo", ("It is cold.",)),
    ]
)


def examples(label, *evidence, seed=0):
    claim = GoldClaim("1", "A claim.", label, evidence)
    return list(evidence_examples(claim, CORPUS, "s", random.Random(seed)))


def labels(example):
    """Return the label of each sentence by its text."""
    texts = (text for _, text in example.evidence)
    return dict(zip(texts, example.sentences, strict=True))


@pytest.mark.parametrize("seed", range(10))
def test_the_label_depends_on_what_is_missing(seed):
    whole, part, other = examples(Label.SUPPORTS, TWO, seed=seed)
    assert whole.label == "entailment"
    assert (
        labels(whole)["Rome is in Italy."] == labels(whole)["Italy is in Europe."] == "entailment"
    )
    assert part.label == "neutral"
    assert ("Rome is in Italy." in labels(part)) != ("Italy is in Europe." in labels(part))
    assert other.label == "neutral"
    assert {title for title, _ in other.evidence} == {"Oslo"}
    assert set(other.sentences) == {"neutral"}
    assert {example.group for example in (whole, part, other)} == {"1"}


@pytest.mark.parametrize("seed", range(10))
def test_sentences_of_refuting_evidence_may_do_either(seed):
    whole, part, _ = examples(Label.REFUTES, TWO, seed=seed)
    assert (whole.label, part.label) == ("contradiction", "not_entailment")
    assert labels(whole)["Rome is in Italy."] == "relevant"
    assert set(part.sentences) == {None}
    whole, part, _ = examples(Label.REFUTES, ONE, seed=seed)
    assert labels(whole)["It has seven hills."] == "contradiction"
    assert part.label == "neutral"
    assert "It has seven hills." not in labels(part)
    whole, part, _ = examples(Label.NOT_SUPPORTED, TWO, seed=seed)
    assert whole.label == part.label == "not_entailment"


def of_pages(label, *titles):
    sets = tuple(((title, None),) for title in titles)
    claim = GoldClaim("1", "The capital has seven hills and trams.", label, sets)
    return list(evidence_examples(claim, PAGES, "s", random.Random(0)))


def test_the_closest_sentences_of_a_known_page_are_the_evidence():
    alone, among = of_pages(Label.REFUTES, "Bern", "Rome")
    for example in (alone, among):
        assert (example.label, example.weight) == ("contradiction", 0.5)
        assert set(example.sentences) == {None}
    assert {"It has hills.", "It is a capital.", "It has trams."} <= labels(alone).keys()
    assert "Big." not in labels(alone)
    assert ("Oslo", "It is cold.") in among.evidence
    assert sum(title == "Rome" for title, _ in among.evidence) == 2


def test_without_enough_information_the_evidence_is_what_retrieval_finds():
    (example,) = of_pages(Label.NOT_ENOUGH_INFO)
    assert example.label == "neutral"
    assert {title for title, _ in example.evidence} == {"Rome", "Oslo"}


def test_extended_and_passage_corpora(user_cache, tmp_path):
    pages = tmp_path / "pages.jsonl"
    pages.write_text('{"title": "Nowhere", "sentences": ["It is not."]}\n')
    with KnowledgeBase.open(demo_kb("bm25s")) as kb:
        assert with_documents(kb, []) is kb
        corpus = with_documents(kb, [pages])
        assert corpus.row("Nowhere") == -1 and corpus.row("Seth Meyers") == kb.row("Seth Meyers")
        assert missing_evidence(corpus, (("Nowhere", 0), ("Seth Meyers", 0))) is None
        assert missing_evidence(corpus, (("Nowhere", 1),)) == (
            "'Nowhere' has no sentence 1: it has 1, counted from 0"
        )
        assert corpus.search(["comedian"], 3) == kb.search(["comedian"], 3)
    passages = GivenDocuments([Document("Nowhere", ("It is not.",))])
    assert passages.row("Nowhere") == -1 and passages.row("Erewhon") is None
    assert [one.title for one in passages.search(["anything"], 5)[0]] == ["Nowhere"]
