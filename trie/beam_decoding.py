"""Beam search in which each input's automaton determines which tokens may follow.

The rules are those of transformers' beam search with ``length_penalty=0`` and
``early_stopping=False``. However, where fewer sequences are legal than there are beams, exactly the
legal ones are returned. A BART is decoded here, all inputs as one batch; any other model by
``generate`` with `trie.ConstraintLogitsProcessor`.

Logits stay on the model's device; states and tokens are in host memory, where the constraints are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trie.grammar import Constraint, check_vocabulary
from trie.logits_processor import ConstraintLogitsProcessor
from trie.seq2seq import KVCache, Seq2Seq
from trie.token_trie import Ints

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A decoded sequence, without the start token, with the end token.

    The score is the sum of the natural log-probabilities of the tokens.
    """

    tokens: tuple[int, ...]
    score: float


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
    - `constraints`: the constraint of each input.
    - `max_length`: maximum number of tokens of a hypothesis, including the end token. Longer ones
      are dropped.
    - `normalise`: renormalise probabilities over the allowed tokens. By default, scores are the
      log-softmax over the full vocabulary.

    Raises ValueError if the lists differ in length, a number is out of range, an input does not fit
    into the model, a constraint allows a token outside the vocabulary, or the model computes NaN.
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
    with model.inference_context():
        if model.is_bart:
            return _search(model, inputs, constraints, beam_size, max_length, normalise)
        return [
            _generate(model, ids, constraint, beam_size, max_length, normalise)
            for ids, constraint in zip(inputs, constraints, strict=True)
        ]


# Where too few sequences are legal, `generate` repeats them with scores near -1e9.
_FILLER = -1e6


def _generate(
    model: Seq2Seq,
    source: Sequence[int],
    constraint: Constraint,
    beam_size: int,
    max_length: int,
    normalise: bool,
) -> list[Hypothesis]:
    """Decode one input by `generate`, which keeps the scores of all tokens of its batch."""
    ids, mask = model.pad_inputs([source])
    beams = max(beam_size, 2)  # with one, it does not search and returns no scores
    output = model.model.generate(
        input_ids=ids,
        attention_mask=mask,
        logits_processor=[ConstraintLogitsProcessor(constraint)],
        renormalize_logits=normalise,
        num_beams=beams,
        num_return_sequences=beams,
        max_new_tokens=max_length,
        length_penalty=0.0,
        output_scores=True,
        return_dict_in_generate=True,
        decoder_start_token_id=model.start,
        eos_token_id=model.eos,
        pad_token_id=model.pad,
        # Instead of what the checkpoint's generation config may say.
        do_sample=False,
        early_stopping=False,
        min_length=0,
        no_repeat_ngram_size=0,
    )
    scores = output.sequences_scores.tolist()
    if np.isnan(scores).any():
        raise ValueError("the model computes NaN; its weights or its dtype are broken")
    return [
        Hypothesis(tuple(tokens[: tokens.index(model.eos) + 1]), score)
        for tokens, score in zip(output.sequences[:, 1:].tolist(), scores, strict=True)
        if model.eos in tokens and score > _FILLER
    ][:beam_size]


@dataclass(frozen=True, slots=True)
class _Beams:
    """The running beams of all inputs, grouped by input."""

    inputs: Ints
    tokens: Ints  # (beams, length)
    scores: Floats
    states: Ints


