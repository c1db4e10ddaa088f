"""Documents that a text mentions: their titles stand in it, or its sentence links to them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice, zip_longest

from admiral.kb import KnowledgeBase
from admiral.records import Document, Sentence

_WORD = re.compile(r"\w+(?:[-'’.&]\w+)*\.?")
_POSSESSIVE = re.compile(r"['’]s?$")
_MAX_WORDS = 8
# Of a text so many characters are searched, of a document so many sentences beside its evidence.
_MAX_TEXT = 4096
_MAX_SENTENCES = 16
# Titles that differ in their parentheses only: "Alien" may be "Alien (film)".
_MAX_QUALIFIED = 3
# A single word that is capital because a sentence begins with it mostly names nothing.
_OPENERS = frozenset(
    re.findall(
        r"\w+",
        """
        A After All Although An And As At Before Both But By During Each For From He Her His
        However I In It Its Many Most On One Other She Since Some That The Their There These
        They This Those Through To Two Under Until We When Where While With
        """,
    )
)


def interleaved(*lists: Sequence[str]) -> list[str]:
    """Return the first of every list, then the second of every list, and so on, each once."""
    rounds = zip_longest(*lists)
    return list(dict.fromkeys(one for turn in rounds for one in turn if one is not None))


class MentionFinder:
    """Finds the documents of a knowledge base that sentences mention.

    A mention is the longest run of words, beginning with a capital or a digit, that is a title,
    or a title without its parenthesis; or a hyperlink, where the corpus has them. Matching is by
    spelling alone, so that a mention is a document worth reading, not a finding.

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
        text = text[:_MAX_TEXT]
        words = list(_WORD.finditer(text))
        place = 0
        while place < len(words):
            length, titles = self._longest(text, words[place : place + _MAX_WORDS])
            yield from titles
            place += max(length, 1)

    def _longest(self, text: str, words: Sequence[re.Match[str]]) -> tuple[int, list[str]]:
        """Return the longest title at the first word, as its number of words and the titles."""
        start = words[0].start()
        if not (text[start].isupper() or text[start].isdigit()):
            return 0, []
        for length in range(len(words), 0, -1):
            end = words[length - 1].end()
            # A qualifier that is spelled out, as in "Alien (film)", says which one is meant.
            name = text[start : end + text.startswith(")", end)]
            bare = name.rstrip(".)")
            if length == 1 and (bare in _OPENERS or bare.isdigit()):
                continue
            for form in dict.fromkeys((name, bare, _POSSESSIVE.sub("", bare))):
                titles = self._titles(form)
                if titles:
                    return length, titles
        return 0, []

    def _titles(self, name: str) -> list[str]:
        row = self._kb.row(name)
        exact = [] if row is None else [self._kb.title(row)]  # as it is stored
        others = self._kb.complete(f"{name} (")
        return exact + [title for title, _ in islice(others, _MAX_QUALIFIED)]
