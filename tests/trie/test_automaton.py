"""Compare automata with brute-force enumeration of the grammars' sequences."""

import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.retrieval.hop_retriever import Identifiers
from tests.trie.helpers import following, language
from trie import (
    Alternatives,
    Automaton,
    BoundedTrieSequence,
    Deferred,
    FixedTokens,
    GrammarConstraint,
    SpanFrom,
    TokenSet,
    TokenTrie,
    TrieConstraint,
    TrieSequence,
    automaton,
    repeated,
)

EOS = 3
token = st.sampled_from([0, 1, 2, 4, 5])
ids = st.lists(token, max_size=3).map(tuple)
sequences = st.lists(ids, min_size=1, max_size=5)


def _joined(parts):
    found = {()}
    for part in parts:
        found = {(*a, *b) for a in found for b in part}
    return found


@st.composite
def items(draw, depth=2):
    """A small grammar and the set of its sequences."""
    kinds = ["fixed", "any", "trie", "within", "stretch"]
    kind = draw(st.sampled_from(kinds + ["one of", "sequence", "several"] * (depth > 0)))
    if kind == "fixed":
        tokens = draw(ids)
        return [FixedTokens(draw(st.sampled_from([tokens, list(tokens)])))], {tokens}
    if kind == "any":
        some = draw(st.sets(token, min_size=1))
        return [TokenSet(some)], {(one,) for one in some}
    if kind == "trie":
        listed = draw(sequences)
        return [TrieSequence(TokenTrie.build(listed))], set(listed)
    if kind == "within":
        listed = draw(sequences)
        most = draw(st.integers(min(map(len, listed)), 4))
        short = {one for one in listed if len(one) <= most}
        return [BoundedTrieSequence(TokenTrie.build(listed)).within(most)], short
    if kind == "stretch":
        text = tuple(draw(st.lists(token, max_size=4)))
        first = draw(st.integers(0, len(text)))
        ends = draw(st.sets(st.integers(first, len(text)), min_size=1))
        return [SpanFrom(list(text), first, sorted(ends))], {text[first:end] for end in ends}
    parts = draw(st.lists(items(depth - 1), min_size=1, max_size=3))
    if kind == "one of":
        return [Alternatives(*(one for one, _ in parts))], set().union(*(lang for _, lang in parts))
    if kind == "sequence":
        return [item for one, _ in parts for item in one], _joined([lang for _, lang in parts])
    (grammar, lang), between, most = parts[0], draw(ids), draw(st.integers(1, 3))
    times = [_joined([lang, *[{between}, lang] * more]) for more in range(most)]
    return repeated(grammar, most, [FixedTokens(between)]), set().union(*times)


@given(st.lists(items(), min_size=1, max_size=2))
def test_accepts_just_what_is_declared(cases):
    """Two grammars share one automaton."""
    shared = Automaton(EOS)
    for grammar, expected in cases:
        if len(expected) > 300:
            continue
        constraint = GrammarConstraint(grammar, shared)
        found = language(constraint, EOS)
        assert set(found) == {(*one, EOS) for one in expected}
        assert constraint.start == GrammarConstraint(grammar, shared).start
        for sequence, state in found.items():
            assert constraint.walk(sequence) == state
            assert constraint.value(state) >= 0
            with pytest.raises(ValueError, match="not ended"):
                constraint.value(constraint.walk(sequence[:-1]))


@given(st.lists(st.tuples(token, st.sampled_from("xyz")), max_size=5), st.integers(0, 3))
def test_identifiers_of_distinct_documents(pairs, count):
    pairs = list(dict(pairs).items())
    tokens, documents = [t for t, _ in pairs], [d for _, d in pairs]
    if count > len(set(documents)):
        with pytest.raises(ValueError, match="documents"):
            Identifiers(tokens, documents, count)
        return
    segment = Identifiers(tokens, documents, count)
    assert segment == Identifiers(tokens, documents, count)
    chosen = [[(t,) for t, d in pairs if d == document] for document in sorted(set(documents))]
    legal = set()
    for mask in range(1 << len(pairs)):
        some = [pair for place, pair in enumerate(pairs) if mask >> place & 1]
        if len(some) == len({d for _, d in some}) == count:
            legal.add(tuple(t for t, _ in some))
    assert chosen or legal == {()}
    constraint = GrammarConstraint([segment], Automaton(EOS))
    assert set(language(constraint, EOS)) == {(*one, EOS) for one in legal}
    # Complete choices have the same state, whichever identifiers were chosen.
    assert len({constraint.value(s) for s in language(constraint, EOS).values()}) == 1


