"""How segments are put together to a declaration of what may be decoded.

A declaration is a sequence of items, read one behind the other. An item is a segment, or one of
several declarations, or a function that says what comes next from what was read before. As segments
can always be completed, so can whatever is put together from them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from trie.constraints.segments import Segment


@dataclass(frozen=True, slots=True)
class Then:
    """Goes on with ``function(*arguments, value)``, where `value` is what was handed on last.

    A function that names itself repeats; what it still may use up is one of its arguments. The
    same function with equal arguments and value is taken to return the same.
    """

    function: Callable[..., Declaration]
    arguments: tuple[Hashable, ...] = ()

    def __call__(self, value: int) -> Declaration:
        """Return what comes next."""
        return self.function(*self.arguments, value)


class OneOf:
    """One of several declarations; they may begin alike, and an empty one may be among them.

    Raises
    ------
    ValueError
        If there is none.
    """

    def __init__(self, *declarations: Declaration) -> None:
        self.declarations = tuple(map(tuple, declarations))
        if not declarations:
            raise ValueError("there are no declarations to choose from")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OneOf) and self.declarations == other.declarations

    def __hash__(self) -> int:
        return hash(self.declarations)


Item: TypeAlias = Segment | OneOf | Then
Declaration: TypeAlias = Sequence[Item]


def several(declaration: Declaration, most: int, between: Declaration = ()) -> Declaration:
    """Return the declaration of one to `most` times the same, with something in between.

    Raises
    ------
    ValueError
        If `most` is less than 1.
    """
    if most < 1:
        raise ValueError(f"several are at least 1, not {most}")
    if most == 1:
        return declaration
    return *declaration, Then(_again, (tuple(declaration), most - 1, tuple(between)))


def _again(declaration: Declaration, most: int, between: Declaration, _: int) -> Declaration:
    return (OneOf((), (*between, *several(declaration, most, between))),)


def segments(declaration: Declaration) -> list[Segment]:
    """Return the segments that stand in a declaration, not those that functions will return."""
    found: list[Any] = []
    for item in declaration:
        if isinstance(item, OneOf):
            found += [one for part in item.declarations for one in segments(part)]
        elif not isinstance(item, Then):
            found.append(item)
    return found
