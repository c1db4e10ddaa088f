"""Spans copied from given texts, with a limit on their number of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from trie.constraints.constraint import Trie
from trie.constraints.segments import TrieSequence
from trie.index.bit_vector import Ints
from trie.index.token_trie import TokenTrie


class BoundedTrieSequence(TrieSequence):
    """A sequence of a trie, such as a trie of text spans, whose length can be bounded by `within`.

    Without a bound, it is a segment itself.

    Parameters
    ----------
    trie
        The sequences. All nodes are visited once, to find their distances to an end.

    Raises
    ------
    ValueError
        If the trie is empty.
    """

    def __init__(self, trie: Trie) -> None:
        super().__init__(trie)
        self.distances_to_end = trie.distances_to_end()

    @property
    def shortest(self) -> int:
        """Number of tokens of the shortest sequence."""
        return int(self.distances_to_end[self.trie.root])

    def within(self, max_tokens: int) -> LengthBound:
        """Return the segment of the sequences with at most `max_tokens` tokens.

        Raises
        ------
        ValueError
            If there is none.
        """
        if self.shortest > max_tokens:
            raise ValueError(
                f"the shortest sequence has {self.shortest} tokens, more than {max_tokens}"
            )
        return LengthBound(self, min(max_tokens, self.trie.longest))


@dataclass(frozen=True, slots=True)
class LengthBound:
    """A sequence of at most `max_tokens` tokens; see `BoundedTrieSequence.within`.

    The node at which it ends is the segment's value.
    """

    sequences: BoundedTrieSequence
    max_tokens: int

    def start_state(self, value: int) -> int:
        """Return the root; states are nodes."""
        return self.sequences.start_state(value)

    def successors(self, state: int) -> tuple[Ints, Ints]:
        """Return the children of a node from which an end is within reach."""
        tokens, nodes = self.sequences.successors(state)
        left = self.max_tokens - self.sequences.trie.depth(state) - 1
        kept = self.sequences.distances_to_end[nodes] <= left
        return tokens[kept], nodes[kept]

    def value(self, state: int) -> int | None:
        """Return the node, if a sequence ends there."""
        return self.sequences.value(state)

    def contains_token(self, token: int) -> bool:
        """Return whether `token` occurs in any sequence, however long."""
        return self.sequences.contains_token(token)


def span_trie(text: Sequence[int], spans: Iterable[tuple[int, int]]) -> TokenTrie:
    """Return the trie of spans ``[begin, end)`` of a text's tokens; rows are numbers of spans."""
    return TokenTrie.build(text[begin:end] for begin, end in spans)


def word_spans(cuts: Sequence[int], max_words: int) -> Iterator[tuple[int, int]]:
    """Yield all spans of 1 to `max_words` words, where word ``i`` is ``[cuts[i], cuts[i + 1])``."""
    for first, begin in enumerate(cuts):
        for end in cuts[first + 1 : first + 1 + max_words]:
            yield begin, end
