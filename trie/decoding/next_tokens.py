"""What may follow each beam of a batch of claims, asked for once per constraint and state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trie.constraints.constraint import Constraint, Transitions
from trie.index.bits import Ints
from trie.index.runs import runs


@dataclass(frozen=True, slots=True)
class Following:
    """The continuations of some beams; beams in the same state share a group of them.

    Attributes
    ----------
    groups
        For each beam, its group.
    tokens, states
        The tokens that may follow, ascending within each group, and the state behind each.
    firsts, sizes
        Where each group begins in `tokens`, and how many it has.
    """

    groups: Ints
    tokens: Ints
    states: Ints
    firsts: Ints
    sizes: Ints

    def places(self, beams: Ints) -> tuple[Ints, Ints]:
        """Return the beam and the place in `tokens` of every continuation of these `beams`."""
        groups = self.groups[beams]
        sizes = self.sizes[groups]
        return np.repeat(beams, sizes), runs(self.firsts[groups], sizes)

    def behind(self, groups: Ints, tokens: Ints) -> Ints:
        """Return the state behind a token of each of some groups, -1 where it may not follow.

        Nothing may follow group -1.
        """
        width = 1 + max(int(self.tokens.max(initial=0)), int(tokens.max(initial=0)))
        keys = np.repeat(np.arange(len(self.sizes)) * width, self.sizes) + self.tokens
        wanted = groups * width + tokens
        at = keys.searchsorted(wanted)
        found = np.append(keys, -1)[at] == wanted
        return np.where(found, np.append(self.states, -1)[at], -1)

    def and_single(self, tokens: Ints, groups: Ints) -> Following:
        """Return these groups and, for each of `tokens`, one of it alone; beams are in `groups`."""
        ones = np.ones(len(tokens), dtype=np.int64)
        return Following(
            groups,
            np.concatenate([self.tokens, tokens]),
            np.concatenate([self.states, -ones]),
            np.concatenate([self.firsts, len(self.tokens) + ones.cumsum() - 1]),
            np.concatenate([self.sizes, ones]),
        )

    @property
    def forced(self) -> bool:
        """Whether no beam has a choice. Some may have ended."""
        return bool((self.sizes <= 1).all())


class ConstraintBatch:
    """The constraints of a batch of claims; claims may share one."""

    def __init__(self, constraints: Sequence[Constraint]) -> None:
        numbers: dict[int, int] = {}
        self._numbers = np.array([numbers.setdefault(id(c), len(numbers)) for c in constraints])
        self._distinct = list({id(c): c for c in constraints}.values())
        self.starts: Ints = np.array([c.start for c in constraints], dtype=np.int64)

    def following(self, claims: Ints, states: Ints, vocabulary: int) -> Following:
        """Return what may follow beams of these claims in these states.

        Raises
        ------
        ValueError
            If a constraint allows a token that is not below `vocabulary`.
        """
        numbers = self._numbers[claims]
        groups, count = np.empty(len(states), dtype=np.int64), 0
        none = np.empty(0, dtype=np.int64)
        found = [Transitions(none, none, none)]
        for number in range(len(self._distinct)):
            mine = np.flatnonzero(numbers == number)
            if not mine.size:
                continue
            distinct, groups_of = np.unique(states[mine], return_inverse=True)
            groups[mine] = count + groups_of
            count += len(distinct)
            found.append(self._distinct[number].transitions(distinct))
        tokens = np.concatenate([f.tokens for f in found])
        if tokens.size and not 0 <= tokens.min() <= tokens.max() < vocabulary:
            raise ValueError(
                f"a constraint allows a token outside the model's vocabulary of {vocabulary}; "
                "are model and tokenizer of the same checkpoint?"
            )
        behind = np.concatenate([f.states for f in found])
        sizes = np.concatenate([f.sizes for f in found])
        return Following(groups, tokens, behind, np.cumsum(sizes) - sizes, sizes)
