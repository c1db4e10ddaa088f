"""Texts as tokenizers and JSON accept them."""

from __future__ import annotations


def encodable(text: str) -> str:
    """Return the text with ``?`` in place of lone surrogates, which have no UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")
