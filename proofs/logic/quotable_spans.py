"""The spans of an evidence text that a proof may quote.

Annotation, the grammar and validation share this rule: at most seven words of one sentence or
title, not stop words alone. Words that contain ``]`` are excluded, since the decoder could not tell
a closing bracket inside a quotation from the end of the quotation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from proofs.logic.proof import MAX_EVIDENCE_WORDS
from proofs.logic.words import Word, split_words

# Limits for input that is not a sentence; no model reads that far.
_MAX_CHARACTERS = 8192
_MAX_WORDS = 512
_MAX_SPAN_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class QuotableText:
    """A title or sentence of the evidence."""

    text: str  # the text, cut at white space if it is too long to be a sentence
    title: str  # the title of the document that the text belongs to
    words: tuple[Word, ...]

    @classmethod
    def from_text(cls, text: str, title: str) -> QuotableText:
        """Split a text into words, and cut it if it is too long."""
        if len(text) > _MAX_CHARACTERS:
            text = text[:_MAX_CHARACTERS]
            text = text[: max((i for i, c in enumerate(text) if c.isspace()), default=0)]
        words = split_words(text)
        if len(words) > _MAX_WORDS:
            # Do not cut between a word and the punctuation around it.
            words = [w for w in words if w.index < words[_MAX_WORDS].index]
            text = text[: words[-1].end] if words else ""
        return cls(text, title, tuple(words))

    def span_ends(self, first: int) -> Iterator[int]:
        """Yield every `last` such that words `first` to `last` (inclusive) may be quoted."""
        begin, has_content = self.words[first], False
        if not begin.norm:
            return  # a quotation may end with punctuation, but not begin with it
        for last in range(first, len(self.words)):
            word = self.words[last]
            if (
                word.index - begin.index >= MAX_EVIDENCE_WORDS
                or word.end - begin.start > _MAX_SPAN_CHARACTERS
                or "]" in self.text[word.start : word.end]
            ):
                return
            has_content |= word.is_content
            if has_content:
                yield last

    def quote(self, first: int, last: int) -> str:
        """Return the original text of words `first` to `last` (inclusive)."""
        return self.text[self.words[first].start : self.words[last].end]


def quotable_texts(evidence: Iterable[tuple[str, str]]) -> list[QuotableText]:
    """Return the distinct texts of the evidence, each title before its document's sentences."""
    titles: dict[str, str] = {}
    for title, sentence in evidence:
        titles.setdefault(title, title)
        titles.setdefault(sentence, title)
    return [QuotableText.from_text(text, title) for text, title in titles.items()]
