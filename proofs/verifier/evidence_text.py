"""Evidence as one text, as readers and classifiers expect it."""

from __future__ import annotations

from collections.abc import Iterable

from proofs.verifier.reading import Sentence


def sentence_text(sentence: Sentence) -> str:
    """Return a sentence with the title of its document before it, if there is one."""
    title, text = sentence
    return f"{title}: {text}" if title else text


def document_texts(sentences: Iterable[Sentence]) -> list[str]:
    """Return the text of each document of evidence: its title, then its sentences.

    Documents are in the order of their first sentence.
    """
    documents: dict[str, list[str]] = {}
    for title, text in sentences:
        documents.setdefault(title, []).append(text)
    return [sentence_text((title, " ".join(texts))) for title, texts in documents.items()]


def evidence_text(sentences: Iterable[Sentence]) -> str:
    """Return evidence as one text (see `document_texts`)."""
    return " ".join(document_texts(sentences))
