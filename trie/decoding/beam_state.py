"""The sequences of a beam search, and its rule: which run on, which have ended, when to stop.

The rule is that of transformers' beam search with ``length_penalty=0`` and
``early_stopping=False``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trie.decoding.beam_choice import Choice, Floats, rank
from trie.index.bits import Ints


@dataclass(frozen=True, slots=True)
class Sequences:
    """Sequences of all claims: those of a claim behind each other, the best first.

    Attributes
    ----------
    claims, scores, states
        Of each sequence; claims ascend.
    tokens
        (sequences, length); what is behind the end token does not count.
    """

    claims: Ints
    tokens: Ints
    scores: Floats
    states: Ints

    @classmethod
    def begin(cls, states: Ints) -> Sequences:
        """Return one empty sequence for each claim."""
        count = len(states)
        return cls(np.arange(count), np.empty((count, 0), dtype=np.int64), np.zeros(count), states)

    @property
    def length(self) -> int:
        """Number of tokens."""
        return self.tokens.shape[1]

    def take(self, places: Ints | npt.NDArray[np.bool_]) -> Sequences:
        """Return some of the sequences."""
        return Sequences(
            self.claims[places], self.tokens[places], self.scores[places], self.states[places]
        )

    def joined(self, longer: Sequences) -> Sequences:
        """Return these and `longer` ones, sorted; of equal ones these come first."""
        padding = ((0, 0), (0, longer.length - self.length))
        claims = np.concatenate([self.claims, longer.claims])
        scores = np.concatenate([self.scores, longer.scores])
        both = Sequences(
            claims,
            np.concatenate([np.pad(self.tokens, padding), longer.tokens]),
            scores,
            np.concatenate([self.states, longer.states]),
        )
        return both.take(np.lexsort((-scores, claims)))


def extend(
    running: Sequences, ended: Sequences, choice: Choice, beam_size: int, eos: int
) -> tuple[Sequences, Sequences, Ints]:
    """Take one step.

    Returns
    -------
    Sequences
        The beams that run on.
    Sequences
        The best sequences that have ended so far, up to `beam_size` of each claim.
    Ints
        The beam before that each of the running ones continues.
    """
    longer = Sequences(
        choice.claims,
        np.column_stack([running.tokens[choice.beams], choice.tokens]),
        choice.scores,
        choice.states,
    )
    over = choice.tokens == eos
    # Candidates beyond the beam stand by for ended ones; they may not end themselves.
    ended = ended.joined(longer.take(over & (rank(choice.claims) < beam_size)))
    ended = ended.take(rank(ended.claims) < beam_size)
    heirs = np.flatnonzero(~over)
    heirs = heirs[rank(choice.claims[heirs]) < beam_size]
    heirs = heirs[~_done(longer.take(heirs), ended, beam_size)]
    return longer.take(heirs), ended, choice.beams[heirs]


def _done(running: Sequences, ended: Sequences, beam_size: int) -> npt.NDArray[np.bool_]:
    """Whether nothing better can come of the claim of each beam: scores only fall."""
    best = running.scores[running.claims.searchsorted(running.claims)]
    behind = ended.claims.searchsorted(running.claims, side="right")
    full = behind - ended.claims.searchsorted(running.claims) == beam_size
    # Where there is none, `full` is false, and the score of another claim does no harm.
    worst = np.append(ended.scores, -np.inf)[behind - 1]
    return full & (best <= worst)
