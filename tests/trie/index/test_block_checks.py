"""Tokens and rows are checked block by block before they are first read."""

import json
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trie.index.damaged_tries import seal, spells
from trie import TokenTrie, TrieConstraint, TrieFileError, UpdatedTrie
from trie.index import trie_build, trie_files

BLOCK = 64
Sequences = list[list[int]]

many = st.lists(st.lists(st.integers(0, 4), max_size=6), min_size=1, max_size=300)


def _save(sequences: Sequences, directory: Path) -> None:
    trie_files.write_arrays(
        trie_build.build_arrays(*trie_build.concatenate(sequences)), directory, BLOCK
    )


def _change(directory: Path, name: str, change: Callable[[np.ndarray[Any, Any]], None]) -> None:
    values = np.load(directory / f"{name}.npy")
    change(values)
    np.save(directory / f"{name}.npy", values)


def _set(at: int, value: int) -> Callable[[np.ndarray[Any, Any]], None]:
    def change(values: np.ndarray[Any, Any]) -> None:
        values[at] = value

    return change


def _read(trie: TokenTrie, node: int) -> Any:
    """Return everything that a trie reports about a node."""
    tokens, nodes = trie.children(node)
    child = trie.child(node, 2)
    return tokens.tolist(), nodes.tolist(), child, trie.rows(node).tolist(), trie.path(node)


