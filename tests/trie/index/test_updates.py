import json
import os
import random
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from admiral.retrieval.hop_grammar import HopConstraint
from tests.trie.walking import language
from trie import (
    Alternatives,
    Automaton,
    BoundedTrieSequence,
    FixedTokens,
    GrammarConstraint,
    SafeTokenizer,
    TokenSet,
    TokenTrie,
    Trie,
    TrieConstraint,
    TrieSequence,
    UpdatedTrie,
)
from trie.index.traversal import UNREACHABLE

sequence = st.lists(st.integers(0, 2), max_size=4)
sequences = st.lists(sequence, max_size=9)
#: Additions, removals (indices of current rows), compactions, and saving and opening again.
changes = st.lists(
    sequences.map(lambda new: ("add", new))
    | st.lists(st.integers(0, 50), min_size=1, max_size=6).map(lambda rows: ("remove", rows))
    | st.integers(0, 2**32).map(lambda seed: ("compact", seed))
    | st.just(("reopen", None))
    | st.just(("clear", None)),
    max_size=6,
)


def _allowed(oracle: Iterable[tuple[int, ...]], prefix: tuple[int, ...]) -> set[int]:
    return {s[len(prefix)] for s in oracle if len(s) > len(prefix) and s[: len(prefix)] == prefix}


def _same(trie: Trie, oracle: dict[int, tuple[int, ...]]) -> None:
    """Compare every node that can be reached with the dict."""
    assert len(trie) == len(oracle)
    assert trie.longest == max(map(len, oracle.values()), default=0)
    seen, todo = set(), [(trie.root, ())]
    distances = trie.distances_to_end()
    assert len(distances) == trie.nodes
    while todo:
        node, prefix = todo.pop()
        assert 0 <= node < trie.nodes
        assert node not in seen
        seen.add(node)
        rows = sorted(row for row, sequence in oracle.items() if sequence == prefix)
        assert trie.rows(node).tolist() == rows
        assert trie.rows(node).dtype == np.int64
        assert trie.ends(node) == bool(rows)
        expected = sorted(_allowed(oracle.values(), prefix))
        tokens, nodes = trie.children(node)
        assert tokens.dtype == np.int64
        assert tokens.tolist() == expected
        assert expected or rows or not prefix  # no dead end
        for token in (-1, 0, 1, 2, 3, 2**40):
            child = trie.child(node, token)
            assert (child >= 0) == (token in expected)
            if child >= 0:
                assert nodes[expected.index(token)] == child
                todo.append((child, (*prefix, token)))
        assert trie.walk(prefix) == node
        assert trie.depth(node) == len(prefix)
        below = [len(s) - len(prefix) for s in oracle.values() if s[: len(prefix)] == prefix]
        assert distances[node] == min(below) if below else distances[node] >= UNREACHABLE
    for token in range(4):
        assert trie.contains_token(token) == any(token in sequence for sequence in oracle.values())


@given(sequences, changes)
def test_equals_a_dict_after_any_changes(
    tmp_path_factory: pytest.TempPathFactory, first: list[list[int]], changes: list[Any]
) -> None:
    path = tmp_path_factory.mktemp("changes") / "changes.json"
    trie = UpdatedTrie(TokenTrie.build(first))
    oracle = {row: tuple(sequence) for row, sequence in enumerate(first)}
    next_row = len(first)
    for kind, what in changes:
        old, before = trie, dict(oracle)
        if kind == "add":
            trie = trie.add(what)
            oracle |= {next_row + place: tuple(new) for place, new in enumerate(what)}
            next_row += len(what)
        elif kind == "remove" and oracle:
            rows = {sorted(oracle)[place % len(oracle)] for place in what}
            trie = trie.remove(rows)
            oracle = {row: sequence for row, sequence in oracle.items() if row not in rows}
        elif kind == "clear":
            trie, oracle = trie.remove(list(oracle)), {}
        elif kind == "compact":
            order = sorted(oracle)
            random.Random(what).shuffle(order)
            base = trie.compact(order)
            oracle = {row: oracle[old_row] for row, old_row in enumerate(order)}
            assert base.digest == TokenTrie.build(oracle.values()).digest
            trie, next_row = UpdatedTrie(base), len(oracle)
        elif kind == "reopen":
            trie.save(path)
            trie = UpdatedTrie.open(path, trie.base)
        _same(trie, oracle)
        assert trie.next_row == next_row
        assert [row in trie for row in range(-1, next_row + 1)] == [
            row in oracle for row in range(-1, next_row + 1)
        ]
        _same(old, before)  # it is immutable
    assert trie.compact().digest == TokenTrie.build(oracle[row] for row in sorted(oracle)).digest


