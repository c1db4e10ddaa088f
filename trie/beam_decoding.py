"""Beam search in which each input's automaton determines which tokens may follow.

The rules are those of transformers' beam search with ``length_penalty=0`` and
``early_stopping=False``, so that results can be compared. However, only allowed tokens are scored,
and where fewer sequences are legal than there are beams, exactly the legal ones are returned.

All inputs are decoded as one batch, and no step loops over beams. Logits stay on the model's
device; states and tokens are in host memory, where the constraints are. Tokens that are known in
advance, because no beam of any input has a choice, are read by the model in one call.

Next tokens are looked up once per constraint and state. Only their logits are gathered, on the
model's device. Continuations that cannot be among the best are dropped there; the few that remain
are copied to host memory and sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trie.attention import MIN_ROWS
from trie.grammar import Constraint, Transitions
from trie.seq2seq import Seq2Seq
from trie.token_trie import Bools, Ints, row_positions


@dataclass(frozen=True, slots=True)
class NextTokens:
    """The tokens that may follow some beams, as CSR arrays. Beams in the same state share a row."""

    rows: Ints  # the row of each beam; (beams,)
    tokens: Ints  # the allowed tokens, ascending within each row,
    next_states: Ints  # and the state after each of them
    offsets: Ints  # where each row begins in `tokens`; (rows,)
    sizes: Ints  # its length

    def positions(self, beams: Ints) -> tuple[Ints, Ints]:
        """Return the beam and the position in `tokens` of every continuation of `beams`."""
        rows = self.rows[beams]
        sizes = self.sizes[rows]
        return np.repeat(beams, sizes), row_positions(self.offsets[rows], sizes)

    def states_after(self, rows: Ints, tokens: Ints) -> Ints:
        """Return the state after one token of each of `rows`, or -1 if the token is not allowed.

        Nothing is allowed in row -1.
        """
        width = 1 + max(int(self.tokens.max(initial=0)), int(tokens.max(initial=0)))
        keys = np.repeat(np.arange(len(self.sizes)) * width, self.sizes) + self.tokens
        wanted = rows * width + tokens
        at = keys.searchsorted(wanted)
        allowed = np.append(keys, -1)[at] == wanted
        return np.where(allowed, np.append(self.next_states, -1)[at], -1)

    def with_single_tokens(self, tokens: Ints, rows: Ints) -> NextTokens:
        """Append a row for each of `tokens` that allows only this token; `rows` are the beams'."""
        ones = np.ones(len(tokens), dtype=np.int64)
        return NextTokens(
            rows,
            np.concatenate([self.tokens, tokens]),
            np.concatenate([self.next_states, -ones]),
            np.concatenate([self.offsets, len(self.tokens) + ones.cumsum() - 1]),
            np.concatenate([self.sizes, ones]),
        )

    @property
    def forced(self) -> bool:
        """Whether no beam has more than one next token. Some beams may have ended."""
        return bool((self.sizes <= 1).all())


class ConstraintBatch:
    """The constraints of a batch of inputs, which may share constraints.

    `starts` holds the start state of each input's constraint; (inputs,).
    """

    def __init__(self, constraints: Sequence[Constraint]) -> None:
        numbers: dict[int, int] = {}
        self._numbers = np.array([numbers.setdefault(id(c), len(numbers)) for c in constraints])
        self._distinct = list({id(c): c for c in constraints}.values())
        self.starts: Ints = np.array([c.start for c in constraints], dtype=np.int64)

    def next_tokens(self, inputs: Ints, states: Ints, vocab_size: int) -> NextTokens:
        """Return the tokens that may follow beams of these inputs in these states.

        Raises `ValueError` if a constraint allows a token that is not below `vocab_size`.
        """
        numbers = self._numbers[inputs]
        rows, count = np.empty(len(states), dtype=np.int64), 0
        empty = np.empty(0, dtype=np.int64)
        parts = [Transitions(empty, empty, empty)]
        for number in range(len(self._distinct)):
            beams = np.flatnonzero(numbers == number)
            if not beams.size:
                continue
            distinct, rows_of_beams = np.unique(states[beams], return_inverse=True)
            rows[beams] = count + rows_of_beams
            count += len(distinct)
            parts.append(self._distinct[number].transitions(distinct))
        tokens = np.concatenate([part.tokens for part in parts])
        if tokens.size and not 0 <= tokens.min() <= tokens.max() < vocab_size:
            raise ValueError(
                f"a constraint allows a token outside the model's vocabulary of {vocab_size}; "
                "do model and tokenizer belong to the same checkpoint?"
            )
        next_states = np.concatenate([part.next_states for part in parts])
        sizes = np.concatenate([part.sizes for part in parts])
        return NextTokens(rows, tokens, next_states, np.cumsum(sizes) - sizes, sizes)


Floats = npt.NDArray[np.float64]

# States whose tokens, times the beams in them, exceed this number are handled one by one, as a
# dense matrix: the root of a large trie, seldom another. Below it, the extra calls cost more than
# they save.
_WIDE = 1 << 14


@dataclass(frozen=True, slots=True)
class Continuations:
    """Beams extended by one token, grouped by input, the best first within an input.

    A continuation extends a beam of an input by a token, after which its constraint has a state.
    Its score is the sum of the log-probabilities, including that of the token.
    """

    inputs: Ints
    beams: Ints
    tokens: Ints
    states: Ints
    scores: Floats


