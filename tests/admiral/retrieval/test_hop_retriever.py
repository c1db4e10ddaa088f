"""The hop retriever: set scores against slow sums, and decoding with the bundled checkpoint."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from admiral.records import Document, Sentence
from admiral.retrieval.hop_retriever import (
    MIN_LOG_PROBABILITY,
    ForcedTitleScorer,
    HyperlinkHopRetriever,
    ScoredSequence,
    TrieHopRetriever,
    log_sum_exp,
    score_document_sets,
)
from admiral.retrieval.stage_assembly import build_stages
from proofs.generation.source_input import encode_claim, encode_source
from trie import TokenTrie

CLAIM = "The 66th Primetime Emmy Awards was hosted by an Iraqi comedian."
EVIDENCE = [
    Sentence("66th Primetime Emmy Awards", 0, "Seth Meyers hosted the show."),
    Sentence("Seth Meyers", 0, "Seth Meyers is an American comedian."),
    Sentence("Seth Meyers", 1, "He was born in 1973."),
]


TITLES = st.sampled_from(["a", "b", "c", "d"])
SEQUENCES = st.lists(
    st.builds(
        ScoredSequence,
        kept=st.lists(TITLES, max_size=2, unique=True).map(tuple),
        title=TITLES,
        score=st.floats(-30, 0),
    ),
    max_size=20,
)


@given(SEQUENCES)
def test_a_set_has_the_sum_of_the_probabilities_of_its_sequences(sequences):
    sums = {}
    for sequence in sequences:
        if sequence.title not in sequence.kept:
            key = frozenset((*sequence.kept, sequence.title))
            sums[key] = sums.get(key, 0.0) + math.exp(sequence.score)
    document_sets = score_document_sets(sequences)
    assert {frozenset(s.titles) for s in document_sets} == set(sums)
    assert len(document_sets) == len(sums)
    for document_set in document_sets:
        total = sums[frozenset(document_set.titles)]
        assert math.exp(document_set.score) == pytest.approx(total)
    scores = [s.score for s in document_sets]
    assert scores == sorted(scores, reverse=True)


def test_titles_are_in_the_order_of_the_most_probable_sequence():
    sequences = [
        ScoredSequence(("a", "b"), "c", -5.0),
        ScoredSequence(("c", "b"), "a", -1.0),
        ScoredSequence(("a",), "a", -0.1),
    ]
    (only,) = score_document_sets(sequences)
    assert only.titles == ("c", "b", "a")
    assert only.score == pytest.approx(math.log(math.exp(-5) + math.exp(-1)))


def test_log_sum_exp_does_not_overflow():
    assert log_sum_exp([]) == -math.inf
    assert log_sum_exp([-math.inf, -math.inf]) == -math.inf
    assert log_sum_exp([1e4, 1e4]) == pytest.approx(1e4 + math.log(2))


def log_probability(system, source, target):
    """The sum of the target's log probabilities by transformers' own forward pass."""
    model = system.checkpoint.model._model
    with torch.inference_mode():
        ids = torch.tensor([[system.checkpoint.tokens.start, *target[:-1]]])
        logits = model(input_ids=torch.tensor([source]), decoder_input_ids=ids).logits[0]
    scores = logits.log_softmax(-1)
    return sum(float(scores[i, token]) for i, token in enumerate(target))


def test_sets_have_the_size_of_the_hop(system):
    for hop in (0, 1, 2):
        (sets,) = system.stages.hop_retriever.expand([CLAIM], [EVIDENCE], [hop])
        assert sets
        for document_set in sets:
            assert len(set(document_set.titles)) == hop + 1
            assert all(system.kb.row(title) is not None for title in document_set.titles)
            assert set(document_set.titles[:-1]) <= {s.title for s in EVIDENCE}


def test_set_scores_are_the_models_own(system):
    """Over two titles and one document everything can be written down."""
    tokens = system.checkpoint.tokens
    names = ["Rome", "Seth Meyers"]

    class Titles:
        def title(self, row):
            return names[row]

    trie = TokenTrie.build([tokens.encode(name) for name in names])
    retriever = TrieHopRetriever(system.checkpoint.model, tokens, trie, Titles(), beam_size=8)
    evidence = EVIDENCE[1:]
    (sets,) = retriever.expand([CLAIM], [evidence], [1])
    (only,) = sets  # the other title is the evidence's own
    source = encode_source(
        tokens, "retrieve", CLAIM, [(s.title, s.text) for s in evidence], 512, 1
    ).ids
    targets = [
        [
            tokens.identifier(i),
            tokens.single_token("["),
            *tokens.encode("Rome"),
            tokens.single_token("]"),
            tokens.eos,
        ]
        for i in (0, 1)
    ]
    scores = torch.tensor([log_probability(system, source, t) for t in targets])
    assert only.titles == ("Seth Meyers", "Rome")
    assert only.score == pytest.approx(float(scores.logsumexp(0)), abs=1e-3)


def variant(system, name):
    tokens = system.checkpoint.tokens
    return TrieHopRetriever(
        system.checkpoint.model, tokens, system.kb.title_trie(tokens), system.kb,
        beam_size=8, variant=name,
    )  # fmt: skip


@pytest.mark.parametrize("hop", [1, 2])
def test_top_1_reads_the_best_sentence_alone(system, hop):
    (sets,) = variant(system, "top-1").expand([CLAIM], [EVIDENCE], [hop])
    assert [s.titles[0] for s in sets] == [EVIDENCE[0].title] * len(sets)
    assert {len(s.titles) for s in sets} == {2}
    assert [sets] == variant(system, "ours").expand([CLAIM], [EVIDENCE[:1]], [1])


@pytest.mark.parametrize("hop", [1, 2])
def test_not_joint_scores_the_title_alone(system, hop):
    (sets,) = variant(system, "not-joint").expand([CLAIM], [EVIDENCE], [hop])
    kept = ("66th Primetime Emmy Awards", "Seth Meyers")[:hop]
    assert sets
    assert {s.titles[:-1] for s in sets} == {kept}
    assert len({s.titles[-1] for s in sets}) == len(sets)
    tokens = system.checkpoint.tokens
    source = encode_source(
        tokens, "retrieve", CLAIM, [(s.title, s.text) for s in EVIDENCE], 512, 0
    ).ids
    target = [
        tokens.single_token("["),
        *tokens.encode(sets[0].titles[-1]),
        tokens.single_token("]"),
    ]
    score = log_probability(system, source, [*target, tokens.eos])
    assert sets[0].score == pytest.approx(score, abs=1e-3)


def test_joint_docs_generates_all_titles(system):
    (sets,) = variant(system, "joint-docs").expand([CLAIM], [EVIDENCE], [1])
    assert sets
    assert {len(set(s.titles)) for s in sets} == {2}
    assert len({frozenset(s.titles) for s in sets}) == len(sets)
    tokens = system.checkpoint.tokens
    source = encode_source(
        tokens, "retrieve", CLAIM, [(s.title, s.text) for s in EVIDENCE], 512, 1
    ).ids
    opening, closing = tokens.single_token("["), tokens.single_token("]")
    target = [id for title in sets[0].titles for id in (opening, *tokens.encode(title), closing)]
    # The other order of the same titles may add to the score of the set.
    assert sets[0].score >= log_probability(system, source, [*target, tokens.eos]) - 1e-3


@pytest.mark.parametrize("name", ["top-1", "not-joint", "joint-docs"])
def test_variants_are_the_same_at_hop_zero(system, name):
    expected = variant(system, "ours").expand([CLAIM], [()], [0])
    assert variant(system, name).expand([CLAIM], [()], [0]) == expected
    assert variant(system, name).expand([CLAIM], [()], [1]) == [[]]


def test_no_evidence_is_a_dead_end(system):
    assert system.stages.hop_retriever.expand([CLAIM, CLAIM], [[], EVIDENCE], [1, 1])[0] == []


def test_hop_zero_reads_the_claim_alone(system):
    tokens = system.checkpoint.tokens
    assert (
        encode_source(tokens, "retrieve", CLAIM, [], 512, 0).ids
        == encode_claim(tokens, "retrieve", CLAIM, 512, 0)[0]
    )
    (with_evidence,) = system.stages.hop_retriever.expand([CLAIM], [EVIDENCE], [0])
    (without,) = system.stages.hop_retriever.expand([CLAIM], [[]], [0])
    assert with_evidence == without


class LinkedDocuments:
    """Documents whose first sentence has two links; "Plain" has none."""

    def document(self, title):
        links = () if title == "Plain" else (("Rome", "Paris"), ())
        return Document(title, ("One.", "Two."), links)


class Recorder:
    """Record the texts of the evidence."""

    max_evidence = 7

    def __init__(self):
        self.texts = []

    def expand(self, claims, evidence, hops):
        self.texts = [s.text for sentences in evidence for s in sentences]
        return [[] for _ in claims]


def test_links_are_appended_to_their_sentence():
    recorder = Recorder()
    retriever = HyperlinkHopRetriever(recorder, LinkedDocuments())
    sentences = [Sentence("A", 0, "One."), Sentence("A", 1, "Two."), Sentence("Plain", 0, "One.")]
    retriever.expand([CLAIM], [sentences], [1])
    assert recorder.texts == ["One. Rome, Paris", "Two.", "One."]


def test_the_limits_are_those_of_the_retriever():
    retriever = HyperlinkHopRetriever(Recorder(), LinkedDocuments())
    assert (retriever.max_evidence, retriever.claim_limits) == (7, {})


def test_the_setting_changes_the_scores(quick):
    """End to end, on a sentence of the demo corpus with links."""
    documents = (quick.kb.document_at(row) for row in range(len(quick.kb)))
    linked = next(
        Sentence(document.title, index, document.sentences[index])
        for document in documents
        for index, links in enumerate(document.links)
        if len(links) > 1
    )
    with_links = build_stages(
        quick.kb, quick.checkpoint, replace(quick.config, hyperlinks=True)
    ).hop_retriever
    without = quick.stages.hop_retriever
    (document_sets,) = with_links.expand([CLAIM], [[linked]], [1])
    assert document_sets
    assert [document_sets] != without.expand([CLAIM], [[linked]], [1])
    assert with_links.expand([CLAIM], [()], [0]) == without.expand([CLAIM], [()], [0])


NAMES = ["Rome", "Seth Meyers", "66th Primetime Emmy Awards", "Conan O'Brien", "Late Night"]


class Titles:
    def title(self, row):
        return NAMES[row]


def small_trie(system):
    return TokenTrie.build([system.checkpoint.tokens.encode(name) for name in NAMES])


def scorer(system, *, normalise=False, variant="ours"):
    checkpoint = system.checkpoint
    trie = small_trie(system)
    return ForcedTitleScorer(checkpoint.model, checkpoint.tokens, trie, normalise, variant)


@pytest.mark.parametrize("normalise", [False, True])
def test_titles_from_the_claim_alone_have_the_scores_of_beam_search(system, normalise):
    checkpoint = system.checkpoint
    retriever = TrieHopRetriever(
        checkpoint.model, checkpoint.tokens, small_trie(system), Titles(),
        title_beams=8, normalise=normalise,
    )  # fmt: skip
    (sets,) = retriever.expand([CLAIM], [[]], [0])
    expected = {s.titles[0]: s.score for s in sets}
    (scores,) = scorer(system, normalise=normalise).score([CLAIM], [[]], [0], [NAMES])
    assert set(expected) == set(NAMES)
    assert scores == {
        title: pytest.approx(max(score, MIN_LOG_PROBABILITY), abs=0.05)
        for title, score in expected.items()
    }


def test_normalised_over_the_trie_one_new_document_is_certain(system):
    # Every sequence names the evidence's only document and one title, possibly the same one.
    (scores,) = scorer(system, normalise=True).score([CLAIM], [EVIDENCE[1:]], [1], [NAMES])
    assert scores["Seth Meyers"] == pytest.approx(0.0, abs=1e-6)
    others = [score for title, score in scores.items() if title != "Seth Meyers"]
    assert len(others) == 4
    assert log_sum_exp(others) <= 1e-6


def test_sentences_count_for_their_documents(system):
    (scores,) = scorer(system, normalise=True).score([CLAIM], [EVIDENCE], [1], [NAMES])
    named = [scores["Seth Meyers"], scores["66th Primetime Emmy Awards"]]
    assert log_sum_exp(named) >= -1e-6  # exactly one of the two is named, and both may be titles
    (both,) = scorer(system, normalise=True).score([CLAIM], [EVIDENCE], [2], [NAMES])
    assert both["Seth Meyers"] == pytest.approx(0.0, abs=1e-6)
    assert both["66th Primetime Emmy Awards"] == pytest.approx(0.0, abs=1e-6)


def test_scores_do_not_depend_on_the_batch(system):
    stage = scorer(system)
    together = stage.score(
        [CLAIM, "Rome is old.", CLAIM], [EVIDENCE, [], EVIDENCE[:1]], [1, 1, 1], [NAMES, NAMES, []]
    )
    assert together[1] == {}  # no evidence to hop from
    assert together[2] == {}
    assert [together[0]] == stage.score([CLAIM], [EVIDENCE], [1], [NAMES])


def test_a_title_outside_the_trie_is_improbable_when_normalised(system):
    names = ["66th Primetime Emmy Awards", "Atlantis"]
    (scores,) = scorer(system, normalise=True).score([CLAIM], [[]], [0], [names])
    assert scores["Atlantis"] == MIN_LOG_PROBABILITY < scores["66th Primetime Emmy Awards"] <= 0.0
    (scores,) = scorer(system).score([CLAIM], [[]], [0], [["Atlantis"]])
    assert MIN_LOG_PROBABILITY <= scores["Atlantis"] < 0.0


def test_a_long_title_is_scored_by_its_beginning(system):
    (scores,) = scorer(system).score([CLAIM], [[]], [0], [["very " * 2000]])
    assert all(math.isfinite(score) for score in scores.values())


@pytest.mark.parametrize("variant", ["top-1", "not-joint"])
def test_variants_of_the_method_have_scores_too(system, variant):
    (scores,) = scorer(system, variant=variant).score([CLAIM], [EVIDENCE], [2], [NAMES])
    assert set(scores) == set(NAMES)
    assert all(MIN_LOG_PROBABILITY <= score <= 1e-6 for score in scores.values())