def test_nodes_can_be_used_without_walking() -> None:
    trie = UpdatedTrie(TokenTrie.build([[1, 2, 3], [1, 2]])).add([[1, 2, 4]])
    node = trie.walk([1, 2])
    fresh = UpdatedTrie(trie.base).add([[1, 2, 4]])
    assert fresh.rows(node).tolist() == [1]
    assert fresh.children(node)[0].tolist() == [3, 4]


def test_many_changes() -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 40, (3000, 3)).tolist()
    trie = UpdatedTrie(TokenTrie.build(first))
    gone = rng.choice(3000, 900, replace=False).tolist()
    trie = trie.remove(gone[:500]).add(rng.integers(0, 40, (200, 4)).tolist()).remove(gone[500:])
    oracle = {row: tuple(s) for row, s in enumerate(first) if row not in set(gone)}
    oracle |= trie._added
    kept = trie.compact()
    assert kept.digest == TokenTrie.build(oracle.values()).digest
    assert trie.children(trie.root)[0].tolist() == kept.children(kept.root)[0].tolist()
    for new, row in enumerate(oracle):
        assert row in trie.rows(trie.walk(oracle[row]))
        assert new in kept.rows(kept.walk(oracle[row]))
    for row in gone:
        node = trie.walk(first[row])
        assert node < 0 or row not in trie.rows(node)


@pytest.mark.parametrize("rows", [[2], [-1], [0, 0], [3, 3], [1], [5]])
def test_missing_rows_are_rejected(rows: list[int]) -> None:
    trie = UpdatedTrie(TokenTrie.build([[1], [2]])).add([[3], [4]]).remove([1, 2])
    with pytest.raises(ValueError, match="row"):
        trie.remove(rows)
    with pytest.raises(ValueError, match="each row once"):
        trie.compact(rows)


@pytest.mark.parametrize("token", [-1, 2**31, 2**70])
def test_invalid_tokens_are_rejected(token: int) -> None:
    with pytest.raises(ValueError, match="token ids"):
        UpdatedTrie(TokenTrie.build([])).add([[token]])


def test_the_hop_constraint_sees_the_changes() -> None:
    words = ["<pad>", "</s>", "<unk>", "[", "]", "a", "b", "c"]
    backend = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    tokens = SafeTokenizer(
        PreTrainedTokenizerFast(
            tokenizer_object=backend, pad_token="<pad>", eos_token="</s>", bos_token="</s>"
        )
    )

    def titles(trie: Trie) -> dict[str, tuple[int, ...]]:
        """Spell all that the constraint allows."""
        constraint = HopConstraint(trie, tokens, [], 0)
        found = language(constraint, tokens.eos)
        return {tokens.decode(ids): constraint.rows(state) for ids, state in found.items()}

    first = UpdatedTrie(TokenTrie.build([tokens.encode(t) for t in ("a b", "a", "c ]")]))
    before = {"[ a b ]": (0,), "[ a ]": (1,), "[ c ] ]": (2,)}
    assert titles(first) == before
    second = first.add([tokens.encode("a c"), tokens.encode("a")]).remove([0, 2])
    assert titles(second) == {"[ a c ]": (3,), "[ a ]": (1, 4)}
    assert titles(first) == before
    third = second.remove([1, 3, 4])
    with pytest.raises(ValueError, match="no titles"):
        titles(third)
    assert titles(third.add([tokens.encode("b")])) == {"[ b ]": (5,)}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    base = TokenTrie.build([[2, 1], [2], [1, 300], [2]])
    UpdatedTrie(base).add([[5], [2, 1, 7]]).remove([1, 2]).save(tmp_path / "changes")
    base.save(tmp_path)
    return tmp_path


def _open(directory: Path) -> UpdatedTrie:
    return UpdatedTrie.open(directory / "changes", TokenTrie.open(directory))


def test_changes_are_saved_without_the_base(saved: Path) -> None:
    _same(_open(saved), {0: (2, 1), 3: (2,), 4: (5,), 5: (2, 1, 7)})


def test_changes_of_another_trie_are_rejected(saved: Path) -> None:
    for other in ([], [[2, 1], [2], [1, 300], [1]], [[2, 1], [1, 300], [2], [2]]):
        with pytest.raises(ValueError, match=r"changes: .*trie"):
            UpdatedTrie.open(saved / "changes", TokenTrie.build(other))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("next_row", 3),
        ("next_row", 5),
        ("next_row", "6"),
        ("next_row", True),
        ("removed", [2, 1]),
        ("removed", [1, 1]),
        ("removed", [-1]),
        ("removed", [4]),
        ("removed", [1.0]),
        ("removed", {"1": 1}),
        ("added", [3, 4]),
        ("added", [5, 4]),
        ("added", [4]),
        ("added", [[4], [5]]),
        ("added", None),
        ("sequences", [[5]]),
        ("sequences", [[5], 7]),
        ("sequences", [[5], [-1]]),
        ("sequences", [[5], [2**31]]),
        ("sequences", [[5], [2.5]]),
        ("sequences", [[5], [True]]),
        ("sequences", "ab"),
        ("base", ""),
        ("base", 3),
    ],
)
def test_each_invariant_of_the_changes(saved: Path, name: str, value: Any) -> None:
    path = saved / "changes"
    body = json.loads(path.read_bytes().split(b"\n")[1])
    assert _open(saved)
    text = json.dumps({**body, name: value})
    head = {"format": "changes of a token trie", "version": 1, "crc32": zlib.crc32(text.encode())}
    path.write_text(f"{json.dumps(head)}\n{text}\n")
    with pytest.raises(ValueError, match=str(path)):
        _open(saved)


