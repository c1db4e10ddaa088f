"""Grammars: how segments are combined into a description of what may be decoded.

A grammar is a sequence of items that are read one after another. An item is a segment, a choice
between several grammars, or a function that returns the rest of the grammar from what has been
read. Since segments can always be completed, so can every grammar built from them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from trie.constraints.segments import Segment


@dataclass(frozen=True, slots=True)
class Deferred:
    """Continue with the grammar ``function(*arguments, value)``.

    `value` is the value of the previous segment. A function that refers to itself expresses
    repetition; a bound on it belongs in the arguments. The function must be pure: equal arguments
    and values give equal grammars.
    """

    function: Callable[..., Grammar]
    arguments: tuple[Hashable, ...] = ()

    def __call__(self, value: int) -> Grammar:
        """Return the grammar of what comes next."""
        return self.function(*self.arguments, value)


class Alternatives:
    """One of several grammars, which may share prefixes; one of them may be empty.

    Raises
    ------
    ValueError
        If there is none.
    """

    def __init__(self, *grammars: Grammar) -> None:
        self.grammars = tuple(map(tuple, grammars))
        if not grammars:
            raise ValueError("there are no grammars to choose from")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alternatives) and self.grammars == other.grammars

    def __hash__(self) -> int:
        return hash(self.grammars)


Item: TypeAlias = Segment | Alternatives | Deferred
Grammar: TypeAlias = Sequence[Item]


def repeated(grammar: Grammar, max_times: int, separator: Grammar = ()) -> Grammar:
    """Return the grammar of 1 to `max_times` repetitions, with a separator between them.

    Raises
    ------
    ValueError
        If `max_times` is less than 1.
    """
    if max_times < 1:
        raise ValueError(f"max_times must be at least 1, not {max_times}")
    if max_times == 1:
        return grammar
    return *grammar, Deferred(_repeat, (tuple(grammar), max_times - 1, tuple(separator)))


def _repeat(grammar: Grammar, max_times: int, separator: Grammar, _: int) -> Grammar:
    return (Alternatives((), (*separator, *repeated(grammar, max_times, separator))),)


def segments_of(grammar: Grammar) -> list[Segment]:
    """Return the segments that a grammar contains, without those that functions will return."""
    segments: list[Any] = []
    for item in grammar:
        if isinstance(item, Alternatives):
            segments += [segment for part in item.grammars for segment in segments_of(part)]
        elif not isinstance(item, Deferred):
            segments.append(item)
    return segments
