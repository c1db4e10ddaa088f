"""Declarations against all of their sequences, spelt out by brute force."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admiral.retrieval.identifiers import Identifiers
from tests.trie.walking import following, language
from trie import (
    AnyOf,
    Automaton,
    Composed,
    Declaration,
    Fixed,
    InTrie,
    Limited,
    OneOf,
    Stretch,
    Then,
    TokenTrie,
    UpdatedTrie,
    copies,
    several,
    spans,
)
from trie.constraints import automaton as module

EOS = 3
token = st.sampled_from([0, 1, 2, 4, 5])
ids = st.lists(token, max_size=3).map(tuple)
titles = st.lists(ids, min_size=1, max_size=5)

Language = set[tuple[int, ...]]


def _joined(parts: list[Language]) -> Language:
    found: Language = {()}
    for part in parts:
        found = {(*a, *b) for a in found for b in part}
    return found


def _copied(text: tuple[int, ...], most_words: int, most: int) -> Language:
    """All spans of a text whose words have two tokens, but for the last one."""
    cuts = [*range(0, len(text), 2), len(text)]
    words = [text[a:b] for a, b in pairwise(cuts)]
    found = {sum(words[i:j], ()) for j in range(len(words) + 1) for i in range(j)}
    return {s for s in found if len(s) <= most and -(-len(s) // 2) <= most_words}


@st.composite
def items(draw: st.DrawFn, depth: int = 2) -> tuple[Declaration, Language]:
    """A small declaration, and what it means."""
    kinds = ["fixed", "any", "trie", "updated", "within", "within updated", "stretch", "copied"]
    kind = draw(st.sampled_from(kinds + ["one of", "sequence", "several"] * (depth > 0)))
    if kind == "fixed":
        tokens = draw(ids)
        return [Fixed(draw(st.sampled_from([tokens, list(tokens)])))], {tokens}
    if kind == "any":
        some = draw(st.sets(token, min_size=1))
        return [AnyOf(some)], {(one,) for one in some}
    if kind == "trie":
        listed = draw(titles)
        return [InTrie(TokenTrie.build(listed))], set(listed)
    if kind == "updated":
        listed, more, gone = draw(titles), draw(titles), draw(titles)
        trie = UpdatedTrie(TokenTrie.build([*gone, *listed])).add(more)
        return [InTrie(trie.remove(range(len(gone))))], {*listed, *more}
    if kind == "within updated":
        listed, more, gone = draw(titles), draw(titles), draw(titles)
        trie = UpdatedTrie(TokenTrie.build([*gone, *listed])).add(more).remove(range(len(gone)))
        most = draw(st.integers(min(map(len, listed + more)), 4))
        short = {one for one in listed + more if len(one) <= most}
        return [Limited(trie).within(most)], short
    if kind == "within":
        listed = draw(titles)
        most = draw(st.integers(min(map(len, listed)), 4))
        short = {one for one in listed if len(one) <= most}
        return [Limited(TokenTrie.build(listed)).within(most)], short
    if kind == "stretch":
        text = tuple(draw(st.lists(token, max_size=4)))
        first = draw(st.integers(0, len(text)))
        ends = draw(st.sets(st.integers(first, len(text)), min_size=1))
        return [Stretch(list(text), first, sorted(ends))], {text[first:end] for end in ends}
    if kind == "copied":
        text = tuple(draw(st.lists(token, min_size=1, max_size=5)))
        words, most = draw(st.integers(1, 3)), draw(st.integers(2, 5))
        cuts = [*range(0, len(text), 2), len(text)]
        trie = copies(text, spans(cuts, words))
        return [Limited(trie).within(most)], _copied(text, words, most)
    parts = draw(st.lists(items(depth - 1), min_size=1, max_size=3))
    if kind == "one of":
        return [OneOf(*(one for one, _ in parts))], set().union(*(lang for _, lang in parts))
    if kind == "sequence":
        return [item for one, _ in parts for item in one], _joined([lang for _, lang in parts])
    (declaration, lang), between, most = parts[0], draw(ids), draw(st.integers(1, 3))
    times = [_joined([lang, *[{between}, lang] * more]) for more in range(most)]
    return several(declaration, most, [Fixed(between)]), set().union(*times)


@settings(deadline=None, max_examples=300)
@given(st.lists(items(), min_size=1, max_size=2))
def test_accepts_just_what_is_declared(cases: list[tuple[Declaration, Language]]) -> None:
    """Two declarations in one automaton, each beside the other."""
    automaton = Automaton(EOS)
    for declaration, expected in cases:
        if len(expected) > 300:
            continue
        constraint = Composed(declaration, automaton)
        found = language(constraint, EOS)
        assert set(found) == {(*one, EOS) for one in expected}
        assert constraint.start == Composed(declaration, automaton).start
        # Every state is a number below the size, and says the same when asked again, in a batch.
        everything = np.arange(automaton.size)
        batch = automaton.transitions(everything)
        assert batch.states.max(initial=0) < automaton.size
        ends = batch.sizes.cumsum()
        for state, end, size in zip(everything, ends, batch.sizes, strict=True):
            alone = automaton.transitions(np.array([state]))
            assert alone.tokens.tolist() == batch.tokens[end - size : end].tolist()
            assert alone.states.tolist() == batch.states[end - size : end].tolist()
        for sequence, state in found.items():
            assert constraint.walk(sequence) == state
            assert constraint.value(state) >= 0
            with pytest.raises(ValueError, match="not ended"):
                constraint.value(constraint.walk(sequence[:-1]))


@given(st.lists(st.tuples(token, st.sampled_from("xyz")), max_size=5), st.integers(0, 3))
def test_identifiers(pairs: list[tuple[int, str]], count: int) -> None:
    pairs = list(dict(pairs).items())
    tokens, documents = [t for t, _ in pairs], [d for _, d in pairs]
    if count > len(set(documents)):
        with pytest.raises(ValueError, match="documents"):
            Identifiers(tokens, documents, count)
        return
    segment = Identifiers(tokens, documents, count)
    assert segment == Identifiers(tokens, documents, count)
    chosen = [[(t,) for t, d in pairs if d == document] for document in sorted(set(documents))]
    legal: Language = set()
    for mask in range(1 << len(pairs)):
        some = [pair for place, pair in enumerate(pairs) if mask >> place & 1]
        if len(some) == len({d for _, d in some}) == count:
            legal.add(tuple(t for t, _ in some))
    assert chosen or legal == {()}
    constraint = Composed([segment], Automaton(EOS))
    assert set(language(constraint, EOS)) == {(*one, EOS) for one in legal}
    # Where nothing is missing it does not matter which ones were chosen.
    assert len({constraint.value(s) for s in language(constraint, EOS).values()}) == 1


def _titles(count: int, seed: int = 0) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return rng.integers(4, 5000, (count, 4)).tolist()


def test_a_wide_node_is_shared_and_numbered_at_once() -> None:
    """Behind each of the separators the same root stands: its children have one number each."""
    trie = TokenTrie.build(_titles(3000))
    wide = trie.children(trie.root)[0].size
    constraint = Composed(several([InTrie(trie)], 3, [Fixed((1,))]), Automaton(EOS))
    rng, starts = np.random.default_rng(1), set()
    for title in rng.choice(_titles(3000), 20).tolist():
        state = constraint.walk([*title, 1])
        ahead = following(constraint, state)
        assert len(ahead) == wide
        starts.add(tuple(ahead.values()))
    assert len(starts) == 1
    assert constraint.automaton.size < 3 * wide


def test_titles_that_begin_alike_in_two_tries() -> None:
    """Readings in both tries at once, for very many tokens."""
    first, second = _titles(2000, 1), _titles(2000, 2)
    declaration = [OneOf([InTrie(TokenTrie.build(first))], [InTrie(TokenTrie.build(second))])]
    constraint = Composed(declaration, Automaton(EOS))
    oracle: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for title in first + second:
        for end in range(5):
            oracle[tuple(title[:end])].add([*title, EOS][end])
    for prefix in [(), *(tuple(title[:1]) for title in first)]:
        assert list(following(constraint, constraint.walk(prefix))) == sorted(oracle[prefix])


@pytest.mark.parametrize("wide", [0, module._WIDE])
def test_batches(monkeypatch: pytest.MonkeyPatch, wide: int) -> None:
    monkeypatch.setattr(module, "_WIDE", wide)
    titles = _titles(500)
    constraint = Composed([InTrie(TokenTrie.build(titles))], Automaton(EOS))
    states = [constraint.walk(title[:depth]) for depth in (0, 3, 4, 1) for title in titles[:9]]
    states += [constraint.walk([*titles[0], EOS])] * 2
    batch = constraint.transitions(np.array(states))
    alone = [following(constraint, state) for state in states]
    assert batch.sizes.tolist() == [len(one) for one in alone]
    assert batch.tokens.tolist() == [token for one in alone for token in one]
    assert batch.states.tolist() == [state for one in alone for state in one.values()]
    empty = constraint.transitions(np.empty(0, dtype=np.int64))
    assert empty.tokens.size == empty.states.size == empty.sizes.size == 0


def test_what_was_read_may_matter_later() -> None:
    """As many as the first token says, and no more: the function gets its own rest."""

    def more(left: int, _: int) -> Declaration:
        return (AnyOf([5, 6]), Then(more, (left - 1,))) if left else ()

    constraint = Composed([AnyOf([0, 1, 2]), Then(lambda n: more(n, 0))], Automaton(EOS))

    def legal() -> Iterator[tuple[int, ...]]:
        yield 0, EOS
        yield from ((1, a, EOS) for a in (5, 6))
        yield from ((2, a, b, EOS) for a in (5, 6) for b in (5, 6))

    assert set(language(constraint, EOS)) == set(legal())


def test_marks_hand_on_what_stands_before_them() -> None:
    trie = TokenTrie.build([[4, 5], [4]])
    constraint = Composed([Fixed((7, 8)), InTrie(trie), Fixed((8, 7))], Automaton(EOS))
    state = constraint.walk([7, 8, 4, 5, 8, 7, EOS])
    assert trie.rows(constraint.value(state)).tolist() == [0]


def test_equal_declarations_share_everything() -> None:
    automaton, trie = Automaton(EOS), InTrie(TokenTrie.build(_titles(100)))
    first = Composed([Fixed((1,)), OneOf([trie], [AnyOf([2, 1])])], automaton)
    language(first, EOS)
    size = automaton.size
    second = Composed([Fixed((1,)), OneOf([trie], [AnyOf([1, 2])])], automaton)
    assert second.start == first.start
    other = Composed([Fixed((2,)), OneOf([trie], [AnyOf([1, 2])])], automaton)
    assert len(language(other, EOS)) == len(language(first, EOS))
    assert automaton.size == size + 2  # in front of the mark and behind it


def test_the_end_token_is_refused() -> None:
    automaton = Automaton(EOS)
    for segment in (
        Fixed((1, EOS)),
        AnyOf([EOS, 1]),
        Stretch((1, EOS, 2), 0, (2,)),
        InTrie(TokenTrie.build([[EOS]])),
        Limited(TokenTrie.build([[1], [1, EOS]])).within(1),
        Identifiers([EOS], "x", 1),
    ):
        for declaration in ([segment], [OneOf([], [segment])]):
            with pytest.raises(ValueError, match="end token 3"):
                automaton.state(declaration)
    late = Composed([Fixed((1,)), Then(lambda _: [Fixed((EOS,))])], automaton)
    with pytest.raises(ValueError, match="end token 3"):
        late.walk([1, 2])
    assert Composed([Stretch((1, EOS, 2), 0, (1,))], automaton).walk([1, EOS])


def test_what_cannot_be_completed_is_refused() -> None:
    with pytest.raises(ValueError, match="no tokens"):
        AnyOf([])
    with pytest.raises(ValueError, match="no sequences"):
        InTrie(TokenTrie.build([]))
    with pytest.raises(ValueError, match="no declarations"):
        OneOf()
    with pytest.raises(ValueError, match="shortest sequence has 2 tokens, more than 1"):
        Limited(TokenTrie.build([[1, 2], [1, 2, 4]])).within(1)
    with pytest.raises(ValueError, match="at least 1"):
        several([Fixed((1,))], 0)
    for ends in ((), (0,), (3,)):
        with pytest.raises(ValueError, match="stretch"):
            Stretch((1, 2), 1, ends)


def test_unknown_states_are_errors() -> None:
    constraint = Composed([Fixed((1,))], Automaton(EOS))
    for state in (5, -1):
        with pytest.raises(ValueError, match="no state"):
            constraint.transitions(np.array([constraint.start, state]))


def test_threads_may_share_an_automaton() -> None:
    titles = _titles(400)
    constraint = Composed([InTrie(TokenTrie.build(titles))], Automaton(EOS))
    states: list[list[int]] = []

    def read() -> None:
        states.append([constraint.walk([*title, EOS]) for title in titles])

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
    assert states == [[constraint.walk([*title, EOS]) for title in titles]] * 4


def test_an_automaton_is_let_go_of() -> None:
    trie = TokenTrie.build([[4]])
    constraint = Composed([InTrie(trie)], Automaton(EOS))
    gone = weakref.ref(trie)
    language(constraint, EOS)
    del trie, constraint
    gc.collect()
    assert gone() is None


def test_thousands_of_empty_choices() -> None:
    """Each may be left out, so all of them stand in front of the first token."""
    parts = [OneOf((), (), [Fixed([token])]) for token in range(4, 2004)]
    constraint = Composed(parts, Automaton(EOS))
    tokens = following(constraint, constraint.start)
    assert sorted(tokens) == sorted({EOS, *range(4, 2004)})
    assert constraint.value(constraint.walk([5, 900, 2003, EOS])) == 0
    with pytest.raises(ValueError, match="not allowed"):
        constraint.walk([900, 5])
