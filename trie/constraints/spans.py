"""Spans that may be copied from given texts, within a limit of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from trie.constraints.constraint import Trie
from trie.constraints.segments import InTrie
from trie.index.bits import Ints
from trie.index.token_trie import TokenTrie


class Limited(InTrie):
    """A sequence of a trie, such as of the spans of a text, that may be limited in length.

    Without a limit it is a segment itself.

    Parameters
    ----------
    trie
        The sequences; all of its nodes are looked at once.

    Raises
    ------
    ValueError
        If the trie is empty.
    """

    def __init__(self, trie: Trie) -> None:
        super().__init__(trie)
        self.fewest = trie.fewest()

    @property
    def shortest(self) -> int:
        """Number of tokens of the shortest sequence."""
        return int(self.fewest[self.trie.root])

    def within(self, most: int) -> Within:
        """Return the segment of the sequences that have at most so many tokens.

        Raises
        ------
        ValueError
            If there is none.
        """
        if self.shortest > most:
            raise ValueError(f"the shortest sequence has {self.shortest} tokens, more than {most}")
        return Within(self, min(most, self.trie.longest))


@dataclass(frozen=True, slots=True)
class Within:
    """A sequence of at most so many tokens; see `Limited.within`. It hands on its last node."""

    sequences: Limited
    most: int

    def begin(self, value: int) -> int:
        """Return the root; nodes are the states."""
        return self.sequences.begin(value)

    def moves(self, state: int) -> tuple[Ints, Ints]:
        """Return the children of a node that are not too far from an end."""
        tokens, nodes = self.sequences.moves(state)
        room = self.most - self.sequences.trie.depth(state) - 1
        kept = self.sequences.fewest[nodes] <= room
        return tokens[kept], nodes[kept]

    def value(self, state: int) -> int | None:
        """Return the node, if a sequence ends there."""
        return self.sequences.value(state)

    def holds(self, token: int) -> bool:
        """Whether it occurs in any sequence, however long."""
        return self.sequences.holds(token)


def copies(text: Sequence[int], spans: Iterable[tuple[int, int]]) -> TokenTrie:
    """Return the trie of some spans ``[begin, end)`` of a text's tokens; rows number the spans."""
    return TokenTrie.build(text[begin:end] for begin, end in spans)


def spans(cuts: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of one to `most` words, where word ``i`` is ``[cuts[i], cuts[i + 1])``."""
    for first, begin in enumerate(cuts):
        for end in cuts[first + 1 : first + 1 + most]:
            yield begin, end
