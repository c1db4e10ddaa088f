"""Beam search in which each input's automaton determines which tokens may follow.

The rules are those of transformers' beam search with ``length_penalty=0`` and
``early_stopping=False``, so that results can be compared. However, only allowed tokens are scored,
and where fewer sequences are legal than there are beams, exactly the legal ones are returned.

All inputs are decoded as one batch, and no step loops over beams. Logits stay on the model's
device; states and tokens are in host memory, where the constraints are. A step copies the allowed
tokens to the device and returns beam, token and score of twice as many continuations as there are
beams: some hundred numbers per input, a few thousand where a state allows very many tokens.

Tokens that are known in advance, because no beam of any input has a choice, are read by the model
in a single call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from trie.constraints.constraint import Constraint
from trie.decoding.beam_state import HypothesisBatch, advance
from trie.decoding.continuations import ContinuationSelector, rank_in_group
from trie.decoding.next_tokens import ConstraintBatch, NextTokens
from trie.index.csr import Ints
from trie.model.seq2seq import Seq2Seq
from trie.model.shared_attention import MIN_ROWS

# Rows of logits that one call may compute in addition to the first one of each beam: enough to keep
# two cores busy. More would only take memory.
_MAX_EXTRA_ROWS = 128


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A decoded sequence.

    Attributes
    ----------
    tokens
        Token ids without the start token, with the end token.
    score
        Sum of the natural log-probabilities of the tokens.
    state
        The constraint's state after the last token.
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

    Parameters
    ----------
    model
        The model.
    inputs
        Token ids of each encoder input; decoded together, as one batch.
    constraints
        The constraint of each input. Inputs with the same constraint object share its work.
    beam_size
        Number of beams.
    max_length
        Maximum number of tokens of a hypothesis, including the end token. Longer ones are dropped.
    normalise
        Renormalise probabilities over the allowed tokens. By default, scores are the log-softmax
        over the full vocabulary.

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
    running = HypothesisBatch.start(batch.starts)
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
                running, ended, parents = advance(running, ended, best, beam_size, model.eos)
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
    """Arrange beams in a matrix with one row per input.

    Returns
    -------
    Ints
        The beam at each place, (inputs, beams), with at least `MIN_ROWS` places. Rows with fewer
        beams repeat the last one; the copies are computed and ignored.
    Ints
        The flat place of each beam.
    """
    firsts = np.flatnonzero(np.diff(inputs, prepend=-1))
    counts = np.diff(firsts, append=len(inputs))
    columns = np.arange(max(counts.max(), -(-MIN_ROWS // len(counts))))
    layout = firsts[:, None] + np.minimum(columns, counts[:, None] - 1)
    places = np.repeat(np.arange(len(counts)) * len(columns), counts) + rank_in_group(inputs)
    return layout, places


def _known_tokens(
    batch: ConstraintBatch,
    running: HypothesisBatch,
    next_tokens: NextTokens,
    model: Seq2Seq,
    limit: int,
) -> Ints:
    """Return the last token of each beam and the forced tokens after it; (beams, positions).

    There is more than one position only where no beam of any input has a choice. Such beams cannot
    be pruned, so little is computed in vain: padding after beams that end, and the remaining beams
    of an input that is finished before its last beam ends.
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
