"""Beam search in which each claim's automaton says which tokens may follow.

The rule is that of transformers' beam search with ``length_penalty=0`` and
``early_stopping=False``, so that results can be compared; but only allowed tokens are ever
gathered, and where fewer sequences are legal than there are beams, exactly the legal ones come
back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from trie.seq2seq import Seq2Seq

if TYPE_CHECKING:
    from trie.constraint import Constraint, Transitions


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
        For each claim, which tokens may follow.
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
    searches = [_Search(c, beam_size, model.eos) for c in constraints]
    with model.precision():
        encoded, cache = model.encode(inputs), model.new_cache()
        batch, last = searches, [[model.start]] * len(searches)
        for length in range(1, max_length + 1):
            logits = model.step(encoded, cache, torch.tensor(last))
            gathered = _gather(logits, [search.allowed for search in batch], normalise)
            parents = [s.extend(*new) for s, new in zip(batch, gathered, strict=True)]
            alive = [at for at, search in enumerate(batch) if not search.done]
            if not alive or length == max_length:
                break
            if len(alive) < len(batch):
                encoded = encoded.select(alive)
            batch, parents = [batch[at] for at in alive], [parents[at] for at in alive]
            # Claims with fewer beams repeat one; its copies allow nothing and so have no heirs.
            width, old = max(map(len, parents)), logits.shape[1]
            rows = [
                [at * old + parent for parent in _fill(found, width)]
                for at, found in zip(alive, parents, strict=True)
            ]
            last = [_fill([h.tokens[-1] for h in s.running], width) for s in batch]
            cache = model.reorder(cache, torch.tensor(rows))
    return [search.finished for search in searches]


@dataclass(slots=True)
class _Search:
    """The beams of one claim."""

    constraint: Constraint
    beam_size: int
    eos: int
    running: list[Hypothesis] = field(init=False)
    finished: list[Hypothesis] = field(default_factory=list)
    following: Transitions = field(init=False)

    def __post_init__(self) -> None:
        self.running = [Hypothesis((), 0.0, self.constraint.start)]

    @property
    def allowed(self) -> list[np.ndarray]:
        """For each running beam, the tokens that may follow."""
        states = np.array([beam.state for beam in self.running])
        self.following = self.constraint.transitions(states)
        return np.split(self.following.tokens, self.following.sizes.cumsum()[:-1])

    @property
    def done(self) -> bool:
        """Whether nothing better can come: scores only fall as sequences grow."""
        if not self.running:
            return True
        full = len(self.finished) == self.beam_size
        return full and self.running[0].score <= self.finished[-1].score

    def extend(self, beams: np.ndarray, tokens: np.ndarray, gains: np.ndarray) -> list[int]:
        """Take one step and return, for each beam that runs on, the beam that it continues.

        Parameters
        ----------
        beams, tokens, gains
            Of each candidate the beam that it continues, its token and the token's log
            probability, in the order of beams and tokens.
        """
        scores = np.array([beam.score for beam in self.running])[beams] + gains
        parents: list[int] = []
        running: list[Hypothesis] = []
        ended: list[Hypothesis] = []
        for rank, at in enumerate(_best(scores, 2 * self.beam_size)):
            parent, token = self.running[beams[at]], int(tokens[at])
            state = int(self.following.states[at])
            if token == self.eos:
                # Candidates beyond the beam stand by for ended ones; they may not end themselves.
                if rank < self.beam_size:
                    ended.append(Hypothesis((*parent.tokens, token), float(scores[at]), state))
            elif len(running) < self.beam_size:
                parents.append(int(beams[at]))
                running.append(Hypothesis((*parent.tokens, token), float(scores[at]), state))
        self.running = running
        # The sort is stable: of equal sequences the earlier finished comes first.
        pool = sorted([*self.finished, *ended], key=lambda h: -h.score)
        self.finished = pool[: self.beam_size]
        return parents


def _gather(
    logits: Tensor, allowed: Sequence[Sequence[np.ndarray]], normalise: bool
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return, for each claim, beam, token and log probability of every allowed continuation.

    Parameters
    ----------
    logits
        Of the next token; (claims, beams, vocabulary).
    allowed
        For each claim and each of its beams, the allowed tokens.
    normalise
        Whether probabilities are among the allowed tokens only.
    """
    _, width, vocabulary = logits.shape
    rows = [at * width + beam for at, beams in enumerate(allowed) for beam in range(len(beams))]
    arrays = [tokens for beams in allowed for tokens in beams]
    sizes = np.array([len(tokens) for tokens in arrays])
    tokens = np.concatenate(arrays).astype(np.int64)
    if tokens.size and not 0 <= tokens.min() <= tokens.max() < vocabulary:
        raise ValueError(
            f"a constraint allows a token outside the model's vocabulary of {vocabulary}; "
            "are model and tokenizer of the same checkpoint?"
        )
    index = torch.from_numpy(np.repeat(rows, sizes) * vocabulary + tokens).to(logits.device)
    gains = logits.flatten()[index].double().cpu().numpy()
    if normalise:
        totals = np.array([_log_sum_exp(g) for g in np.split(gains, np.cumsum(sizes)[:-1])])
    else:
        totals = logits.logsumexp(-1).flatten().double().cpu().numpy()[rows]
    gains = gains - np.repeat(totals, sizes)
    if np.isnan(gains).any():
        raise ValueError("the model computes NaN; its weights or its dtype are broken")
    beams = np.repeat([beam for one in allowed for beam in range(len(one))], sizes)
    ends = np.cumsum([sum(map(len, one)) for one in allowed])[:-1]
    return list(
        zip(np.split(beams, ends), np.split(tokens, ends), np.split(gains, ends), strict=True)
    )


def _log_sum_exp(values: np.ndarray) -> float:
    if not len(values):
        return 0.0
    top = values.max()
    return float(top + np.log(np.exp(values - top).sum()))


def _best(scores: np.ndarray, count: int) -> np.ndarray:
    """Return the positions of the `count` highest scores, best first, equal ones in order."""
    kept = np.arange(len(scores))
    if len(scores) > count:
        worst = np.partition(scores, len(scores) - count)[len(scores) - count]
        kept = np.flatnonzero(scores >= worst)
    return kept[np.argsort(-scores[kept], kind="stable")][:count]


def _fill(values: list[int], width: int) -> list[int]:
    """Repeat the first value until there are `width`."""
    return values + values[:1] * (width - len(values))