def rank_in_group(groups: Ints) -> Ints:
    """Return how many members of the same group come before each; `groups` ascend."""
    return np.arange(len(groups)) - groups.searchsorted(groups)


class ContinuationSelector:
    """Selects the best continuations of running beams.

    Each beam has an input, ascending, a score so far, and a row in `logits`, (rows, vocabulary),
    those of the next token in float32. `log_normalisers` are the log-sum-exp of each row, float64,
    (rows,), which turn logits into a log-softmax over the full vocabulary. None normalises over the
    allowed tokens only.
    """

    def __init__(
        self,
        logits: Tensor,
        log_normalisers: Tensor | None,
        inputs: Ints,
        scores: Floats,
        rows: Ints,
        next_tokens: NextTokens,
    ) -> None:
        self._logits, self._inputs, self._host_rows = logits, inputs, rows
        self._next_tokens = next_tokens
        self._rows, self._scores = self._to_device(rows), self._to_device(scores)
        self._log_normalisers = None if log_normalisers is None else log_normalisers[self._rows]

    def top_k(self, k: int) -> Continuations:
        """Return the `k` best continuations of each input; ties are ordered by beam and token.

        Raises `ValueError` if the score of a selected continuation is NaN.
        """
        groups, sizes = self._next_tokens.rows, self._next_tokens.sizes
        wide = np.bincount(groups, minlength=len(sizes)) * sizes > _WIDE
        parts = [
            self._wide(int(group), np.flatnonzero(groups == group), k)
            for group in np.flatnonzero(wide)
        ]
        narrow = np.flatnonzero(~wide[groups])
        if narrow.size:
            parts.append(self._narrow(narrow, k))
        # One copy to the host. Beams and places are integers far below 2^53, exact in float64.
        beams, places, scores = torch.cat(parts, dim=1).cpu().numpy()
        if np.isnan(scores).any():
            raise ValueError("the model computes NaN; its weights or its dtype are broken")
        owners = beams.astype(np.int64)
        inputs = self._inputs[owners]
        order = np.lexsort((places, owners, -scores, inputs))
        order = order[rank_in_group(inputs[order]) < k]
        kept = places[order].astype(np.int64)
        return Continuations(
            inputs[order],
            owners[order],
            self._next_tokens.tokens[kept],
            self._next_tokens.next_states[kept],
            scores[order],
        )

    # Both of these return a superset of the best continuations as a tensor (3, continuations): the
    # beam, the place in `NextTokens.tokens`, and the score.

    def _wide(self, group: int, beams: Ints, k: int) -> Tensor:
        """Select among beams that are all in the same state: one dense row per beam."""
        first, size = int(self._next_tokens.offsets[group]), self._next_tokens.sizes[group]
        tokens = self._next_tokens.tokens[first : first + size]
        owners, logits = self._to_device(beams), self._logits
        if not np.array_equal(self._host_rows[beams], np.arange(len(logits))):
            logits = logits.index_select(0, self._rows[owners])
        values = logits.index_select(1, self._to_device(tokens))
        if self._log_normalisers is None:
            log_normalisers = values.double().logsumexp(1)
        else:
            log_normalisers = self._log_normalisers[owners]
        row, place = (~(values < _kth_highest(values, k)[:, None])).nonzero(as_tuple=True)
        owners = owners[row]
        scores = self._scores[owners] + (values[row, place].double() - log_normalisers[row])
        return torch.stack([owners.double(), (place + first).double(), scores])

    def _narrow(self, beams: Ints, k: int) -> Tensor:
        """Select among beams in any states, all continuations of an input in one row."""
        owners, places = self._next_tokens.positions(beams)
        tokens = self._next_tokens.tokens[places]
        index = self._host_rows[owners] * self._logits.shape[1] + tokens
        owner, place = self._to_device(owners), self._to_device(places)
        values = self._logits.view(-1)[self._to_device(index)].double()
        log_normalisers = self._log_normalisers
        if log_normalisers is None:
            log_normalisers = _log_sum_exp(values, owner, len(self._rows))
        scores = self._scores[owner] + (values - log_normalisers[owner])
        inputs, columns = self._inputs[owners], rank_in_group(self._inputs[owners])
        width = int(columns.max()) + 1
        if width > k:
            rows = np.cumsum(np.diff(inputs, prepend=inputs[0]) > 0)
            matrix = scores.new_full((int(rows[-1]) + 1, width), -torch.inf)
            row = self._to_device(rows)
            matrix[row, self._to_device(columns)] = scores
            kept = ~(scores < _kth_highest(matrix, k)[row])
            owner, place, scores = owner[kept], place[kept], scores[kept]
        return torch.stack([owner.double(), place.double(), scores])

    def _to_device(self, array: npt.NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(array).to(self._logits.device)


def _kth_highest(values: Tensor, k: int) -> Tensor:
    """Return the `k`-th highest value of each row, or the lowest if there are fewer.

    NaN counts as the highest value. Nothing compares as below NaN, so NaN is never dropped.
    """
    return values.topk(min(k, values.shape[1]), dim=1).values[:, -1]


def _log_sum_exp(values: Tensor, owner: Tensor, beams: int) -> Tensor:
    maxima = values.new_full((beams,), -torch.inf).scatter_reduce(0, owner, values, "amax")
    sums = values.new_zeros(beams).index_add(0, owner, (values - maxima[owner]).exp())
    return maxima + sums.log()


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