def _sequences(count, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(4, 5000, (count, 4)).tolist()


def test_a_batch_equals_single_states():
    sequences = _sequences(500)
    constraint = GrammarConstraint([TrieSequence(TokenTrie.build(sequences))], Automaton(EOS))
    states = [
        constraint.walk(sequence[:depth]) for depth in (0, 3, 4, 1) for sequence in sequences[:9]
    ]
    states += [constraint.walk([*sequences[0], EOS])] * 2
    batch = constraint.transitions(np.array(states))
    alone = [following(constraint, state) for state in states]
    assert batch.sizes.tolist() == [len(one) for one in alone]
    assert batch.tokens.tolist() == [token for one in alone for token in one]
    assert batch.next_states.tolist() == [state for one in alone for state in one.values()]
    empty = constraint.transitions(np.empty(0, dtype=np.int64))
    assert empty.tokens.size == empty.next_states.size == empty.sizes.size == 0


def test_fixed_tokens_pass_the_value_on():
    trie = TokenTrie.build([[4, 5], [4]])
    constraint = GrammarConstraint(
        [FixedTokens((7, 8)), TrieSequence(trie), FixedTokens((8, 7))], Automaton(EOS)
    )
    state = constraint.walk([7, 8, 4, 5, 8, 7, EOS])
    assert trie.rows(constraint.value(state)).tolist() == [0]


def test_equal_grammars_have_the_same_state():
    shared = Automaton(EOS)
    choices = [Alternatives([TokenSet(tokens)], [FixedTokens((1,))]) for tokens in ([2, 1], [1, 2])]
    assert len({shared.state([choice]) for choice in choices}) == 1


@pytest.mark.parametrize(
    "item",
    [
        FixedTokens((EOS,)),
        TokenSet([EOS, 1]),
        SpanFrom((EOS, 2), 0, (2,)),
        TrieSequence(TokenTrie.build([[1], [EOS]])),
        Alternatives([], [Identifiers([EOS], "x", 1)]),
        Deferred(lambda _: [FixedTokens((EOS,))]),
    ],
)
def test_the_end_token_is_rejected_where_it_is_read(item):
    constraint = GrammarConstraint([FixedTokens((1,)), item], Automaton(EOS))
    with pytest.raises(ValueError, match="end token 3"):
        constraint.walk([1, 1])


def test_a_trie_with_the_end_token_is_rejected():
    with pytest.raises(ValueError, match="end token 3"):
        TrieConstraint(TokenTrie.build([[1], [1, EOS, 2]]), EOS)


def test_empty_choices_are_rejected():
    with pytest.raises(ValueError, match="no tokens"):
        TokenSet([])
    with pytest.raises(ValueError, match="no sequences"):
        TrieSequence(TokenTrie.build([]))
    with pytest.raises(ValueError, match="no grammars"):
        Alternatives()
    with pytest.raises(ValueError, match="shortest sequence has 2 tokens, more than 1"):
        BoundedTrieSequence(TokenTrie.build([[1, 2], [1, 2, 4]])).within(1)
    with pytest.raises(ValueError, match="at least 1"):
        repeated([FixedTokens((1,))], 0)
    for ends in ((), (0,), (3,)):
        with pytest.raises(ValueError, match="a span needs an end"):
            SpanFrom((1, 2), 1, ends)


def test_transitions_that_are_not_kept_are_computed_again(monkeypatch):
    monkeypatch.setattr(automaton, "_MAX_KEPT", 2)
    sequences = _sequences(50)
    constraint = TrieConstraint(TokenTrie.build(sequences), EOS)
    for _ in range(2):
        assert [row for one in sequences for row in constraint.parse([*one, EOS])]
    assert len(constraint.automaton._kept) <= 2


def test_an_automaton_is_thread_safe():
    sequences = _sequences(400)
    constraint = GrammarConstraint([TrieSequence(TokenTrie.build(sequences))], Automaton(EOS))
    states = []

    def read():
        states.append([constraint.walk([*sequence, EOS]) for sequence in sequences])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert states == [[constraint.walk([*sequence, EOS]) for sequence in sequences]] * 4


def test_a_thousand_optional_parts():
    """Each part may be left out, so each may come first."""
    parts = [Alternatives((), (), [FixedTokens([token])]) for token in range(4, 1004)]
    constraint = GrammarConstraint(parts, Automaton(EOS))
    tokens = following(constraint, constraint.start)
    assert sorted(tokens) == sorted({EOS, *range(4, 1004)})
    assert constraint.value(constraint.walk([5, 900, 1003, EOS])) == 0
    with pytest.raises(ValueError, match="not allowed"):
        constraint.walk([900, 5])


lists = st.lists(st.lists(st.sampled_from([0, 2, 4, 5]), max_size=4), min_size=1, max_size=8)


@given(lists)
def test_accepts_exactly_the_sequences_of_the_trie(sequences):
    constraint = TrieConstraint(TokenTrie.build(sequences), EOS)
    seen = {ids: constraint.rows(state) for ids, state in language(constraint, EOS).items()}
    assert seen == {
        (*sequence, EOS): tuple(r for r, other in enumerate(sequences) if other == sequence)
        for sequence in sequences
    }
    assert constraint.longest == max(map(len, seen))
    for ids, rows in seen.items():
        assert constraint.parse([*ids, EOS, 0, 0]) == rows
        with pytest.raises(ValueError, match="not ended"):
            constraint.parse(ids[:-1])
        for token in {0, 1, 2, 4, 5, 6, -1, 2**40}:
            if not any(other[: len(ids)] == (*ids[:-1], token) for other in seen):
                with pytest.raises(ValueError, match=f"token {token} is not allowed"):
                    constraint.parse([*ids[:-1], token])
