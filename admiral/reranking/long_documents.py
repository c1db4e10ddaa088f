"""Select the sentences of long documents that rerankers read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from admiral.records import SECTION_SEPARATOR, Document

# First sentence and end of a passage; None is the end of the document.
Span = tuple[int, int | None]
# BM25's saturation of term frequencies and normalisation of lengths, for sentences.
_K1, _B = 0.9, 0.4


class SentenceSelection:
    """The sentences of one document that are read, which can be reduced to the best of them.

    Sentences are ranked by the terms that they share with a claim, each with its inverse document
    frequency (BM25). The headings above a sentence count as part of it: below "Author", a name is
    enough. Ties are broken in favour of earlier sentences, because documents tend to start with
    their subject.

    Parameters
    ----------
    document
        The document.
    spans
        Passages of the document to choose from.
    weights
        The weight of each index term.
    terms
        Turns a text into its index terms.
    """

    def __init__(
        self,
        document: Document,
        spans: Sequence[Span],
        weights: Mapping[str, float],
        terms: Callable[[str], Sequence[str]],
    ) -> None:
        self._document, self._weights, self._terms = document, weights, terms
        count = len(document.sentences)
        chosen = {i for start, end in spans for i in range(count)[start:end]}
        self._sentences = [i for i in sorted(chosen) if document.sentences[i].strip()]
        self._whole = len(chosen) == count
        self._is_ranked = False

    def __len__(self) -> int:
        return len(self._sentences)

    @property
    def document_length(self) -> int:
        """Number of sentences of the document."""
        return len(self._document.sentences)

    @property
    def characters(self) -> int:
        """Number of characters of the selected sentences."""
        return sum(len(self._document.sentences[i]) for i in self._sentences)

    def keep(self, sentences: int, characters: int | None = None) -> None:
        """Reduce the selection to its best sentences, unless it is small enough.

        Parameters
        ----------
        sentences
            Maximum number of sentences.
        characters
            Maximum number of characters of all sentences; the best sentence is kept in any case.
        """
        if len(self) <= sentences and (characters is None or self.characters <= characters):
            return
        if not self._is_ranked:
            self._sentences = self._ranked()
            self._is_ranked = True
        kept: list[int] = []
        total = 0
        for index in self._sentences[:sentences]:
            total += len(self._document.sentences[index])
            if kept and characters is not None and total > characters:
                break
            kept.append(index)
        self._sentences, self._whole = kept, False

    def document(self) -> Document:
        """Return the document with all other sentences blank: rerankers skip these."""
        if self._whole:
            return self._document
        kept = set(self._sentences)
        given = self._document.sentences
        return replace(
            self._document, sentences=tuple(s if i in kept else "" for i, s in enumerate(given))
        )

    def _ranked(self) -> list[int]:
        """Return the selected sentences, those that match best first."""
        document = self._document
        counts = {i: Counter(self._terms(document.sentences[i])) for i in self._sentences}
        lengths = {i: terms.total() for i, terms in counts.items()}
        mean_length = sum(lengths.values()) / len(lengths) or 1.0
        if document.sections:
            headings = {
                section: self._terms(section.replace(SECTION_SEPARATOR, " "))
                for section in {document.sections[i] for i in self._sentences}
            }
            for i, terms in counts.items():
                terms.update(headings[document.sections[i]])

        def score(i: int) -> float:
            norm = _K1 * (1 - _B + _B * lengths[i] / mean_length)
            shared = self._weights.keys() & counts[i].keys()
            return sum(
                self._weights[t] * counts[i][t] / (counts[i][t] + norm) for t in sorted(shared)
            )

        return sorted(self._sentences, key=lambda i: (-score(i), i))


def share_characters(selections: Sequence[SentenceSelection], characters: int) -> None:
    """Reduce the longest selections until all together have at most `characters` characters.

    Each keeps its best sentence, and up to the same number of characters as the others: selections
    that are shorter stay as they are.
    """
    sizes = sorted(selection.characters for selection in selections)
    if sum(sizes) <= characters:
        return
    left, share = characters, 0
    for number, size in enumerate(sizes):
        share = left // (len(sizes) - number)
        if size > share:
            break
        left -= size
    for selection in selections:
        selection.keep(len(selection), share)
