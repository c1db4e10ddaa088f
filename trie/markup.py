"""The retriever's output, ``e_i e_j ... [ title ] </s>``, as a decoding constraint."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from trie.composed import Composed, shared
from trie.constraint import Trie
from trie.identifiers import Identifiers
from trie.segments import Fixed
from trie.tokens import Tokens


class HopConstraint(Composed):
    """A `trie.Constraint` that accepts the identifiers of `count` documents and a title.

    A title may itself hold ``[`` and ``]``: the state, not the text, tells whether it is over.

    Parameters
    ----------
    trie, tokens
        The titles, and the tokenizer that spelt them.
    identifiers
        Number and document of each piece of evidence. The numbers are distinct.
    count
        How many identifiers a sequence has: ascending, of distinct documents.

    Raises
    ------
    ValueError
        If there are fewer than `count` documents, no titles, or titles that hold the end token.
    """

    def __init__(
        self,
        trie: Trie,
        tokens: Tokens,
        identifiers: Sequence[tuple[int, Hashable]],
        count: int,
    ) -> None:
        ordered = sorted(identifiers, key=lambda pair: pair[0])
        written = [tokens.identifier(number) for number, _ in ordered]
        if not len(trie):
            raise ValueError("there are no titles to choose from")
        self._trie, self._count = trie, count
        self._numbers = {token: pair[0] for token, pair in zip(written, ordered, strict=True)}
        common = shared(trie, tokens.eos)
        declaration = (
            Identifiers(written, [document for _, document in ordered], count),
            Fixed((tokens.symbol("["),)),
            common.sequences,
            Fixed((tokens.symbol("]"),)),
        )
        super().__init__(declaration, common.automaton)

    def rows(self, state: int) -> tuple[int, ...]:
        """Return the rows of the titles that a sequence which ended in `state` spells.

        Raises
        ------
        ValueError
            If `state` is not one behind the end token.
        """
        return tuple(self._trie.rows(self.value(state)).tolist())

    def parse(self, ids: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the identifier numbers and the title's rows of a sequence with its end token.

        Raises
        ------
        ValueError
            If the constraint does not let `ids` through to the end.
        """
        rows = self.rows(self.walk(ids))
        return tuple(self._numbers[token] for token in ids[: self._count]), rows
