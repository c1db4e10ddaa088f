"""How the documents of the evidence hang together: which name each other, which the claim names.

A claim over several documents is checked along a chain: it names one of them, that one names the
next. Evidence in which the chain breaks off lacks a document. Names are compared by spelling, a
title without its parenthesis, so that what is found is a hint.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from proofs.logic.words import pieces, word_list

_QUALIFIER = re.compile(r"\s\([^()]*\)$")
_BREAK = ""  # between two texts: no word
# What stands before a title where the claim means somebody or something else by it, as in "the
# director of Chinatown" and "the song from Chinatown".
_BEFORE = word_list(
    "of in from by at on with for to featuring directed created wrote writer starring behind "
    "called named"
)


@dataclass(frozen=True)  # without slots: what is cached needs a place
class Links:
    """The documents of the evidence as a graph.

    Attributes
    ----------
    titles
        The documents, in the order of the evidence.
    words
        Of each document the normalised words of its title and sentences.
    named
        Whether the claim holds the title.
    described
        Whether the claim holds it behind a preposition or the like: so it rather tells another one
        by it.
    naming
        Of each document those that its sentences name.
    names
        The normalised words of each title, without its parenthesis.
    """

    titles: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    named: tuple[bool, ...]
    described: tuple[bool, ...]
    naming: tuple[frozenset[int], ...]
    names: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, claim: str, evidence: Sequence[tuple[str, str]]) -> Links:
        """Find the links of a claim and its evidence, pairs of title and sentence."""
        texts: dict[str, list[str]] = {}
        for title, sentence in evidence:
            texts.setdefault(title, []).append(sentence)
        titles = tuple(texts)
        names = [_norms(_QUALIFIER.sub("", title)) for title in titles]
        bodies = [
            tuple(norm for text in texts[title] for norm in (*_norms(text), _BREAK))
            for title in titles
        ]
        words = _norms(claim)
        places = [_places(words, name) for name in names]
        return cls(
            titles,
            tuple((*_norms(t), _BREAK, *body) for t, body in zip(titles, bodies, strict=True)),
            tuple(map(bool, places)),
            tuple(any(at and words[at - 1] in _BEFORE for at in found) for found in places),
            tuple(
                frozenset(o for o, name in enumerate(names) if o != at and _places(body, name))
                for at, body in enumerate(bodies)
            ),
            tuple(names),
        )

    @cached_property
    def neighbours(self) -> tuple[frozenset[int], ...]:
        """Of each document those that name it or that it names."""
        return tuple(
            named | {other for other, its in enumerate(self.naming) if at in its}
            for at, named in enumerate(self.naming)
        )

    @property
    def useful(self) -> frozenset[int]:
        """Documents that the claim names or that are linked with another one."""
        return frozenset(
            at for at in range(len(self.titles)) if self.named[at] or self.neighbours[at]
        )

    @property
    def reached(self) -> frozenset[int]:
        """Documents that links lead to from those that the claim names, and these."""
        found = {at for at, named in enumerate(self.named) if named}
        return frozenset(found.union(*(self._group(at) for at in found)))

    @property
    def largest(self) -> int:
        """Most documents that hang together; 0 without evidence."""
        return max((len(self._group(at)) for at in range(len(self.titles))), default=0)

    def titled(self, name: Sequence[str]) -> bool:
        """Return whether a title is part of a name, given by its normalised words, or has it."""
        return any(_places(title, name) or _places(name, title) for title in self.names)

    def _group(self, start: int) -> frozenset[int]:
        found, edge = {start}, [start]
        while edge:
            new = self.neighbours[edge.pop()] - found
            found |= new
            edge.extend(new)
        return frozenset(found)


def _norms(text: str) -> tuple[str, ...]:
    return tuple(word.norm for word in pieces(text) if word.norm)


def _places(words: Sequence[str], name: Sequence[str]) -> list[int]:
    """Return where the words of `name`, if it has any, stand in `words` one behind the other."""
    size = len(name)
    return [
        at
        for at in range(len(words) - size + 1 if size else 0)
        if words[at] == name[0] and tuple(words[at : at + size]) == tuple(name)
    ]
