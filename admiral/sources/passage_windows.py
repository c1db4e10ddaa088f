"""Cut a text into overlapping windows of words, at ends of sentences where one is near."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

from admiral.errors import AdmiralError
from admiral.io.sentence_splitter import sentence_spans

#: Number of words by which a window may begin or end earlier, so as not to cut a sentence.
SLACK = 20
#: Words of a passage, and from one passage to the next.
WORDS, STRIDE = 100, 50
# Longer runs without white space, such as text in Chinese or encoded data, count as several words.
_WORD = re.compile(r"\S{1,100}")
_LINE = re.compile(r"\n\s*(?=\S)")


def windows(
    text: str, words: int, stride: int, sentences: Iterable[int] | None = None
) -> list[tuple[int, int]]:
    """Return the (start, end) offsets of windows that together hold every word of a text.

    Window ``i`` begins at word ``i * stride`` and has `words` words. Where windows overlap, each
    boundary moves to the last beginning of a sentence or line among the `SLACK` words before it, if
    there is one. Where they do not (`stride` equals `words`), windows are cut as in SIDE (Petroni
    et al.), without regard to sentences. `sentences`: where sentences begin; None to find it out.
    """
    if not 1 <= stride <= words:
        raise AdmiralError(
            f"words={words}, stride={stride}: the stride must be at least 1, and at most the "
            "number of words, or parts of a text would be in no passage. Choose others"
        )
    spans = [match.span() for match in _WORD.finditer(text)]
    slack = 0 if stride == words else min(SLACK, stride - 1)
    starts = _boundaries(text, spans, sentences) if slack else []

    def boundary(word: int) -> int:
        place = bisect_right(starts, word) - 1
        return starts[place] if place >= 0 and starts[place] >= word - slack else word

    cut: list[tuple[int, int]] = []
    end = 0
    while end < len(spans):
        start = len(cut) * stride
        last = start + words
        end = len(spans) if last >= len(spans) else boundary(last)
        cut.append((spans[boundary(start)][0], spans[end - 1][1]))
        if last >= len(spans):
            break
    return cut


def _boundaries(
    text: str, spans: list[tuple[int, int]], sentences: Iterable[int] | None
) -> list[int]:
    """Return the numbers of the words that begin a sentence or a line, ascending."""
    if sentences is None:
        sentences = (start for start, _ in sentence_spans(text))
    offsets = set(sentences)
    offsets.update(match.end() for match in _LINE.finditer(text))
    return [number for number, (start, _) in enumerate(spans) if start in offsets]
