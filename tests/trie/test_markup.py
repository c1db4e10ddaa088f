import gc
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from trie import Tokens
from trie import markup as module
from trie.markup import HopConstraint
from trie.token_trie import TokenTrie


def _tokens() -> Tokens:
    # The digits stand in another order than their ids: both orders are tested.
    words = ["<pad>", "</s>", "<unk>", "a", "]", "b", "[", "3", "1", "0", "2", "4"]
    backend = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    return Tokens(
        PreTrainedTokenizerFast(
            tokenizer_object=backend, pad_token="<pad>", eos_token="</s>", bos_token="</s>"
        )
    )


TOKENS = _tokens()
A, B, OPEN, CLOSE, EOS = (*(TOKENS.symbol(mark) for mark in "ab[]"), TOKENS.eos)
titles = st.lists(
    st.lists(st.sampled_from([A, B, OPEN, CLOSE, CLOSE]), max_size=4), min_size=1, max_size=6
)
evidence = st.lists(st.sampled_from("xyz"), max_size=5).map(lambda docs: list(enumerate(docs)))


class Case(NamedTuple):
    titles: list[list[int]]
    identifiers: list[tuple[int, str]]
    count: int


@st.composite
def cases(draw: st.DrawFn) -> Case:
    pairs = draw(evidence)
    count = draw(st.integers(0, len({d for _, d in pairs})))
    return Case(draw(titles), draw(st.permutations(pairs)), count)


def _legal(case: Case) -> dict[tuple[int, ...], tuple[tuple[int, ...], tuple[int, ...]]]:
    """All sequences by brute force, with what they mean."""
    found: dict[tuple[int, ...], tuple[tuple[int, ...], tuple[int, ...]]] = {}
    for chosen in combinations(sorted(case.identifiers), case.count):
        if len({document for _, document in chosen}) < case.count:
            continue
        numbers = tuple(n for n, _ in chosen)
        for title in case.titles:
            rows = tuple(r for r, other in enumerate(case.titles) if other == title)
            head = [TOKENS.identifier(n) for n in numbers]
            found[(*head, OPEN, *title, CLOSE, EOS)] = (numbers, rows)
    return found


@given(cases())
def test_accepts_just_the_legal_sequences(case: Case) -> None:
    constraint = HopConstraint(TokenTrie.build(case.titles), TOKENS, case.identifiers, case.count)
    legal = _legal(case)
    seen = {}
    todo: list[tuple[tuple[int, ...], int]] = [((), constraint.start)]
    while todo:
        ids, state = todo.pop()
        allowed = constraint.allowed(state)
        assert allowed.dtype == np.int64
        assert np.all(allowed[1:] > allowed[:-1])
        if ids and ids[-1] == EOS:
            assert allowed.size == 0
            seen[ids] = constraint.rows(state)
        else:
            assert allowed.size  # no dead ends
            with pytest.raises(ValueError, match="not ended"):
                constraint.rows(state)
        for token in range(TOKENS.size):
            if token in allowed:
                todo.append(((*ids, token), constraint.advance(state, token)))
            else:
                with pytest.raises(ValueError, match="not allowed"):
                    constraint.advance(state, token)
    assert seen == {ids: rows for ids, (_, rows) in legal.items()}
    assert {ids: constraint.parse(ids) for ids in seen} == legal


def test_a_bracket_may_close_the_title_or_belong_to_it() -> None:
    titles = [[A], [A, CLOSE], [A, CLOSE, B], [A, CLOSE]]
    constraint = HopConstraint(TokenTrie.build(titles), TOKENS, [], 0)
    state = constraint.start
    for token in (OPEN, A, CLOSE):
        state = constraint.advance(state, token)
    assert constraint.allowed(state).tolist() == sorted([EOS, CLOSE, B])
    assert constraint.parse([OPEN, A, CLOSE, EOS]) == ((), (0,))
    assert constraint.parse([OPEN, A, CLOSE, CLOSE, EOS]) == ((), (1, 3))
    assert constraint.parse([OPEN, A, CLOSE, B, CLOSE, EOS]) == ((), (2,))


def test_prefixes_that_cannot_be_completed_are_not_entered() -> None:
    pairs = [(0, "x"), (1, "y"), (2, "y"), (3, "x")]
    constraint = HopConstraint(TokenTrie.build([[A]]), TOKENS, pairs, 2)
    allowed = constraint.allowed(constraint.start).tolist()
    assert allowed == sorted(TOKENS.identifier(n) for n in (0, 1, 2))
    state = constraint.advance(constraint.start, TOKENS.identifier(0))
    assert constraint.allowed(state).tolist() == sorted(TOKENS.identifier(n) for n in (1, 2))


@pytest.mark.parametrize("count", [-1, 2])
def test_too_few_documents(count: int) -> None:
    with pytest.raises(ValueError, match="documents"):
        HopConstraint(TokenTrie.build([[A]]), TOKENS, [(0, "x"), (1, "x")], count)


def test_impossible_arguments() -> None:
    with pytest.raises(ValueError, match="no titles"):
        HopConstraint(TokenTrie.build([]), TOKENS, [], 0)
    with pytest.raises(ValueError, match="same identifier"):
        HopConstraint(TokenTrie.build([[A]]), TOKENS, [(0, "x"), (0, "y")], 1)
    with pytest.raises(ValueError, match="end token"):
        HopConstraint(TokenTrie.build([[A, EOS]]), TOKENS, [], 0)


@pytest.mark.parametrize("ids", [[], [OPEN], [OPEN, A, CLOSE], [OPEN, A, CLOSE, EOS, EOS], [A]])
def test_incomplete_sequences_do_not_parse(ids: list[int]) -> None:
    constraint = HopConstraint(TokenTrie.build([[A]]), TOKENS, [], 0)
    with pytest.raises(ValueError, match=r"not ended|not allowed"):
        constraint.parse(ids)


def test_constraints_share_what_a_trie_allows_and_let_go_of_it() -> None:
    trie = TokenTrie.build([[A], [B, A]])
    first, second = (HopConstraint(trie, TOKENS, [(0, "x")], n) for n in (0, 1))
    root = first.advance(first.start, OPEN)
    assert first.allowed(root) is second.allowed(root)
    with pytest.raises(ValueError, match="read-only"):
        first.allowed(root)[0] = 0
    assert trie in module._SHARED
    before = len(module._SHARED)
    del trie, first, second
    gc.collect()
    assert len(module._SHARED) < before


def test_the_shared_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SHARED_STATES", 1)
    constraint = HopConstraint(TokenTrie.build([[A, B, A]]), TOKENS, [], 0)
    state = constraint.start
    for token in (OPEN, A, B, A, CLOSE):
        assert constraint.allowed(state).tolist() == [token]
        state = constraint.advance(state, token)
    assert len(constraint._title_allowed) == 1
