"""How the documents of the evidence hang together: which name each other, which the claim names.

A claim over several documents is checked along a chain: it names one of them, that one names the
next. Evidence in which the chain breaks off lacks a document. Names are compared by spelling, a
title without its parenthesis, so that what is found is a hint.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from proofs.words import pieces

_QUALIFIER = re.compile(r"\s\([^()]*\)$")
_BREAK = ""  # between two texts: no word


@dataclass(frozen=True, slots=True)
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
    neighbours
        Of each document those that name it or that it names.
    """

    titles: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    named: tuple[bool, ...]
    neighbours: tuple[frozenset[int], ...]

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
        neighbours: list[set[int]] = [set() for _ in titles]
        for at, name in enumerate(names):
            for other, body in enumerate(bodies):
                if at != other and _holds(body, name):
                    neighbours[at].add(other)
                    neighbours[other].add(at)
        words = _norms(claim)
        return cls(
            titles,
            tuple((*_norms(t), _BREAK, *body) for t, body in zip(titles, bodies, strict=True)),
            tuple(_holds(words, name) for name in names),
            tuple(map(frozenset, neighbours)),
        )

    @property
    def links(self) -> int:
        """Number of linked pairs."""
        return sum(map(len, self.neighbours)) // 2

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

    def _group(self, start: int) -> frozenset[int]:
        found, edge = {start}, [start]
        while edge:
            new = self.neighbours[edge.pop()] - found
            found |= new
            edge.extend(new)
        return frozenset(found)


def _norms(text: str) -> tuple[str, ...]:
    return tuple(word.norm for word in pieces(text) if word.norm)


def _holds(words: Sequence[str], name: Sequence[str]) -> bool:
    """Whether the words of `name` stand in `words` one behind the other."""
    size = len(name)
    return size > 0 and any(
        words[at] == name[0] and tuple(words[at : at + size]) == tuple(name)
        for at in range(len(words) - size + 1)
    )