@given(many, st.data())
def test_damaged_values_are_never_returned(
    tmp_path_factory: pytest.TempPathFactory, sequences: Sequences, data: st.DataObject
) -> None:
    directory = tmp_path_factory.mktemp("trie")
    _save(sequences, directory)
    intact = TokenTrie.build(sequences)
    path = directory / data.draw(st.sampled_from(["tokens.npy", "rows.npy", "rows_high.npy"]))
    content = bytearray(path.read_bytes())
    if len(content) == 128:
        return  # there are no high bits
    at = data.draw(st.integers(128, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    trie = TokenTrie.open(directory)
    rejected = []
    for node in data.draw(st.permutations(range(intact.nodes))):
        try:
            assert _read(trie, node) == _read(intact, node)
        except TrieFileError as error:
            rejected.append(error.path)
    assert set(rejected) <= {path}
    if path.name != "tokens.npy" or intact.nodes > 1:
        assert rejected
    for _ in range(2):
        with pytest.raises(TrieFileError, match=path.name):
            trie.check()


@given(many.filter(any), st.data())
def test_invariants_hold_even_with_matching_checksums(
    tmp_path_factory: pytest.TempPathFactory, sequences: Sequences, data: st.DataObject
) -> None:
    directory = tmp_path_factory.mktemp("trie")
    _save(sequences, directory)
    name = data.draw(st.sampled_from(["tokens", "rows"]))
    values = np.load(directory / f"{name}.npy")
    for _ in range(data.draw(st.integers(1, 3))):
        # The token of the root is not used.
        at = data.draw(st.integers(name == "tokens", values.size - 1))
        values[at] = data.draw(st.sampled_from([*values.tolist(), 0, 255]))
    np.save(directory / f"{name}.npy", values)
    seal(directory)
    trie = TokenTrie.open(directory)
    try:
        read = list(spells(trie).values())
    except TrieFileError:
        with pytest.raises(TrieFileError, match=rf"{name}\.npy"):
            trie.check()
        return
    trie.check()
    assert TokenTrie.build(read).digest == _reopened(trie, tmp_path_factory.mktemp("again")).digest


def _reopened(trie: TokenTrie, directory: Path) -> TokenTrie:
    trie.save(directory)
    return TokenTrie.open(directory)


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """The root has 200 children, those of tokens 0, 2, ..., with a row each, last row first."""
    _save([[2 * token] for token in reversed(range(200))], tmp_path)
    return tmp_path


def test_only_blocks_that_are_read_are_checked(wide: Path) -> None:
    _change(wide, "tokens", _set(150, 7))
    _change(wide, "rows", _set(10, 7))
    trie = TokenTrie.open(wide)
    assert trie.path(64) == [126]
    assert trie.rows(101).tolist() == [99]
    for _ in range(2):
        for read in (trie.path, trie.walk):
            with pytest.raises(TrieFileError, match=r"tokens\.npy: damaged"):
                read([150] if read == trie.walk else 150)  # type: ignore[arg-type]
        with pytest.raises(TrieFileError, match=r"tokens\.npy: damaged"):
            trie.children(trie.root)
        with pytest.raises(TrieFileError, match=r"rows\.npy: damaged"):
            trie.rows(60)
    assert trie.path(64) == [126]
    assert trie.rows(101).tolist() == [99]


@pytest.mark.parametrize("at", [64, 128, 192])
@pytest.mark.parametrize("fall", [0, 2])
def test_tokens_ascend_across_blocks(wide: Path, at: int, fall: int) -> None:
    _change(wide, "tokens", _set(at, 2 * (at - 2) - fall))
    seal(wide)
    trie = TokenTrie.open(wide)
    assert trie.path(at - 1) == [2 * (at - 2)]
    with pytest.raises(TrieFileError, match="do not ascend"):
        trie.path(at)
    with pytest.raises(TrieFileError, match="do not ascend"):
        trie.children(trie.root)


@pytest.mark.parametrize("at", [10, 64, 127, 128, 199])
def test_rows_of_a_node_ascend_across_blocks(tmp_path: Path, at: int) -> None:
    _save([[1]] * 200, tmp_path)
    assert TokenTrie.open(tmp_path).rows(1).tolist() == [*range(200)]

    def swap(values: np.ndarray[Any, Any]) -> None:
        values[at], values[at - 1] = values[at - 1], values[at]

    _change(tmp_path, "rows", swap)
    seal(tmp_path)
    for read in (TokenTrie.check, TokenTrie.flatten, lambda trie: trie.rows(1)):
        with pytest.raises(TrieFileError, match="do not ascend"):
            read(TokenTrie.open(tmp_path))


@pytest.mark.parametrize(("first", "second"), [(100, 11), (11, 100)])
def test_no_row_occurs_at_two_nodes(wide: Path, first: int, second: int) -> None:
    _change(wide, "rows", _set(10, 100))  # which is the row of node 100, at place 99
    seal(wide)
    trie = TokenTrie.open(wide)
    assert trie.rows(first).tolist() == [100]
    for read in (lambda: trie.rows(second), trie.check, trie.flatten, lambda: trie.locate([3])):
        with pytest.raises(TrieFileError, match="exactly once"):
            read()
    assert trie.rows(first).tolist() == [100]


@pytest.mark.parametrize("row", [189, 200, 255])
def test_rows_in_one_block_are_distinct_and_in_range(wide: Path, row: int) -> None:
    _change(wide, "rows", _set(12, row))
    seal(wide)
    with pytest.raises(TrieFileError, match="exactly once"):
        TokenTrie.open(wide).rows(1)


def test_checks_are_thread_safe(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    sequences = rng.integers(0, 300, (20_000, 3)).tolist()
    _save(sequences, tmp_path)
    trie = TokenTrie.open(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda s: trie.rows(trie.walk(s)).tolist(), sequences))
    assert all(row in rows for row, rows in enumerate(found))


def test_a_damaged_trie_cannot_be_saved(wide: Path, tmp_path: Path) -> None:
    _change(wide, "rows", _set(10, 7))
    place = tmp_path / "copy"
    place.mkdir()
    with pytest.raises(TrieFileError, match=r"rows\.npy: damaged"):
        TokenTrie.open(wide).save(place)
    assert not [*place.iterdir()]


def test_a_damaged_token_that_equals_the_end_token(wide: Path) -> None:
    assert not TokenTrie.open(wide).contains_token(7)
    with pytest.raises(ValueError, match="contains the end token"):
        TrieConstraint(TokenTrie.open(wide), 8)
    _change(wide, "tokens", _set(150, 7))
    trie = TokenTrie.open(wide)
    with pytest.raises(TrieFileError, match="damaged"):
        TrieConstraint(trie, 7)
    with pytest.raises(TrieFileError, match="damaged"):
        trie.nodes_after(7)


def test_changes_of_a_damaged_trie_are_rejected(wide: Path) -> None:
    UpdatedTrie(TokenTrie.open(wide)).add([[3]]).remove([199]).save(wide / "changes")
    _change(wide, "rows", _set(10, 7))
    trie = TokenTrie.open(wide)
    with pytest.raises(TrieFileError, match=r"rows\.npy: damaged"):
        UpdatedTrie.open(wide / "changes", trie)


def test_damaged_checksums_are_rejected_on_opening(wide: Path) -> None:
    _change(wide, "sums", lambda sums: sums.__setitem__(3, sums[3] + 1))
    with pytest.raises(TrieFileError, match=r"sums\.npy: damaged"):
        TokenTrie.open(wide)
    meta = json.loads((wide / "meta.json").read_text())
    meta["crc32"]["sums"] = zlib.crc32(np.load(wide / "sums.npy").data)
    (wide / "meta.json").write_text(json.dumps(meta))
    trie = TokenTrie.open(wide)
    assert trie.path(1) == [0]
    with pytest.raises(TrieFileError, match=r"tokens\.npy: damaged"):
        trie.path(199)
