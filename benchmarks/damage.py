"""Ways to damage a file by chance."""

from __future__ import annotations

import random


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
