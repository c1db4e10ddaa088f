"""Split sentences of corpora that are too long to be read by a model.

Texts are split into sentences of at most 2,000 characters (`admiral.kb.corpus.sentence_splitter`).
Sentences that a corpus gives keep their numbers, since gold evidence refers to them, unless they
are so long that a single one could fill the memory.
"""

from __future__ import annotations

from dataclasses import replace

from admiral.kb.corpus.sentence_splitter import bounded_spans
from admiral.records import Document

LONGEST_GIVEN_SENTENCE = 10_000  # characters


def split_long_sentences(document: Document) -> tuple[Document, int]:
    """Split the sentences longer than `LONGEST_GIVEN_SENTENCE` at white space.

    The links of a sentence stay with its first part.

    Parameters
    ----------
    document
        A cleaned document.

    Returns
    -------
    Document
        The same document if no sentence is too long.
    int
        Number of sentences that were split.
    """
    split = sum(len(sentence) > LONGEST_GIVEN_SENTENCE for sentence in document.sentences)
    if not split:
        return document, 0
    parts = [
        (number, start, end)
        for number, sentence in enumerate(document.sentences)
        for start, end in bounded_spans(sentence, 0, len(sentence), LONGEST_GIVEN_SENTENCE)
    ]
    changed = replace(
        document,
        sentences=tuple(document.sentences[number][start:end] for number, start, end in parts),
        links=tuple(document.links[n] if not start else () for n, start, _ in parts)
        if document.links
        else (),
        sections=tuple(document.sections[n] for n, *_ in parts) if document.sections else (),
        offsets=tuple(document.offsets[n] + start for n, start, _ in parts)
        if document.offsets
        else (),
    )
    return changed, split
