"""Which spans of an evidence text a proof may quote.

The rule is the same for annotation, for the grammar and for validation: at most seven words, not
stop words alone, of one sentence or title. Words that hold ``]`` are left out, since a closing
bracket inside a quotation could not be told from its end while it is decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from proofs.logic.proof import MAX_EVIDENCE_WORDS
from proofs.logic.words import Word, pieces

# Bounds against texts that are no sentences; no model reads that far.
_MAX_CHARACTERS = 8192
_MAX_PIECES = 512
_MAX_SPAN_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class Quotable:
    """A title or sentence, the document that it belongs to, and its words.

    `text` is cut, at white space, where the original is too long to be a sentence.
    """

    text: str
    source: str
    words: tuple[Word, ...]

    @classmethod
    def of(cls, text: str, source: str) -> Quotable:
        """Divide a text into words."""
        if len(text) > _MAX_CHARACTERS:
            text = text[:_MAX_CHARACTERS]
            text = text[: max((i for i, c in enumerate(text) if c.isspace()), default=0)]
        words = pieces(text)
        if len(words) > _MAX_PIECES:
            # Not in the middle of a word and the punctuation around it.
            words = [w for w in words if w.index < words[_MAX_PIECES].index]
            text = text[: words[-1].end] if words else ""
        return cls(text, source, tuple(words))

    def lasts(self, first: int) -> Iterator[int]:
        """Yield every `last` such that words `first` to `last` (included) may be quoted."""
        begin, content = self.words[first], False
        if not begin.norm:
            return  # a quotation begins with a word, though it may end with a bracket
        for last in range(first, len(self.words)):
            word = self.words[last]
            if (
                word.index - begin.index >= MAX_EVIDENCE_WORDS
                or word.end - begin.start > _MAX_SPAN_CHARACTERS
                or "]" in self.text[word.start : word.end]
            ):
                return
            content |= word.content
            if content:
                yield last

    def quote(self, first: int, last: int) -> str:
        """Return the original text of words `first` to `last`."""
        return self.text[self.words[first].start : self.words[last].end]


def quotables(evidence: Iterable[tuple[str, str]]) -> list[Quotable]:
    """Return each text of the evidence once: a title before the sentences of its document."""
    texts: dict[str, str] = {}
    for title, sentence in evidence:
        texts.setdefault(title, title)
        texts.setdefault(sentence, title)
    return [Quotable.of(text, source) for text, source in texts.items()]
