"""Pseudo-citations: sentences of a knowledge base as claims, with the documents that they cite.

A sentence of document A that mentions document B is a claim in context, and B its source, if B
mentions A as well, since then B is likely to say the same (WAFER has real citations instead;
Petroni et al., 2023). In a share of the claims, the mention is masked: most real claims do not
name their source.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from admiral.citations.citation_records import CitedClaim
from admiral.kb import KnowledgeBase
from admiral.records import Document
from admiral.retrieval.title_matching import base_title, find_mentions

_SENTENCES = 6  # first sentences of a document that are read
_MIN_WORDS, _MAX_WORDS = 6, 60  # of a claim
_MASKS = ("it", "he", "she", "they", "the company", "another", "one")


@dataclass(frozen=True, slots=True)
class PseudoCitation:
    """A claim in context and the title of its source."""

    claim: CitedClaim
    source: str


def pseudo_citations(
    kb: KnowledgeBase, seed: int = 0, *, masked: float = 0.5, excluded: Collection[str] = ()
) -> Iterator[PseudoCitation]:
    """Yield the pseudo-citations of all documents of a knowledge base, in random order.

    Parameters
    ----------
    kb
        The knowledge base.
    seed
        Seed of the order and of the masks.
    masked
        Probability that the name of the source is masked in the claim.
    excluded
        Titles that are neither the page of a claim nor a source.
    """
    rng = random.Random(seed)
    rows = [int(row) for row in kb.rows()]
    rng.shuffle(rows)
    for row in rows:
        document = kb.document_at(row)
        if document.title in excluded:
            continue
        for number, sentence in enumerate(document.sentences[:_SENTENCES]):
            if not _MIN_WORDS <= len(sentence.split()) <= _MAX_WORDS:
                continue
            for start, end, source in _sources(kb, document, sentence):
                text = sentence
                if source in excluded:
                    continue
                if rng.random() < masked:
                    text = sentence[:start] + rng.choice(_MASKS) + sentence[end:]
                claim = CitedClaim(
                    id=f"{row}:{number}",
                    claim=text,
                    page=document.title,
                    before=" ".join(document.sentences[:number]),
                )
                yield PseudoCitation(claim, source)


def _sources(
    kb: KnowledgeBase, document: Document, sentence: str
) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and title of each mention of a document that mentions `document`."""
    for mention in find_mentions(kb, sentence):
        title = mention.titles[0]
        # A name with several meanings, or of the same thing, is no sign of a source.
        if len(mention.titles) > 1 or base_title(title) == base_title(document.title):
            continue
        other = kb.document(title)
        # Most names of one word are those of countries, months and languages.
        if len(base_title(title).split()) > 1 and _mentions(kb, other, document.title):
            yield mention.start, mention.end, title


def _mentions(kb: KnowledgeBase, document: Document, title: str) -> bool:
    """Return whether the first sentences of a document mention a title."""
    if base_title(title) not in (text := " ".join(document.sentences[:_SENTENCES])):
        return False
    return any(title in mention.titles for mention in find_mentions(kb, text))
