"""Select the sentences of long documents that rerankers read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from admiral.records import Document
from admiral.reranking.sentence_scores import non_blank_sentences


def shorten_document(claim: str, document: Document, count: int) -> Document:
    """Keep the sentences of a long document that share the most words with the claim.

    The other sentences become blank: rerankers skip blank sentences, and the kept ones keep their
    indices. Ties are broken in favour of earlier sentences, because documents tend to start with
    their subject.

    Parameters
    ----------
    claim
        The claim's text.
    document
        Returned unchanged if it has at most `count` sentences.
    count
        Number of sentences to keep.
    """
    if len(document.sentences) <= count:
        return document
    claim_words = set(_words(claim))
    indices = [s.index for s in non_blank_sentences([document])]
    shared = {i: len(claim_words.intersection(_words(document.sentences[i]))) for i in indices}
    kept = set(sorted(indices, key=lambda i: (-shared[i], i))[:count])
    sentences = tuple(s if i in kept else "" for i, s in enumerate(document.sentences))
    return replace(document, sentences=sentences)


def _words(text: str) -> Sequence[str]:
    return [word.strip(".,;:!?()\"'") for word in text.casefold().split()]
