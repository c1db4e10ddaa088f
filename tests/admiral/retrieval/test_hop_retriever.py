"""The hop retriever: set scores against slow sums, and decoding with the bundled checkpoint."""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from admiral.records import Document, Sentence
from admiral.retrieval.hop_retriever import (
    HopConstraint,
    HyperlinkHopRetriever,
    ScoredSequence,
    TitlesConstraint,
    TrieHopRetriever,
    score_document_sets,
)
from admiral.retrieval.stage_assembly import build_stages
from proofs.generation.proof_grammar import encode_claim, encode_source
from tests.proofs.conftest import byte_level
from tests.trie.helpers import following, language
from trie import SafeTokenizer, TokenTrie


def _tokens():
    # The digits are not in the order of their ids, so both orders are tested.
    words = ["<pad>", "</s>", "<unk>", "a", "]", "b", "[", "3", "1", "0", "2", "4"]
    backend = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    return SafeTokenizer(
        PreTrainedTokenizerFast(
            tokenizer_object=backend, pad_token="<pad>", eos_token="</s>", bos_token="</s>"
        )
    )


TOKENS, BYTES = _tokens(), byte_level()
A, B, OPEN, CLOSE, EOS = (*(TOKENS.single_token(mark) for mark in "ab[]"), TOKENS.eos)
titles = st.lists(
    st.lists(st.sampled_from([A, B, OPEN, CLOSE, CLOSE]), max_size=4), min_size=1, max_size=6
)
evidence = st.lists(st.sampled_from("xyz"), max_size=5).map(lambda docs: list(enumerate(docs)))


class Case(NamedTuple):
    titles: list[list[int]]
    identifiers: list[tuple[int, str]]
    chosen: int


@st.composite
def cases(draw):
    pairs = draw(evidence)
    count = draw(st.integers(0, len({d for _, d in pairs})))
    return Case(draw(titles), draw(st.permutations(pairs)), count)


def _legal(case):
    """Return all sequences, by enumeration, with their identifiers and rows."""
    sequences = {}
    for chosen in combinations(sorted(case.identifiers), case.chosen):
        if len({document for _, document in chosen}) < case.chosen:
            continue
        numbers = tuple(n for n, _ in chosen)
        for title in case.titles:
            rows = tuple(r for r, other in enumerate(case.titles) if other == title)
            head = [TOKENS.identifier(n) for n in numbers]
            sequences[(*head, OPEN, *title, CLOSE, EOS)] = (numbers, rows)
    return sequences


@given(cases())
def test_accepts_exactly_the_legal_sequences(case):
    constraint = HopConstraint(TokenTrie.build(case.titles), TOKENS, case.identifiers, case.chosen)
    sequences = language(constraint, EOS)
    seen = {ids: constraint.parse(ids) for ids in sequences}
    assert seen == _legal(case)
    for ids, state in sequences.items():
        assert constraint.rows(state) == constraint.parse(ids)[1]


@given(titles.map(lambda all: all[:4]), st.integers(1, 3))
def test_several_titles(titles, count):
    """All sequences of `count` titles are accepted, no others, and each is parsed correctly."""
    constraint = TitlesConstraint(TokenTrie.build(titles), TOKENS, count)
    legal = {}
    for chosen in product(titles, repeat=count):
        ids = (*(token for title in chosen for token in (OPEN, *title, CLOSE)), EOS)
        rows = tuple(
            tuple(r for r, other in enumerate(titles) if other == title) for title in chosen
        )
        legal.setdefault(ids, set()).add(rows)
    sequences = language(constraint, EOS)
    assert set(sequences) == set(legal)
    for ids, readings in legal.items():
        # Brackets in titles may allow several readings: the one with the shortest first titles.
        assert constraint.parse(ids) == min(
            readings, key=lambda rows: [len(titles[same[0]]) for same in rows]
        )


