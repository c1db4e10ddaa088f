"""Links between the documents of the evidence: which name one another, which the claim names.

A claim over several documents is verified along a chain: it names one document, which names the
next. If the chain breaks, the evidence lacks a document. Names are compared by spelling, titles
without their parentheses, so links are only indications.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from proofs.logic.words import split_words, word_list

_QUALIFIER = re.compile(r"\s\([^()]*\)$")
_BREAK = ""  # a boundary between texts, which matches no word
# Words before a title that the claim mentions only to describe something else, as in "the director
# of Chinatown" and "the song from Chinatown".
_DESCRIBING = word_list(
    "of in from by at on with for to featuring directed created wrote writer starring behind "
    "called named"
)


@dataclass(frozen=True)  # no slots, since cached_property needs __dict__
class DocumentLinks:
    """The documents of the evidence as a graph.

    Attributes
    ----------
    titles
        The documents, in the order of the evidence.
    words
        For each document, the normalised words of its title and sentences.
    named
        For each document, whether the claim contains its title.
    describing
        For each document, whether its title follows a preposition or the like in the claim, and so
        probably describes another document.
    naming
        For each document, the documents that its sentences name.
    names
        For each document, the normalised words of its title without the parenthesis.
    """

    titles: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    named: tuple[bool, ...]
    describing: tuple[bool, ...]
    naming: tuple[frozenset[int], ...]
    names: tuple[tuple[str, ...], ...]

    @classmethod
    def find(cls, claim: str, evidence: Sequence[tuple[str, str]]) -> DocumentLinks:
        """Find the links in a claim and its evidence, pairs of title and sentence."""
        sentences: dict[str, list[str]] = {}
        for title, sentence in evidence:
            sentences.setdefault(title, []).append(sentence)
        titles = tuple(sentences)
        names = [_norms(_QUALIFIER.sub("", title)) for title in titles]
        bodies = [
            tuple(norm for sentence in sentences[title] for norm in (*_norms(sentence), _BREAK))
            for title in titles
        ]
        words = _norms(claim)
        mentions = [_occurrences(words, name) for name in names]
        return cls(
            titles,
            tuple((*_norms(t), _BREAK, *body) for t, body in zip(titles, bodies, strict=True)),
            tuple(map(bool, mentions)),
            tuple(any(at and words[at - 1] in _DESCRIBING for at in places) for places in mentions),
            tuple(
                frozenset(o for o, name in enumerate(names) if o != at and _occurrences(body, name))
                for at, body in enumerate(bodies)
            ),
            tuple(names),
        )

    @cached_property
    def neighbours(self) -> tuple[frozenset[int], ...]:
        """For each document, the documents that it names or that name it."""
        return tuple(
            named | {other for other, its_named in enumerate(self.naming) if at in its_named}
            for at, named in enumerate(self.naming)
        )

    @property
    def relevant(self) -> frozenset[int]:
        """The documents that the claim names or that have a link."""
        return frozenset(
            at for at in range(len(self.titles)) if self.named[at] or self.neighbours[at]
        )

    @property
    def reached(self) -> frozenset[int]:
        """The documents that the claim names and all that links lead to from there."""
        named = {at for at, is_named in enumerate(self.named) if is_named}
        return frozenset(named.union(*(self._component(at) for at in named)))

    @property
    def largest(self) -> int:
        """The size of the largest connected component; 0 without evidence."""
        return max((len(self._component(at)) for at in range(len(self.titles))), default=0)

    def has_title_like(self, name: Sequence[str]) -> bool:
        """Return whether a title contains a name, given by its normalised words, or vice versa."""
        return any(_occurrences(title, name) or _occurrences(name, title) for title in self.names)

    def _component(self, start: int) -> frozenset[int]:
        component, frontier = {start}, [start]
        while frontier:
            new = self.neighbours[frontier.pop()] - component
            component |= new
            frontier.extend(new)
        return frozenset(component)


def _norms(text: str) -> tuple[str, ...]:
    return tuple(word.norm for word in split_words(text) if word.norm)


def _occurrences(words: Sequence[str], name: Sequence[str]) -> list[int]:
    """Return the positions of a name, given by its words, in `words`; none for an empty name."""
    size = len(name)
    return [
        at
        for at in range(len(words) - size + 1 if size else 0)
        if words[at] == name[0] and tuple(words[at : at + size]) == tuple(name)
    ]
