import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trie.token_trie import TokenTrie

small = st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=12)
wide = st.lists(st.lists(st.sampled_from([0, 1, 255, 256, 65535, 65536, 2**31 - 1]), max_size=5))
NAMES = ["tokens", "children", "ends", "rows"]


def _nested(sequences: list[list[int]]) -> dict[Any, Any]:
    """The slow oracle: a dict per node, rows under the key None."""
    root: dict[Any, Any] = {None: []}
    for row, sequence in enumerate(sequences):
        node = root
        for token in sequence:
            node = node.setdefault(token, {None: []})
        node[None].append(row)
    return root


def _same(trie: TokenTrie, node: int, oracle: dict[Any, Any]) -> int:
    """Compare from `node` on; return the number of nodes seen."""
    assert trie.rows(node).tolist() == oracle[None]
    assert trie.ends(node) == bool(oracle[None])
    expected = sorted(token for token in oracle if token is not None)
    tokens, first = trie.children(node)
    assert tokens.dtype == np.int64 and tokens.tolist() == expected
    for absent in {-1, 0, 2, 4, 256, 65536, 2**31, 2**40} - set(expected):
        assert trie.child(node, absent) == -1
    for i, token in enumerate(expected):
        assert trie.child(node, token) == first + i
    return 1 + sum(_same(trie, first + i, oracle[t]) for i, t in enumerate(expected))


@given(small | wide)
def test_equals_nested_dicts(sequences: list[list[int]]) -> None:
    trie = TokenTrie.build(iter(sequences))
    assert _same(trie, trie.root, _nested(sequences)) == trie.nodes
    assert len(trie) == len(sequences)
    for row, sequence in enumerate(sequences):
        assert row in trie.rows(trie.walk(sequence))
        assert trie.walk([*sequence, 7]) == -1
        assert all(trie.holds(token) for token in sequence)
    assert not trie.holds(7)


@given(small | wide)
def test_saved_and_opened(
    tmp_path_factory: pytest.TempPathFactory, sequences: list[list[int]]
) -> None:
    directory = tmp_path_factory.mktemp("trie")
    TokenTrie.build(sequences).save(directory)
    opened = TokenTrie.open(directory)
    assert _same(opened, opened.root, _nested(sequences)) == opened.nodes
    assert len(opened) == len(sequences)


def test_a_deep_sequence() -> None:
    trie = TokenTrie.build([[5] * 3000])
    assert trie.nodes == 3001
    assert trie.rows(trie.walk([5] * 3000)).tolist() == [0]


@pytest.mark.parametrize("token", [-1, 2**31])
def test_impossible_tokens(token: int) -> None:
    with pytest.raises(ValueError, match="token ids"):
        TokenTrie.build([[1], [token]])


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    TokenTrie.build([[2, 1], [2], [1, 300], [2], [3, 3], []]).save(tmp_path)
    return tmp_path


def _changes(saved: Path) -> Iterator[tuple[str, np.ndarray]]:
    for name in NAMES:
        values = np.load(saved / f"{name}.npy")
        yield name, values[:-1]
        yield name, np.append(values, values[-1:])
        yield name, values.astype(np.int64)
        yield name, values[None]
        if name != "rows":  # those of one node would ascend again
            yield name, values[::-1].copy()


def test_wrong_arrays_are_refused(saved: Path) -> None:
    for name, values in _changes(saved):
        path = saved / f"{name}.npy"
        whole = path.read_bytes()
        np.save(path, values)
        with pytest.raises(ValueError, match=str(path)):
            TokenTrie.open(saved)
        path.write_bytes(whole)
    TokenTrie.open(saved)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kept", [0, 5, 64, 127, -1])
def test_cut_files_are_refused(saved: Path, name: str, kept: int) -> None:
    path = saved / f"{name}.npy"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ValueError, match=str(path)):
        TokenTrie.open(saved)
    path.unlink()
    with pytest.raises(ValueError, match=str(path)):
        TokenTrie.open(saved)