@pytest.mark.parametrize("ids", [[OPEN, A, CLOSE, EOS], [OPEN, A, CLOSE, OPEN, A, CLOSE], [EOS]])
def test_sequences_with_too_few_titles_do_not_parse(ids):
    constraint = TitlesConstraint(TokenTrie.build([[A]]), TOKENS, 2)
    with pytest.raises(ValueError, match=r"not ended|not allowed"):
        constraint.parse(ids)
    with pytest.raises(ValueError, match="at least one title"):
        TitlesConstraint(TokenTrie.build([[A]]), TOKENS, 0)


texts = st.sampled_from(["", "]", "[ a ]", "[x]", "a ]", "a", "</s>", "word " * 300]) | st.text()


@given(st.lists(texts, min_size=1, max_size=6), st.sampled_from("[]aé "))
def test_titles_may_be_any_text(titles, more):
    """Titles may be empty or extend another title by one character."""
    titles += [title + more for title in titles[:2]]
    spelt = BYTES.encode_batch(titles)
    constraint = HopConstraint(TokenTrie.build(spelt), BYTES, [], 0)
    marks = [BYTES.single_token(mark) for mark in "[]"]
    legal = {(marks[0], *ids, marks[1], BYTES.eos) for ids in spelt}
    sequences = language(constraint, BYTES.eos)
    assert set(sequences) == legal
    for row, ids in enumerate(spelt):
        assert row in constraint.parse([marks[0], *ids, marks[1], BYTES.eos])[1]


def test_a_bracket_may_end_the_title_or_belong_to_it():
    titles = [[A], [A, CLOSE], [A, CLOSE, B], [A, CLOSE]]
    constraint = HopConstraint(TokenTrie.build(titles), TOKENS, [], 0)
    state = constraint.walk([OPEN, A, CLOSE])
    assert list(following(constraint, state)) == sorted([EOS, CLOSE, B])
    assert constraint.parse([OPEN, A, CLOSE, EOS]) == ((), (0,))
    assert constraint.parse([OPEN, A, CLOSE, CLOSE, EOS]) == ((), (1, 3))
    assert constraint.parse([OPEN, A, CLOSE, B, CLOSE, EOS]) == ((), (2,))


def test_prefixes_that_cannot_be_completed_are_not_allowed():
    pairs = [(0, "x"), (1, "y"), (2, "y"), (3, "x")]
    constraint = HopConstraint(TokenTrie.build([[A]]), TOKENS, pairs, 2)
    allowed = following(constraint, constraint.start)
    assert list(allowed) == sorted(TOKENS.identifier(n) for n in (0, 1, 2))
    allowed = following(constraint, allowed[TOKENS.identifier(0)])
    assert list(allowed) == sorted(TOKENS.identifier(n) for n in (1, 2))


@pytest.mark.parametrize("count", [-1, 2])
def test_there_must_be_as_many_documents_as_identifiers(count):
    with pytest.raises(ValueError, match="documents"):
        HopConstraint(TokenTrie.build([[A]]), TOKENS, [(0, "x"), (1, "x")], count)


def test_invalid_arguments():
    with pytest.raises(ValueError, match="no titles"):
        HopConstraint(TokenTrie.build([]), TOKENS, [], 0)
    with pytest.raises(ValueError, match="same identifier"):
        HopConstraint(TokenTrie.build([[A]]), TOKENS, [(0, "x"), (0, "y")], 1)


@pytest.mark.parametrize("ids", [[], [OPEN], [OPEN, A, CLOSE], [OPEN, A, CLOSE, EOS, EOS], [A]])
def test_incomplete_sequences_do_not_parse(ids):
    constraint = HopConstraint(TokenTrie.build([[A]]), TOKENS, [], 0)
    with pytest.raises(ValueError, match=r"not ended|not allowed"):
        constraint.parse(ids)


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


def log_probability(system, source, target):
    """The sum of the target's log probabilities by transformers' own forward pass."""
    model = system.checkpoint.model.model
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
        system.checkpoint.model, tokens, system.kb.title_trie(tokens),
        system.kb.title_index,
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
        quick.kb, quick.checkpoint, quick.config.changed(hyperlinks=True)
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
