"""Beam search in which each claim's automaton says which tokens may follow.

The rule is that of transformers' beam search with ``length_penalty=0`` and
``early_stopping=False``, so that results can be compared; but only allowed tokens are ever
gathered, and where fewer sequences are legal than there are beams, exactly the legal ones come
back.

All claims are decoded together, and no step has a loop over beams. Logits stay on the model's
device. States and tokens are in host memory, where the constraints are: a step takes the allowed
tokens to the device, and brings back beam, token and score of twice as many continuations as
there are beams: some hundred numbers a claim, where a state has very many tokens a few thousand.

Tokens that are known beforehand, because no beam of any claim has a choice, are read by the model
in a single call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from trie.constraints.constraint import Constraint
from trie.decoding.beam_choice import Chooser, rank
from trie.decoding.beam_state import Sequences, extend
from trie.decoding.next_tokens import ConstraintBatch, Following
from trie.index.bits import Ints
from trie.model.seq2seq import Seq2Seq
from trie.model.shared_attention import LEAST_ROWS


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A decoded sequence.

    Attributes
    ----------
    tokens
        Token ids without the start token, with the end token.
    score
        Sum of the natural log probabilities of the tokens.
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
    """Return up to `beam_size` finished sequences for each input, best first.

    Parameters
    ----------
    model
        The model.
    inputs
        Encoder input of each claim; decoded together, as one batch.
    constraints
        For each claim, which tokens may follow. Claims that share one object share its work.
    beam_size
        Number of beams.
    max_length
        Most tokens of a sequence, the end token included. Longer ones are dropped.
    normalise
        Scores are probabilities among the allowed tokens; without, among the full vocabulary.

    Raises
    ------
    ValueError
        If the lists differ in length, a number is out of range, an input does not fit into the
        model, a constraint allows a token that the vocabulary lacks, or the model computes NaN.
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
    rules = ConstraintBatch(constraints)
    running = Sequences.begin(rules.starts)
    ended = running.take(np.empty(0, dtype=np.int64))
    following = rules.following(running.claims, running.states, model.vocabulary)
    batch = rows = running.claims  # the claims in the model, and the row of each beam there
    with model.precision():
        encoded, cache = model.encode(inputs), model.new_cache()
        while running.claims.size and running.length < max_length:
            slots, places = _lay_out(running.claims)
            claims = running.claims[slots[:, 0]]
            if len(claims) < len(batch):
                encoded = encoded.select(batch.searchsorted(claims).tolist())
            cache = model.reorder(cache, torch.from_numpy(rows[slots]))
            batch, rows = claims, places
            most = min(max_length - running.length, max(1, _AT_ONCE // slots.size))
            known = _known(rules, running, following, model, most)
            logits = model.step(encoded, cache, torch.from_numpy(known[slots]))
            positions, logits = known.shape[1], logits.flatten(0, 2)
            totals = None if normalise else logits.logsumexp(-1).double()
            for at in range(positions):
                lines = rows * positions + at
                chooser = Chooser(logits, totals, running.claims, running.scores, lines, following)
                choice = chooser.best(2 * beam_size)
                running, ended, parents = extend(running, ended, choice, beam_size, model.eos)
                rows = rows[parents]
                if not len(rows):
                    break
                following = rules.following(running.claims, running.states, model.vocabulary)
    found: list[list[Hypothesis]] = [[] for _ in inputs]
    for claim, tokens, score, state in zip(
        ended.claims.tolist(),
        ended.tokens.tolist(),
        ended.scores.tolist(),
        ended.states.tolist(),
        strict=True,
    ):
        whole = tuple(tokens[: tokens.index(model.eos) + 1])
        found[claim].append(Hypothesis(whole, score, state))
    return found


# Rows of logits that one call may compute beyond the first of each beam: enough to keep two cores
# busy; more would only take memory.
_AT_ONCE = 128


def _lay_out(claims: Ints) -> tuple[Ints, Ints]:
    """Arrange beams in a matrix with a line for each claim.

    Returns
    -------
    Ints
        The beam at each place, (claims, beams); `LEAST_ROWS` places at least. Lines with fewer
        beams repeat the last one; its copies are computed, but nobody looks at them.
    Ints
        The place of each beam, counted through all lines.
    """
    firsts = np.flatnonzero(np.diff(claims, prepend=-1))
    counts = np.diff(firsts, append=len(claims))
    columns = np.arange(max(counts.max(), -(-LEAST_ROWS // len(counts))))
    slots = firsts[:, None] + np.minimum(columns, counts[:, None] - 1)
    return slots, np.repeat(np.arange(len(counts)) * len(columns), counts) + rank(claims)


def _known(
    rules: ConstraintBatch, running: Sequences, following: Following, model: Seq2Seq, most: int
) -> Ints:
    """Return the last token of each beam, and those that must follow it; (beams, positions).

    More than one only where no beam of any claim has a choice. None of them can then be pruned on
    the way, so that little is computed in vain: fillers behind beams that end, and what is left of
    a claim that is done before its last beam ends.
    """
    if running.length:
        known = [running.tokens[:, -1]]
    else:
        known = [np.full(len(running.claims), model.start)]
    states = running.states
    while len(known) < most and following.forced:
        groups = following.groups
        goes_on = following.sizes[groups] > 0
        places = following.firsts[groups[goes_on]]
        tokens, states = np.full(len(states), model.eos), states.copy()
        tokens[goes_on], states[goes_on] = following.tokens[places], following.states[places]
        if (tokens == model.eos).all():
            break
        known.append(tokens)
        following = rules.following(running.claims, states, model.vocabulary)
    return np.column_stack(known)
