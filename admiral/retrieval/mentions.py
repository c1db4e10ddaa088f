"""Documents that a text mentions: their titles stand in it, or its sentence links to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import zip_longest

from admiral.kb import KnowledgeBase
from admiral.records import Document, Sentence
from admiral.retrieval.title_matching import find_mentions

# Of a document so many sentences are searched beside its evidence.
_MAX_SENTENCES = 16


def interleaved(*lists: Sequence[str]) -> list[str]:
    """Return the first of every list, then the second of every list, and so on, each once."""
    rounds = zip_longest(*lists)
    return list(dict.fromkeys(one for turn in rounds for one in turn if one is not None))


class MentionFinder:
    """Finds the documents of a knowledge base that sentences mention.

    A mention is what `admiral.retrieval.title_matching` finds, or a hyperlink, where the corpus has
    them. Matching is by spelling alone, so that a mention is a document worth reading, not a
    finding.

    Parameters
    ----------
    kb
        The open knowledge base.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb

    def in_text(self, text: str) -> list[str]:
        """Return the titles that `text` mentions, in order, each once."""
        return list(dict.fromkeys(self._find(text)))

    def in_evidence(self, evidence: Sequence[Sentence]) -> list[str]:
        """Return the titles that the evidence's documents mention or link to, each once.

        The first mentions of all evidence sentences come first, then the second ones, and so on;
        then, in the same way, the mentions in the other sentences of these documents, since what
        connects a document to the next one often stands beside its evidence. No document mentions
        itself.
        """
        documents = {s.title: self._kb.document(s.title) for s in evidence}

        @cache  # the evidence stands among the first sentences, mostly
        def named(title: str, index: int) -> list[str]:
            return self._named(documents[title], index)

        near = [named(s.title, s.index) for s in evidence]
        far = [
            [
                mentioned
                for index in range(min(len(document.sentences), _MAX_SENTENCES))
                for mentioned in named(title, index)
            ]
            for title, document in documents.items()
        ]
        return list(dict.fromkeys([*interleaved(*near), *interleaved(*far)]))

    def _named(self, document: Document, index: int) -> list[str]:
        """Return what one sentence of a document links to and mentions."""
        links = document.links[index] if document.links else ()
        linked = [t for t in links if self._kb.row(t) is not None]
        named = dict.fromkeys([*linked, *self._find(document.sentences[index])])
        return [title for title in named if title != document.title]

    def _find(self, text: str) -> Iterator[str]:
        for mention in find_mentions(self._kb, text):
            yield from mention.titles
