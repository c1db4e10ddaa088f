"""Find the documents that texts mention, by title, by alias or by hyperlink."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import zip_longest
from typing import Protocol

from admiral.kb import KnowledgeBase
from admiral.protocols import MentionFinder
from admiral.records import Document, Sentence
from admiral.retrieval.alias_matching import Aliases, find_aliases
from admiral.retrieval.title_matching import Mention, Titles, find_mentions

# Number of sentences per document that are searched in addition to its evidence sentences.
_MAX_SENTENCES = 16


class Names(Titles, Aliases, Protocol):
    """The titles and aliases of a knowledge base."""


class TitleMentionFinder:
    """Find the documents of a knowledge base that a text names by title or alias, or links to.

    Names are matched by spelling alone (`admiral.retrieval.title_matching`,
    `admiral.retrieval.alias_matching`), so a mention is a document worth reading, not a resolved
    entity. An alias inside a title that is mentioned does not count.

    Parameters
    ----------
    kb
        The open knowledge base.
    aliases
        Whether to find aliases too.
    """

    def __init__(self, kb: KnowledgeBase, *, aliases: bool = True) -> None:
        self._kb, self._aliases = kb, aliases

    def in_text(self, text: str) -> list[str]:
        """Return the titles that `text` mentions, in order, each once."""
        return list(dict.fromkeys(self._titles_in(text)))

    def in_evidence(self, evidence: Sequence[Sentence]) -> list[str]:
        """Return the titles that the documents of the evidence mention or link to, each once.

        The mentions of the evidence sentences come first, interleaved: the first mention of every
        sentence, then the second one, and so on. The mentions of the other sentences of these
        documents follow in the same way, because the link to the next document is often found near
        the evidence. A document's own title does not count.
        """
        documents = {s.title: self._kb.document(s.title) for s in evidence}

        @cache  # evidence sentences are usually among the first sentences as well
        def mentioned(title: str, index: int) -> list[str]:
            return self._titles_in_sentence(documents[title], index)

        in_evidence = [mentioned(s.title, s.index) for s in evidence]
        in_documents = [
            [
                other_title
                for index in range(min(len(document.sentences), _MAX_SENTENCES))
                for other_title in mentioned(title, index)
            ]
            for title, document in documents.items()
        ]
        return list(dict.fromkeys([*interleaved(*in_evidence), *interleaved(*in_documents)]))

    def _titles_in_sentence(self, document: Document, index: int) -> list[str]:
        """Return the hyperlinks and mentions of one sentence of a document."""
        links = document.links[index] if document.links else ()
        rows = (self._kb.row(title) for title in links)
        hyperlinks = [self._kb.title(row) for row in rows if row is not None]
        titles = dict.fromkeys([*hyperlinks, *self._titles_in(document.sentences[index])])
        return [title for title in titles if title != document.title]

    def _titles_in(self, text: str) -> Iterator[str]:
        for mention in find_names(self._kb, text, aliases=self._aliases):
            yield from mention.titles


def find_names(names: Names, text: str, *, aliases: bool = True) -> list[Mention]:
    """Return the mentions by title and, if asked for, by alias, left to right.

    An alias inside a title that is mentioned does not count.
    """
    by_title = list(find_mentions(names, text))
    if not aliases:
        return by_title
    by_alias = (
        mention
        for mention in find_aliases(names, text)
        if not any(t.start <= mention.start and mention.end <= t.end for t in by_title)
    )
    return sorted([*by_title, *by_alias], key=lambda mention: mention.start)


def mentions_in_texts(finder: MentionFinder | None, texts: Sequence[str]) -> list[list[str]]:
    """Return the titles that each text mentions; empty lists without a mention finder."""
    return [finder.in_text(text) if finder is not None else [] for text in texts]


def interleaved(*lists: Sequence[str]) -> list[str]:
    """Return the first item of every list, then every second item, and so on, each item once."""
    rounds = zip_longest(*lists)
    return list(dict.fromkeys(item for turn in rounds for item in turn if item is not None))