def _search(
    model: Seq2Seq,
    inputs: Sequence[Sequence[int]],
    constraints: Sequence[Constraint],
    beam_size: int,
    max_length: int,
    normalise: bool,
) -> list[list[Hypothesis]]:
    count = len(inputs)
    starts = np.array([constraint.start for constraint in constraints], dtype=np.int64)
    beams = _Beams(np.arange(count), np.full((count, 1), model.start), np.zeros(count), starts)
    ended: list[list[Hypothesis]] = [[] for _ in inputs]
    encoded, cache = model.encode(inputs), KVCache()
    active = rows = beams.inputs  # the inputs in the model's batch, and each beam's row there
    for length in range(1, max_length + 1):
        layout, places = _lay_out(beams.inputs)
        unfinished = beams.inputs[layout[:, 0]]
        if len(unfinished) < len(active):
            encoded = encoded.select(_on(model, active.searchsorted(unfinished)))
        if cache.layers:
            cache.reorder(_on(model, rows[layout].ravel()))
        logits = model.step(encoded, cache, _on(model, beams.tokens[layout, -1]))
        found = _Continuations(logits, places, beams, constraints, normalise)
        kept = []
        for number in unfinished.tolist():
            # Twice the beam size: as many continuations may end as can continue.
            best = found.best(number, 2 * beam_size)
            ends = best[:beam_size][found.tokens[best[:beam_size]] == model.eos]
            for place in ends.tolist():
                tokens = *beams.tokens[found.beams[place], 1:].tolist(), model.eos
                ended[number].append(Hypothesis(tokens, float(found.scores[place])))
            ended[number] = sorted(ended[number], key=lambda h: -h.score)[:beam_size]
            best = best[found.tokens[best] != model.eos][:beam_size]
            # Scores only fall, so no beam can become better than the worst ended hypothesis.
            is_full = len(ended[number]) == beam_size
            if best.size and not (is_full and found.scores[best[0]] <= ended[number][-1].score):
                kept.append(best)
        if not kept or length == max_length:
            break
        chosen = np.concatenate(kept)
        parents = found.beams[chosen]
        longer = np.column_stack([beams.tokens[parents], found.tokens[chosen]])
        active, rows = unfinished, places[parents]
        beams = _Beams(
            beams.inputs[parents], longer, found.scores[chosen], found.next_states[chosen]
        )
    return ended


class _Continuations:
    """The beams extended by each token that may follow, in the order of the beams."""

    def __init__(
        self,
        logits: Tensor,
        rows: Ints,
        beams: _Beams,
        constraints: Sequence[Constraint],
        normalise: bool,
    ) -> None:
        self._inputs = beams.inputs
        allowed = [
            constraints[number].transitions(beams.states[beams.inputs == number])
            for number in np.unique(beams.inputs).tolist()
        ]
        sizes = np.concatenate([part.sizes for part in allowed])
        self.beams = np.arange(len(sizes)).repeat(sizes)
        self.tokens = np.concatenate([part.tokens for part in allowed])
        self.next_states = np.concatenate([part.next_states for part in allowed])
        width = logits.shape[1]
        check_vocabulary(self.tokens, width)
        places = torch.from_numpy(rows[self.beams] * width + self.tokens).to(logits.device)
        values = logits.view(-1)[places].double().cpu().numpy()
        if normalise:
            log_sums = np.full(len(sizes), -np.inf)
            np.logaddexp.at(log_sums, self.beams, values)
        else:
            log_sums = logits.logsumexp(-1).double().cpu().numpy()[rows]
        self.scores: Floats = beams.scores[self.beams] + (values - log_sums[self.beams])
        if np.isnan(self.scores).any():
            raise ValueError("the model computes NaN; its weights or its dtype are broken")

    def best(self, number: int, count: int) -> Ints:
        """Return the places of an input's best continuations; ties are in order of the beams."""
        first, last = self._inputs.searchsorted([number, number + 1])
        begin, end = self.beams.searchsorted([first, last])
        scores = self.scores[begin:end]
        places = np.arange(len(scores))
        if len(scores) > count:
            places = np.flatnonzero(scores >= np.partition(scores, -count)[-count])
        order = np.argsort(-scores[places], kind="stable")[:count]
        chosen: Ints = begin + places[order]
        return chosen


def _lay_out(inputs: Ints) -> tuple[Ints, Ints]:
    """Arrange beams in a matrix with one row per input.

    Returns the beam at each place, (inputs, beams), and the flat place of each beam. Rows with
    fewer beams repeat the last one; the copies are computed and ignored.
    """
    firsts = np.flatnonzero(np.diff(inputs, prepend=-1))
    counts = np.diff(firsts, append=len(inputs))
    width = counts.max()
    layout = firsts[:, None] + np.minimum(np.arange(width), counts[:, None] - 1)
    ranks = np.arange(len(inputs)) - firsts.repeat(counts)
    return layout, np.arange(len(counts)).repeat(counts) * width + ranks


def _on(model: Seq2Seq, array: npt.NDArray[Any]) -> Tensor:
    return torch.from_numpy(array).to(model.device)
