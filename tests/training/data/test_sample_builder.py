"""Samples of gold claims: splits, negatives, and claims that are left out."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.gold import GoldClaim, Label
from admiral.kb import KnowledgeBase, demo_kb
from admiral.records import Document
from training.data.claim_sources import SourceClaim
from training.data.evidence_corpora import GivenDocuments
from training.data.sample_builder import BuildSettings, SampleBuilder
from training.data.samples import ProveSample, RerankSample, RetrieveSample
from trie.safe_tokenizer import TASKS

ALL = BuildSettings(splits=0)


@pytest.fixture(scope="module")
def kb():
    with KnowledgeBase.open(demo_kb("bm25s")) as opened:
        yield opened


def claim(*titles, ordered=False, name="1"):
    evidence = tuple((title, 0) for title in titles)
    return GoldClaim(name, "A claim on " + titles[0], Label.SUPPORTS, (evidence,), ordered=ordered)


def retrieved(kb, one, settings):
    built = list(SampleBuilder(kb, settings, 0).samples([SourceClaim(one)], ["retrieve"]))
    assert all(isinstance(sample, RetrieveSample) for sample in built)
    return [sample for sample in built if isinstance(sample, RetrieveSample)]


TITLES = ("Seth Meyers", "66th Primetime Emmy Awards", "Freddie Mercury", "Space Oddity")


@given(st.lists(st.sampled_from(TITLES), min_size=1, unique=True))
def test_every_split_of_the_gold_documents_is_a_sample(kb, titles):
    built = retrieved(kb, claim(*titles), ALL)
    assert [s.hop for s in built] == [
        count for count in range(len(titles)) for _ in combinations(titles, count)
    ]
    assert all(s.gold == tuple(titles) and s.targets() for s in built)
    # Each document is a target at each hop.
    for hop in range(len(titles)):
        ends = {one.title for s in built if s.hop == hop for one in s.targets(None)}
        assert ends == set(titles)


def test_inputs_are_filled_with_negatives_unless_short(kb):
    full = [s for s in retrieved(kb, claim(*TITLES), ALL) if s.hop]
    assert {len(s.evidence) for s in full} == {5}
    short = BuildSettings(splits=0, short=1.0)
    sizes = {len(s.evidence) for s in retrieved(kb, claim(*TITLES), short) if s.hop}
    assert len(sizes) > 1 and max(sizes) <= 5
    few = BuildSettings(splits=2, sentences=3)
    samples = retrieved(kb, claim(*TITLES), few)
    assert [s.hop for s in samples] == [0, 1, 1, 2, 2, 3, 3]
    assert all(len(s.evidence) >= 3 for s in samples if s.hop)


def test_unusable_claims_are_counted_and_reported(kb):
    reported, counts = [], Counter()
    settings = BuildSettings(missing="list")
    builder = SampleBuilder(kb, settings, report=reported.append)
    strange = GoldClaim("1", "No such thing.", None, ((("No such title", 0),),))
    beyond = GoldClaim("2", "No such sentence.", None, ((("Seth Meyers", 99),),))
    empty = GoldClaim("3", "Nothing is known of this.", None, ())
    claims = [SourceClaim(one) for one in (strange, beyond, empty)]
    assert list(builder.samples(claims, TASKS, counts)) == []
    assert counts == {"missing": 2, "without evidence": 1}
    count = len(kb.document("Seth Meyers").sentences)
    assert reported == [
        "claim '1' is left out: there is no document 'No such title'",
        f"claim '2' is left out: 'Seth Meyers' has no sentence 99: it has {count}, counted from 0",
    ]


def test_without_gold_sentences_evidence_names_the_missing_documents(kb):
    evidence = tuple((t, None) for t in ("66th Primetime Emmy Awards", "Seth Meyers", "Nowhere"))
    one = GoldClaim("1", "The host was a comedian.", Label.SUPPORTS, (evidence,))
    built = list(SampleBuilder(kb, ALL).samples([SourceClaim(one)], TASKS))
    assert all(isinstance(sample, RetrieveSample) for sample in built)
    samples = [s for s in built if isinstance(s, RetrieveSample)]
    assert {one.title for one in samples[0].targets()} == {title for title, _ in evidence}
    # A document that is not in the knowledge base can be a target, but not evidence.
    read = [pair for s in samples for pair in s.evidence]
    assert "Nowhere" not in {title for title, _ in read}
    named = [text for title, text in read if title == "66th Primetime Emmy Awards"]
    assert any("Seth Meyers" in text for text in named)


def test_alternative_documents_are_all_targets_of_hop_0_and_of_no_later_hop(kb):
    pages = tuple(((title, None),) for title in TITLES[:3])
    one = GoldClaim("1", "A claim on Seth Meyers", Label.SUPPORTS, pages)
    (sample,) = retrieved(kb, one, ALL)
    assert (sample.hop, sample.evidence) == (0, ())
    assert {target.title for target in sample.targets()} == set(TITLES[:3])
    # Of alternative sets of several documents, later hops complete the first.
    two = GoldClaim("2", one.claim, None, (tuple((t, 0) for t in TITLES[:2]), ((TITLES[2], 0),)))
    first, *later = retrieved(kb, two, ALL)
    assert {target.title for target in first.targets()} == set(TITLES[:3])
    assert {s.gold for s in later} == {TITLES[:2]}
    # A document of any set is neither a negative nor one that development claims may need.
    read = {title for sample in later for title, _ in sample.evidence}
    assert later and TITLES[2] not in read
    builder, counts = SampleBuilder(kb, ALL, excluded=[TITLES[2]]), Counter()
    assert list(builder.samples([SourceClaim(one), SourceClaim(two)], TASKS, counts)) == []
    assert counts == {"excluded": 2}


@pytest.mark.parametrize("label", [Label.SUPPORTS, Label.NOT_ENOUGH_INFO])
def test_evidence_of_claims_without_enough_information_is_insufficient(label):
    pages = (Document("Salt Mill", ("The Salt Mill is a mill.", "It burned in 1900.")),)
    one = GoldClaim("1", "The Salt Mill burned in 1900.", label, ((("Salt Mill", 1),),))
    builder = SampleBuilder(GivenDocuments(pages), ALL)
    samples = list(builder.samples([SourceClaim(one, pages)], ["prove"]))
    (prove,) = (sample for sample in samples if isinstance(sample, ProveSample))
    assert prove.evidence == (("Salt Mill", "It burned in 1900."),)
    assert prove.proof.sufficient is (label is Label.SUPPORTS)


def test_passages_of_a_claim_replace_the_knowledge_base(kb):
    passages = (
        Document("One", ("One is a thing.", "It is near Two.")),
        Document("Two", ("Two is another thing.",)),
        Document("Three", ("Three is wrong.", "Wholly.")),
    )
    one = GoldClaim("1", "A thing.", Label.SUPPORTS, ((("One", 1), ("Two", 0)),))
    built = list(SampleBuilder(kb, ALL).samples([SourceClaim(one, passages)], TASKS))
    titles = {title for sample in built for title, _ in sample.evidence}
    assert titles == {"One", "Two", "Three"}
    rerank = next(sample for sample in built if isinstance(sample, RerankSample))
    assert [(d.title, d.relevant) for d in rerank.documents] == [
        ("One", (1,)),
        ("Two", (0,)),
        ("Three", ()),
    ]
