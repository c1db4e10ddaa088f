"""Ways to keep token sequences, for `benchmarks.trie_comparison`."""

from __future__ import annotations

import marshal
from pathlib import Path
from typing import Any, Protocol

import marisa_trie
import numpy as np

from trie import TokenTrie

_END = -1
Sequences = list[list[int]]


class Contender(Protocol):
    """A way to keep sequences: `build` writes it, `open` reads it."""

    def build(self, sequences: Sequences, directory: Path) -> None: ...
    def open(self, directory: Path) -> None: ...
    def state(self, prefix: list[int]) -> Any:
        """Return what a beam keeps."""

    def allowed(self, state: Any) -> Any:
        """Return the tokens that may follow."""


class Csr:
    """The token trie; a beam keeps its node."""

    def build(self, sequences: Sequences, directory: Path) -> None:
        TokenTrie.build(sequences).save(directory)

    def open(self, directory: Path) -> None:
        self._trie = TokenTrie.open(directory)

    def state(self, prefix: list[int]) -> int:
        return self._trie.walk(prefix)

    def allowed(self, state: int) -> np.ndarray[Any, Any]:
        return self._trie.children(state)[0]


class Marisa:
    """A marisa trie of characters, with rows beside it; a beam keeps its prefix."""

    def build(self, sequences: Sequences, directory: Path) -> None:
        keys = ["".join(map(_character, (*sequence, _END))) for sequence in sequences]
        trie = marisa_trie.Trie(keys)
        rows = np.zeros(len(keys), dtype=np.uint32)
        rows[[trie[key] for key in keys]] = np.arange(len(keys))
        trie.save(str(directory / "trie.marisa"))
        np.save(directory / "rows.npy", rows)

    def open(self, directory: Path) -> None:
        self._trie = marisa_trie.Trie()
        self._trie.load(str(directory / "trie.marisa"))
        self._rows = np.load(directory / "rows.npy")

    def state(self, prefix: list[int]) -> str:
        return "".join(map(_character, prefix))

    def allowed(self, state: str) -> list[int]:
        found = {key[len(state)] for key in self._trie.iterkeys(state)}
        return [token for token in map(_token, found) if token != _END]


class Dicts:
    """A dict for each node, as prefix functions have it; a beam keeps its prefix."""

    def build(self, sequences: Sequences, directory: Path) -> None:
        root: dict[int, Any] = {}
        for row, sequence in enumerate(sequences):
            node = root
            for token in sequence:
                node = node.setdefault(token, {})
            node.setdefault(_END, []).append(row)
        (directory / "trie.marshal").write_bytes(marshal.dumps(root))

    def open(self, directory: Path) -> None:
        self._root = marshal.loads((directory / "trie.marshal").read_bytes())

    def state(self, prefix: list[int]) -> list[int]:
        return prefix

    def allowed(self, state: list[int]) -> list[int]:
        node = self._root
        for token in state:
            node = node[token]
        return [token for token in node if token != _END]


CONTENDERS: dict[str, type[Contender]] = {"trie": Csr, "marisa-trie": Marisa, "dicts": Dicts}


def _character(token: int) -> str:
    code = token + 2  # 0 is not for keys, 1 is the end; and surrogates are no characters
    return chr(code if code < 0xD800 else code + 0x800)


def _token(character: str) -> int:
    code = ord(character)
    return (code if code < 0xD800 else code - 0x800) - 2
