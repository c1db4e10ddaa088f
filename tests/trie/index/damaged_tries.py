"""Damage the files of tries and of their changes; they are refused, or as good as any.

Files are cut, mixed up and changed; in half of the rounds the checksums are mended afterwards, so
that the checks behind them are put to the test. What opens is read as a whole, as decoding would
read it; its blocks are small, so that it has several, and it may be refused at any of them. If no
checksum was mended, all that is read until then has to be what was saved. Else it may be another
trie, but one that building it from its sequences would have given, and a journal has to do what it
says. Checking everything at once has to come to the same.
"""

from __future__ import annotations

import json
import random
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from trie import TokenTrie, Trie, TrieFileError, UpdatedTrie
from trie.index import trie_build as building
from trie.index.trie_build import TrieArrays
from trie.index.trie_files import open_arrays, write_arrays

_TRIES, _BLOCK = 40, 64
_NUMBERS = (0, 1, 2, 3, 63, 64, 65, 255, 256, 2**16, 2**31, 2**32, 2**63, -1, 1.5)
_VALUES: tuple[Any, ...] = (*_NUMBERS, "1", None, [], {})


def seal(directory: Path) -> None:
    """Mend the checksums, as one who changes files on purpose would."""
    meta = json.loads((directory / "meta.json").read_text())
    tokens, rows, high = (np.load(directory / f"{n}.npy") for n in ("tokens", "rows", "rows_high"))
    high = high.reshape(-1, high.shape[-1] or 1)
    block, words = meta["block"], meta["block"] // 64
    pieces = [
        a.reshape(-1)[at : at + block] for a in (tokens, rows) for at in range(0, a.size, block)
    ]
    pieces += [high[:, at : at + words] for at in range(0, -(-rows.size // 64), words)]
    sums = [zlib.crc32(piece.tobytes()) for piece in pieces]
    np.save(directory / "sums.npy", np.array(sums, dtype=np.uint32))
    for name in meta["crc32"]:
        array = np.load(directory / f"{name}.npy")
        meta["crc32"][name] = zlib.crc32(np.ascontiguousarray(array).tobytes())
    (directory / "meta.json").write_text(json.dumps(meta))


def damage_bytes(rng: random.Random, content: bytes, other: bytes) -> bytes:
    """Cut, change or lengthen the content of a file, or mix it with another one's."""
    kind, found = rng.randrange(6), bytearray(content)
    if kind == 0:
        return content[: rng.randrange(len(content) + 1)]
    if kind == 1:
        return other
    if kind == 2:
        return content + bytes(rng.randrange(256) for _ in range(rng.randrange(1, 99)))
    if kind == 3:
        at = rng.randrange(len(content))
        return content[:at] + other[at:]
    for _ in range(1 if kind == 4 else rng.randrange(1, 9)):
        at = rng.randrange(len(found))
        found[at] = found[at] ^ 1 << rng.randrange(8) if kind == 4 else rng.randrange(256)
    return bytes(found)


def damage_json(rng: random.Random, value: Any) -> Any:
    """Change something somewhere in what a JSON file says."""
    if isinstance(value, dict | list) and value and rng.random() < 0.8:
        places = list(value) if isinstance(value, dict) else range(len(value))
        at = rng.choice(places)
        if rng.random() < 0.1:
            return [one for place, one in enumerate(value) if place != at]
        changed = value.copy()
        changed[at] = damage_json(rng, value[at])
        return changed
    if isinstance(value, list) and rng.random() < 0.5:
        return rng.choice([value[::-1], [*value, *value], [*value, 0]])
    if isinstance(value, int) and rng.random() < 0.7:
        return value + rng.choice([-64, -2, -1, 1, 2, 64])
    return rng.choice(_VALUES)


def damage_array(rng: random.Random, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Change numbers of an array, their type, or the array's shape."""
    kind, flat = rng.randrange(10), values.copy()
    if kind == 0:
        return values[: rng.randrange(values.shape[0] + 1)]
    if kind == 1:
        return np.append(values, values.reshape(-1)[-1:])
    if kind == 2:
        return values.astype(rng.choice(["u1", "u2", "u4", "u8", "i8", "f8", ">u4"]))
    line = flat.reshape(-1)
    if not line.size:
        return np.zeros(rng.randrange(1, 4), dtype=values.dtype)
    a, b = rng.randrange(line.size), rng.randrange(line.size)
    if kind in (3, 4):
        line[a], line[b] = line[b], line[a]
    elif kind == 5:
        line[a] = line[b]
    elif kind == 6:
        line[a] = rng.choice([0, np.iinfo(line.dtype).max])
    else:
        line.view("u1")[rng.randrange(line.nbytes)] ^= 1 << rng.randrange(8)
    return flat


def damage_trie(rng: random.Random, directory: Path, other: Path) -> bool:
    """Damage files of a trie, with another one at hand; return whether checksums were mended."""
    paths = sorted(directory.iterdir())
    arrays = [path for path in paths if path.suffix == ".npy"]
    kind = rng.randrange(12)
    if kind < 6:  # numbers only; but for the first two, the checksums fit
        for path in rng.sample(arrays, rng.choice([1, 1, 2])):
            np.save(path, damage_array(rng, np.load(path)))
        if kind == 0:
            return False
        if kind == 1:
            _edit(directory / "meta.json", lambda meta: damage_json(rng, meta | {"crc32": {}}))
            return False
        seal(directory)
        return True
    if kind < 8:  # an array of another trie, and the checksums fit
        path = rng.choice(arrays)
        path.write_bytes((other / path.name).read_bytes())
        seal(directory)
        return True
    if kind == 8:
        _edit(directory / "meta.json", lambda meta: damage_json(rng, meta))
    elif kind == 9:  # in the header of an array
        path = rng.choice(arrays)
        content = path.read_bytes()
        path.write_bytes(damage_bytes(rng, content[:128], content[64:]) + content[128:])
    else:
        path = rng.choice(paths)
        source = rng.choice([other / path.name, rng.choice(paths)])
        path.write_bytes(damage_bytes(rng, path.read_bytes(), source.read_bytes()))
    return False


def damage_journal(rng: random.Random, path: Path) -> bool:
    """Damage the file of a trie's changes; return whether its checksum was mended."""
    content = path.read_bytes()
    head, body, _ = content.split(b"\n")
    if rng.random() < 0.4:
        path.write_bytes(damage_bytes(rng, content, body + head))
        return False
    changed = json.dumps(damage_json(rng, json.loads(body))).encode()
    about = json.loads(head) | {"crc32": zlib.crc32(changed)}
    if rng.random() < 0.1:
        about = damage_json(rng, about)
    path.write_bytes(json.dumps(about).encode() + b"\n" + changed + b"\n")
    return True


def _edit(path: Path, change: Callable[[Any], Any]) -> None:
    path.write_text(json.dumps(change(json.loads(path.read_text()))))


Sequences = dict[int, list[int]]


def spells(trie: Trie, found: Sequences | None = None) -> Sequences:
    """Walk all of a trie by what decoding uses; return its sequences by row, put into `found`."""
    found = {} if found is None else found
    seen: set[int] = set()
    todo: list[tuple[int, list[int]]] = [(trie.root, [])]
    while todo:
        node, path = todo.pop()
        assert 0 <= node < trie.nodes and node not in seen, "a circle"
        seen.add(node)
        rows = trie.rows(node).tolist()
        assert trie.ends(node) == bool(rows)
        tokens, nodes = trie.children(node)
        assert tokens.size or rows or not len(trie), "a dead end"
        assert np.all(np.diff(tokens) > 0)
        for row in rows:
            assert row not in found, "a row at two nodes"
            found[row] = path
        for token, below in zip(tokens.tolist(), nodes.tolist(), strict=True):
            assert trie.child(node, token) == below
            todo.append((below, [*path, token]))
    assert len(found) == len(trie)
    return dict(sorted(found.items()))


def parts(arrays: TrieArrays) -> list[list[int]]:
    """Return what decoding reads of a trie's arrays."""
    bits = [vector.words.tolist() for vector in (arrays.firsts, arrays.inner, arrays.ends)]
    return [
        *bits,
        arrays.tokens[1:].tolist(),
        arrays.rows.unpack().tolist(),
        arrays.shared.tolist(),
    ]


def is_sound(directory: Path) -> bool:
    """Whether the trie in a directory passes a check of everything."""
    try:
        TokenTrie.open(directory).check()
    except TrieFileError:
        return False
    return True


class Saved:
    """Tries in files, and journals of changes; each is damaged and put right again."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self._folder = folder
        self._tries: list[tuple[Path, list[list[int]]]] = []
        self._journals: list[tuple[Path, TokenTrie, Sequences]] = []
        for number in range(_TRIES):
            sequences = [
                [rng.choice([0, 1, 2, 300]) for _ in range(rng.randrange(rng.choice([4, 9])))]
                for _ in range(rng.choice([0, 1, 2, 7, 40, 200]))
            ]
            place = folder / f"trie{number}"
            place.mkdir()
            trie = TokenTrie.build(sequences)
            write_arrays(building.build_arrays(*building.concatenate(sequences)), place, _BLOCK)
            self._tries.append((place, sequences))
            changed = UpdatedTrie(trie).add([[1, number % 3], [4], [300, 300]])
            here = [*range(len(trie) + 3)]
            changed = changed.remove(rng.sample(here, rng.randrange(len(here))))
            path = folder / f"changes{number}"
            changed.save(path)
            self._journals.append((path, trie, spells(changed)))

    def trie(self, rng: random.Random) -> str:
        """Damage a trie, open it and read it; return what came of it."""
        (place, sequences), (other, _) = rng.sample(self._tries, 2)
        contents = {path: path.read_bytes() for path in place.iterdir()}
        mended = damage_trie(rng, place, other)
        found: Sequences = {}
        outcome = "refused when opened"
        try:
            trie = TokenTrie.open(place)
            outcome = "refused when read"
            read = [*spells(trie, found).values()]
        except TrieFileError as error:
            assert error.path.parent == place and str(error.path) in str(error)
            if not mended:
                assert all(sequences[row] == one for row, one in found.items()), "too late"
            assert not is_sound(place)
        else:
            if not mended:
                assert read == sequences, "the damage was not noticed"
            arrays, _ = open_arrays(place)
            assert parts(arrays) == parts(building.build_arrays(*building.concatenate(read)))
            assert is_sound(place) or trie.nodes == 1, "the root's token is nobody's"
            outcome = "equal" if read == sequences else "another sound trie"
            del trie, arrays
        for path, content in contents.items():
            path.write_bytes(content)
        return f"trie, checksums {'mended' if mended else 'as they were'}: {outcome}"

    def journal(self, rng: random.Random) -> str:
        """Damage a journal and open it; return what came of it."""
        path, base, sequences = rng.choice(self._journals)
        content = path.read_bytes()
        mended = damage_journal(rng, path)
        try:
            found = spells(UpdatedTrie.open(path, base))
        except ValueError as error:
            assert str(path) in str(error), "the error does not name the file"
            outcome = "refused"
        else:
            says = json.loads(path.read_bytes().split(b"\n")[1])
            expected = {row: one for row, one in spells(base).items() if row not in says["removed"]}
            expected |= dict(zip(says["added"], says["sequences"], strict=True))
            assert found == (expected if mended else sequences)
            outcome = "equal" if found == sequences else "other changes, as it says"
        path.write_bytes(content)
        return f"journal, checksum {'mended' if mended else 'as it was'}: {outcome}"


def rounds(folder: Path, count: int, seed: int) -> Counter[str]:
    """Run some rounds; count what came of them."""
    saved, outcomes = Saved(folder, random.Random(seed)), Counter[str]()
    for number in range(count):
        rng = random.Random(seed << 32 | number)
        outcomes[saved.journal(rng) if rng.random() < 0.2 else saved.trie(rng)] += 1
    return outcomes
