"""Beam search in which each input's automaton determines which tokens may follow.

The rules are those of transformers' beam search with ``length_penalty=0`` and
``early_stopping=False``, so that results can be compared. However, only allowed tokens are scored,
and where fewer sequences are legal than there are beams, exactly the legal ones are returned.

All inputs are decoded as one batch, and no step loops over beams. Logits stay on the model's
device; states and tokens are in host memory, where the constraints are. Tokens that are known in
advance, because no beam of any input has a choice, are read by the model in one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from trie.continuations import (
    ConstraintBatch,
    Continuations,
    ContinuationSelector,
    Floats,
    NextTokens,
    rank_in_group,
)
from trie.grammar import Constraint
from trie.model.seq2seq import Seq2Seq
from trie.model.shared_attention import MIN_ROWS
from trie.token_trie import Bools, Ints

# Rows of logits that one call may compute in addition to the first one of each beam: enough to keep
# two cores busy. More would only take memory.
_MAX_EXTRA_ROWS = 128


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A decoded sequence, without the start token, with the end token.

    The score is the sum of the natural log-probabilities of the tokens, and the state that of the
    constraint after the last token.
    """

    tokens: tuple[int, ...]
    score: float
    state: int


def beam_search(
    model: Seq2Seq,
    inputs: Sequence[Sequence[int]],
    constraints: Sequence[Constraint],
    *,
    beam_size: int,
    max_length: int,
    normalise: bool = False,
) -> list[list[Hypothesis]]:
    """Return up to `beam_size` finished hypotheses for each input, best first.

    - `model`, `beam_size`: the model and the number of beams.
    - `inputs`: token ids of each encoder input; decoded together, as one batch.
    - `constraints`: the constraint of each input. Inputs with the same constraint object share its
      work.
    - `max_length`: maximum number of tokens of a hypothesis, including the end token. Longer ones
      are dropped.
    - `normalise`: renormalise probabilities over the allowed tokens. By default, scores are the
      log-softmax over the full vocabulary.

    Raises
    ------
    ValueError
        If the lists differ in length, a number is out of range, an input does not fit into the
        model, a constraint allows a token outside the vocabulary, or the model computes NaN.
    """
    if len(inputs) != len(constraints):
        raise ValueError(f"{len(inputs)} inputs, but {len(constraints)} constraints")
    if beam_size < 1 or max_length < 1:
        raise ValueError("beam_size and max_length must be at least 1")
    if max_length > model.max_target:
        raise ValueError(
            f"max_length is {max_length}, but the model decodes at most {model.max_target} tokens"
        )
    if not inputs:
        return []
    batch = ConstraintBatch(constraints)
    running = _Hypotheses.start(batch.starts)
    ended = running.take(np.empty(0, dtype=np.int64))
    next_tokens = batch.next_tokens(running.inputs, running.states, model.vocab_size)
    active = rows = running.inputs  # the inputs in the model's batch, and each beam's row there
    with model.inference_context():
        encoded, cache = model.encode(inputs), model.new_cache()
        while running.inputs.size and running.length < max_length:
            layout, places = _lay_out(running.inputs)
            unfinished = running.inputs[layout[:, 0]]
            if len(unfinished) < len(active):
                encoded = encoded.select(active.searchsorted(unfinished).tolist())
            cache = model.reorder(cache, torch.from_numpy(rows[layout]))
            active, rows = unfinished, places
            limit = min(max_length - running.length, max(1, _MAX_EXTRA_ROWS // layout.size))
            known = _known_tokens(batch, running, next_tokens, model, limit)
            logits = model.step(encoded, cache, torch.from_numpy(known[layout]))
            positions, logits = known.shape[1], logits.flatten(0, 2)
            log_normalisers = None if normalise else logits.logsumexp(-1).double()
            for position in range(positions):
                selector = ContinuationSelector(
                    logits,
                    log_normalisers,
                    running.inputs,
                    running.scores,
                    rows * positions + position,
                    next_tokens,
                )
                # Twice the beam size: as many continuations may end as can continue.
                best = selector.top_k(2 * beam_size)
                running, ended, parents = _advance(running, ended, best, beam_size, model.eos)
                rows = rows[parents]
                if not len(rows):
                    break
                next_tokens = batch.next_tokens(running.inputs, running.states, model.vocab_size)
    hypotheses: list[list[Hypothesis]] = [[] for _ in inputs]
    for number, tokens, score, state in zip(
        ended.inputs.tolist(),
        ended.tokens.tolist(),
        ended.scores.tolist(),
        ended.states.tolist(),
        strict=True,
    ):
        unpadded = tuple(tokens[: tokens.index(model.eos) + 1])
        hypotheses[number].append(Hypothesis(unpadded, score, state))
    return hypotheses


def _lay_out(inputs: Ints) -> tuple[Ints, Ints]:
    """Arrange beams in a matrix with one row per input, of at least `MIN_ROWS` places.

    Returns the beam at each place, (inputs, beams), and the flat place of each beam. Rows with
    fewer beams repeat the last one; the copies are computed and ignored.
    """
    firsts = np.flatnonzero(np.diff(inputs, prepend=-1))
    counts = np.diff(firsts, append=len(inputs))
    columns = np.arange(max(counts.max(), -(-MIN_ROWS // len(counts))))
    layout = firsts[:, None] + np.minimum(columns, counts[:, None] - 1)
    places = np.repeat(np.arange(len(counts)) * len(columns), counts) + rank_in_group(inputs)
    return layout, places


def _known_tokens(
    batch: ConstraintBatch,
    running: _Hypotheses,
    next_tokens: NextTokens,
    model: Seq2Seq,
    limit: int,
) -> Ints:
    """Return the last token of each beam and the forced tokens after it; (beams, positions).

    There is more than one position only where no beam of any input has a choice, so none is pruned.
    """
    if running.length:
        known = [running.tokens[:, -1]]
    else:
        known = [np.full(len(running.inputs), model.start)]
    states = running.states
    while len(known) < limit and next_tokens.forced:
        rows = next_tokens.rows
        unfinished = next_tokens.sizes[rows] > 0
        places = next_tokens.offsets[rows[unfinished]]
        tokens, states = np.full(len(states), model.eos), states.copy()
        tokens[unfinished] = next_tokens.tokens[places]
        states[unfinished] = next_tokens.next_states[places]
        if (tokens == model.eos).all():
            break
        known.append(tokens)
        next_tokens = batch.next_tokens(running.inputs, states, model.vocab_size)
    return np.column_stack(known)


class _Hypotheses(NamedTuple):
    """The hypotheses of all inputs, grouped by input, the best first within an input."""

    inputs: Ints
    tokens: Ints  # (hypotheses, length); anything after an end token is padding
    scores: Floats
    states: Ints

    @classmethod
    def start(cls, states: Ints) -> _Hypotheses:
        count = len(states)
        return cls(np.arange(count), np.empty((count, 0), dtype=np.int64), np.zeros(count), states)

    @property
    def length(self) -> int:
        return int(self.tokens.shape[1])

    def take(self, indices: Ints | Bools) -> _Hypotheses:
        taken: list[Any] = [values[indices] for values in self]
        return _Hypotheses(*taken)

    def merge(self, longer: _Hypotheses) -> _Hypotheses:
        """Return these and `longer` hypotheses, sorted; in ties, these come first."""
        padding = ((0, 0), (0, longer.length - self.length))
        padded = self._replace(tokens=np.pad(self.tokens, padding))
        pairs: list[Any] = [np.concatenate(pair) for pair in zip(padded, longer, strict=True)]
        both = _Hypotheses(*pairs)
        return both.take(np.lexsort((-both.scores, both.inputs)))


def _advance(
    running: _Hypotheses,
    ended: _Hypotheses,
    continuations: Continuations,
    beam_size: int,
    eos: int,
) -> tuple[_Hypotheses, _Hypotheses, Ints]:
    """Extend the beams by one token.

    Returns the beams that continue, the best `beam_size` hypotheses of each input that have ended
    so far, and for each continuing beam the index of the previous beam that it extends.
    """
    longer = _Hypotheses(
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


def _is_done(running: _Hypotheses, ended: _Hypotheses, beam_size: int) -> Bools:
    # An input is finished when `beam_size` hypotheses have ended and no beam can become better than
    # the worst of them, since scores only fall.
    best = running.scores[running.inputs.searchsorted(running.inputs)]
    end = ended.inputs.searchsorted(running.inputs, side="right")
    full = end - ended.inputs.searchsorted(running.inputs) == beam_size
    # Without ended hypotheses `full` is false, and comparing another input's score is harmless.
    worst = np.append(ended.scores, -np.inf)[end - 1]
    done: Bools = full & (best <= worst)
    return done
