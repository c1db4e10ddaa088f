"""The retriever's output as a decoding constraint: ``e_i ... [ title ] </s>``, or titles alone."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from admiral.retrieval.identifiers import Identifiers
from trie.constraints.composed import Composed, Shared, shared
from trie.constraints.constraint import Trie
from trie.constraints.segments import Fixed, Segment
from trie.model.tokens import Tokens


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
        kept = Identifiers(written, [document for _, document in ordered], count)
        super().__init__((kept, *_title(tokens, common)), common.automaton)

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


class TitlesConstraint(Composed):
    """A `trie.Constraint` that accepts `count` titles behind each other, each in brackets.

    This is what the paper's variant `joint-docs` generates. A title may come twice.

    Parameters
    ----------
    trie, tokens
        The titles, and the tokenizer that spelt them.
    count
        How many titles a sequence has.

    Raises
    ------
    ValueError
        If `count` is less than 1, or there are no titles, or titles that hold the end token.
    """

    def __init__(self, trie: Trie, tokens: Tokens, count: int) -> None:
        if count < 1:
            raise ValueError(f"a sequence has at least one title, not {count}")
        self._trie, self._count = trie, count
        self._open, self._close = tokens.symbol("["), tokens.symbol("]")
        common = shared(trie, tokens.eos)
        super().__init__(_title(tokens, common) * count, common.automaton)

    def parse(self, ids: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """Return the rows of each of the titles of a sequence with its end token.

        If the tokens can be read in several ways, that with the shortest first titles.

        Raises
        ------
        ValueError
            If the constraint does not let `ids` through to the end.
        """
        self.value(self.walk(ids))
        return tuple(
            tuple(self._trie.rows(node).tolist()) for node in self._nodes(ids[:-1], self._count)
        )

    def _nodes(self, ids: Sequence[int], count: int) -> list[int]:
        """Return the nodes of `count` titles that take up all of `ids`; none if there are none."""
        if not ids or ids[0] != self._open:
            return []
        node = self._trie.root
        for place in range(1, len(ids)):
            if ids[place] == self._close and self._trie.ends(node):
                behind = ids[place + 1 :]
                rest = self._nodes(behind, count - 1) if count > 1 else []
                if len(rest) == count - 1 and (count > 1 or not behind):
                    return [node, *rest]
            node = self._trie.child(node, ids[place])
            if node < 0:
                break
        return []


def _title(tokens: Tokens, common: Shared) -> tuple[Segment, ...]:
    """Return the declaration of a title in brackets."""
    return Fixed((tokens.symbol("["),)), common.sequences, Fixed((tokens.symbol("]"),))
