"""The hypotheses of a beam search, and its rules: which continue, which have ended, when to stop.

The rules are those of transformers' beam search with ``length_penalty=0`` and
``early_stopping=False``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trie.decoding.continuations import Continuations, Floats, rank_in_group
from trie.index.csr import Ints


@dataclass(frozen=True, slots=True)
class HypothesisBatch:
    """The hypotheses of all inputs, grouped by input, the best first within an input.

    Attributes
    ----------
    inputs, scores, states
        The input, the score and the constraint's state of each hypothesis; inputs ascend.
    tokens
        The tokens; (hypotheses, length). Anything after an end token is padding.
    """

    inputs: Ints
    tokens: Ints
    scores: Floats
    states: Ints

    @classmethod
    def start(cls, states: Ints) -> HypothesisBatch:
        """Return one empty hypothesis for each input."""
        count = len(states)
        return cls(np.arange(count), np.empty((count, 0), dtype=np.int64), np.zeros(count), states)

    @property
    def length(self) -> int:
        """Number of tokens."""
        return int(self.tokens.shape[1])

    def take(self, indices: Ints | npt.NDArray[np.bool_]) -> HypothesisBatch:
        """Return the hypotheses at some indices."""
        return HypothesisBatch(
            self.inputs[indices], self.tokens[indices], self.scores[indices], self.states[indices]
        )

    def merge(self, longer: HypothesisBatch) -> HypothesisBatch:
        """Return these and `longer` hypotheses, sorted; in ties, these come first."""
        padding = ((0, 0), (0, longer.length - self.length))
        inputs = np.concatenate([self.inputs, longer.inputs])
        scores = np.concatenate([self.scores, longer.scores])
        both = HypothesisBatch(
            inputs,
            np.concatenate([np.pad(self.tokens, padding), longer.tokens]),
            scores,
            np.concatenate([self.states, longer.states]),
        )
        return both.take(np.lexsort((-scores, inputs)))


def advance(
    running: HypothesisBatch,
    ended: HypothesisBatch,
    continuations: Continuations,
    beam_size: int,
    eos: int,
) -> tuple[HypothesisBatch, HypothesisBatch, Ints]:
    """Extend the beams by one token.

    Returns
    -------
    HypothesisBatch
        The beams that continue.
    HypothesisBatch
        The best hypotheses that have ended so far, up to `beam_size` per input.
    Ints
        For each continuing beam, the index of the previous beam that it extends.
    """
    longer = HypothesisBatch(
        continuations.inputs,
        np.column_stack([running.tokens[continuations.beams], continuations.tokens]),
        continuations.scores,
        continuations.states,
    )
    at_end = continuations.tokens == eos
    # Candidates beyond the beam size replace those that ended; they may not end themselves.
    ended = ended.merge(longer.take(at_end & (rank_in_group(continuations.inputs) < beam_size)))
    ended = ended.take(rank_in_group(ended.inputs) < beam_size)
    kept = np.flatnonzero(~at_end)
    kept = kept[rank_in_group(continuations.inputs[kept]) < beam_size]
    kept = kept[~_is_done(longer.take(kept), ended, beam_size)]
    return longer.take(kept), ended, continuations.beams[kept]


def _is_done(
    running: HypothesisBatch, ended: HypothesisBatch, beam_size: int
) -> npt.NDArray[np.bool_]:
    """Return whether the input of each beam is finished.

    It is finished when `beam_size` hypotheses have ended and no beam can become better than the
    worst of them, since scores only fall.
    """
    best = running.scores[running.inputs.searchsorted(running.inputs)]
    end = ended.inputs.searchsorted(running.inputs, side="right")
    full = end - ended.inputs.searchsorted(running.inputs) == beam_size
    # Without ended hypotheses `full` is false, and comparing another input's score is harmless.
    worst = np.append(ended.scores, -np.inf)[end - 1]
    done: npt.NDArray[np.bool_] = full & (best <= worst)
    return done
