"""Documents of very many sentences, of which only the most promising are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from admiral.records import Document
from admiral.reranking.sentence_scores import readable


def shortened(claim: str, document: Document, count: int) -> Document:
    """Blank the sentences of a long document but for those that share most words with the claim.

    Rerankers pass over blank sentences, and the others keep their places. Of equally many words
    the earlier sentence stays: documents begin with what they are about.

    Parameters
    ----------
    claim
        What the document is read for.
    document
        Returned as it is where it has no more than `count` sentences.
    count
        Sentences to keep.
    """
    if len(document.sentences) <= count:
        return document
    wanted = set(_words(claim))
    places = [s.index for s in readable([document])]
    shared = {
        place: len(wanted.intersection(_words(document.sentences[place]))) for place in places
    }
    kept = set(sorted(places, key=lambda place: (-shared[place], place))[:count])
    sentences = tuple(s if place in kept else "" for place, s in enumerate(document.sentences))
    return replace(document, sentences=sentences)


def _words(text: str) -> Sequence[str]:
    return [word.strip(".,;:!?()\"'") for word in text.casefold().split()]
