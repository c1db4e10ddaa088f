"""One of a list of token sequences, then the end token: the simplest constraint."""

from __future__ import annotations

from collections.abc import Iterable

from trie.constraints.composed import Composed, shared
from trie.constraints.constraint import Trie


class TrieConstraint(Composed):
    """A `trie.Constraint` that accepts the sequences of a trie, each with the end token behind it.

    It depends on no input and keeps no trace of one, so a single object serves any number of them.
    What decoding visits is kept: some 30 bytes for each node and each of its children. A process
    that runs on and on makes a new one now and then: that is cheap, new ones share what is there,
    and begin anew when there are more than a million states.

    Parameters
    ----------
    trie
        The sequences, as the model spells them.
    eos
        The model's end token. The sequences themselves do not hold it.

    Raises
    ------
    ValueError
        If the trie is empty, or a sequence holds the end token.
    """

    def __init__(self, trie: Trie, eos: int) -> None:
        self._trie, self._eos = trie, eos
        common = shared(trie, eos)
        super().__init__([common.sequences], common.automaton)

    @property
    def longest(self) -> int:
        """Number of tokens of the longest sequence with its end token.

        A decoder that stops earlier (`max_new_tokens`) cuts sequences short.
        """
        return self._trie.longest + 1

    def rows(self, state: int) -> tuple[int, ...]:
        """Return the rows of the sequences that end in `state`; several if they are equal.

        Raises
        ------
        ValueError
            If `state` is not one behind the end token.
        """
        return tuple(self._trie.rows(self.value(state)).tolist())

    def parse(self, ids: Iterable[int]) -> tuple[int, ...]:
        """Return the rows of the sequence that `ids` spell up to the first end token.

        Parameters
        ----------
        ids
            What a model decoded, without its start token or prompt. What comes behind the end
            token, such as padding, is ignored.

        Raises
        ------
        ValueError
            If that is no sequence of the trie, or the end token is missing.
        """
        ids = list(ids)
        return self.rows(self.walk(ids[: ids.index(self._eos) + 1] if self._eos in ids else ids))
