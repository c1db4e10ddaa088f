"""The grammar of the hop retriever, compared with enumerated languages."""

from __future__ import annotations

import gc
from itertools import combinations, product
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from admiral.retrieval.hop_grammar import HopConstraint, TitlesConstraint
from tests.proofs.conftest import byte_level
from tests.trie.helpers import following, language
from trie import SafeTokenizer, TokenTrie, TrieConstraint, UpdatedTrie
from trie import automaton as module


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


@given(cases(), st.booleans())
def test_accepts_exactly_the_legal_sequences(case, updated):
    trie = TokenTrie.build(case.titles)
    if updated:  # the last titles were added, and another one was removed
        base = TokenTrie.build([*case.titles[:2], [A, A, B]])
        trie = UpdatedTrie(base, case.titles[2:], [len(case.titles[:2])])
    constraint = HopConstraint(trie, TOKENS, case.identifiers, case.chosen)
    sequences = language(constraint, EOS)
    seen = {ids: constraint.parse(ids) for ids in sequences}
    if updated:
        seen = {
            ids: (numbers, tuple(row - (row > 2) for row in rows))
            for ids, (numbers, rows) in seen.items()
        }
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
    with pytest.raises(ValueError, match="end token"):
        HopConstraint(TokenTrie.build([[A, EOS]]), TOKENS, [], 0)


@pytest.mark.parametrize("ids", [[], [OPEN], [OPEN, A, CLOSE], [OPEN, A, CLOSE, EOS, EOS], [A]])
def test_incomplete_sequences_do_not_parse(ids):
    constraint = HopConstraint(TokenTrie.build([[A]]), TOKENS, [], 0)
    with pytest.raises(ValueError, match=r"not ended|not allowed"):
        constraint.parse(ids)


def test_constraints_share_their_automaton_and_release_it():
    trie = TokenTrie.build([[A], [B, A]])
    first, second = (HopConstraint(trie, TOKENS, [(0, "x")], n) for n in (0, 1))
    listed = TrieConstraint(trie, EOS)
    opened = first.walk([OPEN])
    allowed = following(first, opened)
    size = first.automaton.size
    assert following(second, second.walk([TOKENS.identifier(0), OPEN])) == allowed
    assert first.automaton is second.automaton is listed.automaton
    assert second.automaton.size < size + 6
    before = len(module._SHARED)
    del trie, first, second, listed
    gc.collect()
    assert len(module._SHARED) < before


def test_the_shared_automaton_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "_MAX_SHARED_STATES", 8)
    trie = TokenTrie.build([[A, B, A, A, A, B]])
    first, second = (HopConstraint(trie, TOKENS, [], 0) for _ in range(2))
    assert first.automaton is second.automaton
    ids = [OPEN, A, B, A, A, A, B, CLOSE, EOS]
    assert first.parse(ids) == ((), (0,))
    third = HopConstraint(trie, TOKENS, [], 0)
    assert third.automaton is not first.automaton
    assert first.parse(ids) == second.parse(ids) == third.parse(ids)
