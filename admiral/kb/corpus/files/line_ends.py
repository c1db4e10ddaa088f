"""Join the lines of a text, and the words that were cut at their ends."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

_CUT = re.compile(r"([^\W\d_]+)[-‐]$")
_FIRST_PART = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]+(?:[-‐][^\W\d_]+)*")
_SOFT_HYPHEN = "\u00ad"
_VOCABULARY = Path(__file__).parents[3] / "data/mini/tokenizer.json"
_SHORTEST = 3  # letters of a part of a compound


class LineJoiner:
    """Joins lines of one text.

    A hyphen at a line end belongs to a compound if the text has that compound elsewhere, or if both
    parts are common words and the whole is none.

    Parameters
    ----------
    lines
        All lines of the text.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._words: set[str] = set()
        for line in lines:
            # The first and the last word may be parts of words.
            self._words.update(word.lower() for word in _WORD.findall(line)[1:-1])

    def join(self, before: str, line: str) -> str:
        """Return two adjoining lines as one."""
        if before.endswith(_SOFT_HYPHEN):
            return before[:-1] + line.lstrip()
        line = line.strip() if before else line
        if before[-1:] not in ("-", "‐") or not before[-2:-1].isalnum():
            return f"{before} {line}".strip()
        cut, rest = _CUT.search(before), _FIRST_PART.match(line)
        if cut is None or rest is None or not line[0].islower():
            return before + line
        return before + line if self._is_compound(cut[1].lower(), rest[0]) else before[:-1] + line

    def _is_compound(self, first: str, second: str) -> bool:
        if first + second in self._words:
            return False
        if f"{first}-{second}" in self._words:
            return True
        words = common_words()
        return (
            first + second not in words
            and min(len(first), len(second)) >= _SHORTEST
            and {first, second} <= words
        )


@cache
def common_words() -> frozenset[str]:
    """Return about 20,000 common English words: the vocabulary of the bundled model."""
    return frozenset(json.loads(_VOCABULARY.read_bytes())["model"]["vocab"])