@pytest.mark.parametrize(
    ("name", "values", "problem"),
    [
        ("tokens", [0, 1, 3, 2, 300, 1, 3], "do not ascend"),
        ("tokens", [0, 1, 1, 3, 300, 1, 3], "do not ascend"),
        ("tokens", [0, 1, 2, 2**31, 300, 1, 3], "too large"),
        ("children", [1, 4, 5, 6, 7, 7, 7, 6], "do not ascend"),
        ("children", [1, 4, 3, 6, 7, 7, 7, 7], "do not ascend"),
        ("children", [1, 1, 5, 6, 7, 7, 7, 7], "before its parent"),
        ("ends", [0, 1, 1, 3, 3, 3, 5, 6], "leaf"),
        ("ends", [0, 1, 9, 3, 3, 4, 5, 6], "do not ascend"),
        ("rows", [5, 1, 3, 2, 0, 0], "exactly once"),
        ("rows", [5, 1, 3, 2, 0, 9], "exactly once"),
        ("rows", [5, 3, 1, 2, 0, 4], "do not ascend"),
    ],
)
def test_each_invariant(saved: Path, name: str, values: list[int], problem: str) -> None:
    np.save(saved / f"{name}.npy", np.array(values, dtype=np.uint32))
    with pytest.raises(ValueError, match=problem) as error:
        TokenTrie.open(saved)
    assert f"{name}.npy" in str(error.value)


@given(st.sampled_from(NAMES), st.integers(0, 7), st.integers(0, 2**8 - 1), st.sampled_from(["u1"]))
def test_one_changed_number_is_refused_or_harmless(
    tmp_path_factory: pytest.TempPathFactory, name: str, place: int, value: int, kind: str
) -> None:
    directory = tmp_path_factory.mktemp("trie")
    TokenTrie.build([[2, 1], [2], [1, 9], [2], [3, 3], []]).save(directory)
    values = np.load(directory / f"{name}.npy")
    values[place % values.size] = value
    np.save(directory / f"{name}.npy", values.astype(kind))
    try:
        trie = TokenTrie.open(directory)
    except ValueError as error:
        assert str(directory) in str(error)
        return
    seen, todo = [], [trie.root]  # whatever it spells now, it is a trie of the six rows
    while todo:
        node = todo.pop()
        seen += trie.rows(node).tolist()
        tokens, first = trie.children(node)
        todo += [trie.child(node, token) for token in tokens.tolist()]
        assert todo[len(todo) - tokens.size :] == list(range(first, first + tokens.size))
    assert sorted(seen) == list(range(6))


@pytest.mark.parametrize(
    "meta",
    [
        "",
        "[]",
        "{}",
        '{"version": 2, "nodes": 7, "rows": 6}',
        '{"version": 1, "nodes": "7", "rows": 6}',
        '{"version": 1, "nodes": 0, "rows": 6}',
        '{"version": 1, "nodes": 7, "rows": -1}',
        "[" * 100_000,
    ],
)
def test_damaged_description(saved: Path, meta: str) -> None:
    (saved / "meta.json").write_text(meta)
    with pytest.raises(ValueError, match=r"meta\.json"):
        TokenTrie.open(saved)


def test_pickles_are_not_read(saved: Path) -> None:
    np.save(saved / "rows.npy", np.array([{}] * 6, dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"rows\.npy"):
        TokenTrie.open(saved)


def test_files_are_small_and_plain(saved: Path) -> None:
    assert sorted(p.name for p in saved.iterdir()) == [
        "children.npy", "ends.npy", "meta.json", "rows.npy", "tokens.npy",
    ]  # fmt: skip
    kinds = {name: np.load(saved / f"{name}.npy").dtype.str for name in NAMES}
    assert kinds == {"tokens": "<u2", "children": "|u1", "ends": "|u1", "rows": "|u1"}
    assert json.loads((saved / "meta.json").read_text()) == {"version": 1, "nodes": 7, "rows": 6}
