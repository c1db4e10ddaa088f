"""Ways to damage the files of a token trie, by chance or on purpose."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_VALUES: tuple[Any, ...] = (
    0,
    1,
    2,
    3,
    63,
    64,
    65,
    255,
    256,
    2**16,
    2**31,
    2**32,
    2**63,
    -1,
    1.5,
    "1",
    None,
    [],
    {},
)


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