@pytest.mark.parametrize("text", ["", "\n", "{}\n{}\n", "[]\n[]\n", "[" * 100_000 + "\n\n"])
def test_files_that_are_not_changes_are_rejected(saved: Path, text: str) -> None:
    (saved / "changes").write_text(text)
    with pytest.raises(ValueError, match="not the changes"):
        _open(saved)
    (saved / "changes").unlink()
    with pytest.raises(ValueError, match="not the changes"):
        _open(saved)


def _fuzz(saved: Path, cases: int, seed: int) -> None:
    rng = random.Random(seed)
    path = saved / "changes"
    base, whole = TokenTrie.open(saved), path.read_bytes()
    expected = _open(saved).compact().digest
    rejected = []
    for _ in range(cases):
        content = bytearray(whole)
        kind = rng.randrange(3)
        if kind == 0:
            content = content[: rng.randrange(len(content))]
        elif kind == 1:
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        else:
            low, high = sorted(rng.randrange(len(content)) for _ in range(2))
            content[low:high] = rng.randbytes(rng.randrange(9))
        path.write_bytes(content)
        try:
            trie = UpdatedTrie.open(path, base)
        except ValueError as error:
            rejected.append(str(error))
        else:
            assert trie.compact().digest == expected
    assert all(str(path) in message for message in rejected)
    assert len(rejected) > cases / 2


def test_damaged_changes_are_rejected_or_harmless(saved: Path) -> None:
    _fuzz(saved, 300, seed=0)


@pytest.mark.slow
def test_many_damaged_changes(saved: Path) -> None:
    _fuzz(saved, 20_000, seed=1)


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_failed_save_leaves_the_old_file(
    saved: Path, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space left")

    before = sorted(saved.iterdir())
    trie = _open(saved)
    with monkeypatch.context() as patch:
        patch.setattr(os, broken, fail)
        with pytest.raises(OSError, match="no space"):
            trie.add([[9]]).save(saved / "changes")
    assert sorted(saved.iterdir()) == before
    assert _open(saved).compact().digest == trie.compact().digest
    trie.add([[9]]).save(saved / "changes")
    assert sorted(saved.iterdir()) == before
    assert len(_open(saved)) == len(trie) + 1


def test_non_integers_are_rejected() -> None:
    trie = UpdatedTrie(TokenTrie.build([[1, 2]]))
    with pytest.raises(TypeError):
        trie.add([[1.7]])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        trie.remove([0.2])  # type: ignore[list-item]
    assert len(trie.add([np.array([1, 3])])) == 2  # type: ignore[list-item]


def _sequences(constraint: GrammarConstraint) -> set[tuple[int, ...]]:
    return {ids[:-1] for ids in language(constraint, 9)}


@given(sequences, sequences, st.sets(st.integers(0, 17)), st.integers(0, 4))
def test_every_constraint_sees_the_changes(
    first: list[list[int]], more: list[list[int]], gone: set[int], most: int
) -> None:
    oracle = dict(enumerate(map(tuple, first + more)))
    trie = UpdatedTrie(TokenTrie.build(first)).add(more)
    trie = trie.remove(row for row in gone if row in oracle)
    left = {sequence for row, sequence in oracle.items() if row not in gone}
    if not left:
        for constrain in (TrieSequence, BoundedTrieSequence, lambda trie: TrieConstraint(trie, 9)):
            with pytest.raises(ValueError, match="no sequences"):
                constrain(trie)
        return
    assert _sequences(TrieConstraint(trie, 9)) == left
    inside = GrammarConstraint(
        [TokenSet([7, 8]), TrieSequence(trie), FixedTokens([8])], Automaton(9)
    )
    assert _sequences(inside) == {(mark, *one, 8) for one in left for mark in (7, 8)}
    assert _sequences(GrammarConstraint([BoundedTrieSequence(trie)], Automaton(9))) == left
    short = {one for one in left if len(one) <= most}
    if short:
        either = Alternatives([BoundedTrieSequence(trie).within(most)], [FixedTokens([8])])
        assert _sequences(GrammarConstraint([either], Automaton(9))) == {*short, (8,)}
    else:
        with pytest.raises(ValueError, match="the shortest sequence"):
            BoundedTrieSequence(trie).within(most)
