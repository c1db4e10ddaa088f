"""Any constraint as a logits processor for ``model.generate(...)`` of transformers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from transformers import LogitsProcessor

from trie.beam_decoding import ConstraintBatch, NextTokens
from trie.grammar import Constraint
from trie.token_trie import Bools, Ints

_Ids = tuple[int, ...]
_Prefix = tuple[int, _Ids]  # number of the constraint, and the decoded tokens

# The score of allowed tokens where another processor forbids all of them: far below any log
# probability, and far above the -1e9 that beam search gives to invalid beams.
_FALLBACK = -1e4
# Rows in one state, times its tokens, above which a cached mask pays off; and masks to cache.
_WIDE, _CACHED_MASKS = 1 << 12, 4


class ConstraintLogitsProcessor(LogitsProcessor):
    """Restrict ``model.generate(...)`` to the tokens that a constraint allows.

    It works with every encoder-decoder and decoder-only model of transformers, with greedy search,
    beam search and sampling, and can be used for any number of calls. The scores of allowed tokens
    are not changed: they remain log-probabilities over the full vocabulary. ``generate`` applies
    its own processors first; where these forbid everything that the constraint allows, the allowed
    tokens get a low score, and a warning is issued.

    ``generate`` always returns the requested number of sequences. Where fewer are legal, legal ones
    are repeated, with scores far below any log-probability.

    `constraint`: one constraint for all inputs, or one for each input of the batch, whose rows are
    consecutive and equally many, as in ``generate``. `prompt_length`: number of tokens before the
    constrained ones: 1, the start token, for an encoder-decoder model; ``input_ids.shape[1]`` for a
    decoder-only model, whose prompts are padded on the left.
    """

    supports_continuous_batching = False  # its batches change from step to step

    def __init__(
        self, constraint: Constraint | Sequence[Constraint], *, prompt_length: int = 1
    ) -> None:
        self._constraints = constraint if isinstance(constraint, Sequence) else [constraint]
        if not self._constraints or prompt_length < 0:
            raise ValueError("give at least one constraint, and a prompt_length of at least 0")
        self._prompt_length = prompt_length
        self._batch = ConstraintBatch(self._constraints)
        # The prefixes of the last step, and for each its row in `_last`, -1 for ended and illegal
        # ones. Beams are reordered between steps without notice, but can be told by their tokens.
        self._known: dict[_Prefix, int] = {}
        self._last = NextTokens(*[np.empty(0, dtype=np.int64)] * 5)
        self._masker = ScoreMasker()
        self._warned = False

    @torch.no_grad()
    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Return new scores: minus infinity for every token that is not allowed. No gradients.

        `input_ids` holds prompt and decoded tokens, (rows, length); `scores` those of the next
        token, (rows, vocabulary).

        Raises ValueError if the number of rows is not a multiple of the number of constraints, the
        first tokens cannot come from this processor (a wrong `prompt_length`), or the constraint
        allows a token outside the vocabulary.
        """
        rows, length = input_ids.shape
        if rows % len(self._constraints):
            raise ValueError(f"{rows} rows cannot be divided among {len(self._constraints)} inputs")
        if length < self._prompt_length:
            raise ValueError(
                f"prompt_length is {self._prompt_length}, but there are {length} tokens"
            )
        rows_per_input = rows // len(self._constraints)
        decoded = input_ids[:, self._prompt_length :].tolist()
        prefixes = [(row // rows_per_input, tuple(ids)) for row, ids in enumerate(decoded)]
        numbers = {prefix: number for number, prefix in enumerate(dict.fromkeys(prefixes))}
        next_tokens, running = self._next_tokens(list(numbers), scores.shape[-1])
        number_of_row = np.array([numbers[prefix] for prefix in prefixes])
        per_row = replace(next_tokens, rows=next_tokens.rows[number_of_row])
        masked, lost = self._masker.mask(scores, per_row, _FALLBACK)
        # Ended rows only get padding, so it does not matter if that is forbidden.
        if running[number_of_row[lost]].any():
            self._warn()
        return masked

    def _next_tokens(
        self, prefixes: Sequence[_Prefix], vocab_size: int
    ) -> tuple[NextTokens, Bools]:
        """Return the tokens that may follow distinct prefixes, and which of them go on."""
        states = self._states(prefixes)
        legal = np.flatnonzero(states >= 0)
        numbers = np.array([number for number, _ in prefixes])
        found = self._batch.next_tokens(numbers[legal], states[legal], vocab_size)
        rows = np.full(len(prefixes), -1)
        rows[legal] = found.rows
        self._known, self._last = dict(zip(prefixes, rows.tolist(), strict=True)), found
        running = (rows >= 0) & (np.append(found.sizes, 0)[rows] > 0)
        # After the end, some token must remain possible, or sampling would fail for the row. The
        # end token again is harmless: it ends a copy of a complete sequence.
        fillers = np.flatnonzero(~running)
        if not all(prefixes[at][1] for at in fillers.tolist()):
            raise ValueError("the constraint allows nothing at all")
        rows[fillers] = len(found.sizes) + np.arange(len(fillers))
        last = np.array([prefixes[at][1][-1] for at in fillers.tolist()], dtype=np.int64)
        return found.with_single_tokens(last, rows), running

    def _states(self, prefixes: Sequence[_Prefix]) -> Ints:
        """Return the state after each prefix, -1 for illegal ones.

        A prefix that extends one of the last call takes one step; others are read from the start.
        """
        states = np.empty(len(prefixes), dtype=np.int64)
        known, rows = [], []
        for at, (number, ids) in enumerate(prefixes):
            row = self._known.get((number, ids[:-1])) if ids else None
            if row is None:
                states[at] = self._read(number, ids)
            else:
                known.append(at)
                rows.append(row)
        # Illegal tokens are fillers: where there are too few legal tokens, beam search takes some
        # with a score of minus infinity. Tokens after the end token are fillers, too.
        last = np.array([prefixes[at][1][-1] for at in known], dtype=np.int64)
        states[known] = self._last.states_after(np.array(rows, dtype=np.int64), last)
        return states

    def _read(self, number: int, ids: _Ids) -> int:
        """Return the state after `ids`, read one by one, or -1 if they continue after the end."""
        constraint = self._constraints[number]
        state, zero = constraint.start, np.zeros(1, dtype=np.int64)
        for token in ids:
            found = constraint.transitions(np.array([state], dtype=np.int64))
            if not found.tokens.size:
                return -1
            next_tokens = NextTokens(zero, found.tokens, found.next_states, zero, found.sizes)
            state = int(next_tokens.states_after(zero, np.array([token]))[0])
            if state < 0:
                raise ValueError(
                    f"the constraint does not allow the tokens {list(ids)} after the first "
                    f"{self._prompt_length}; is prompt_length correct?"
                )
        return state

    def _warn(self) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                "another logits processor forbids every token that the constraint allows; they "
                "remain possible with a low score. Check forced_bos_token_id, min_length, "
                "no_repeat_ngram_size and max_length in the generation config",
                RuntimeWarning,
                stacklevel=3,
            )


class ScoreMasker:
    """Masks the scores of tokens that are not allowed; caches the masks of very wide states.

    Most of the time goes into touching the result's memory once. It is filled with minus infinity,
    and the allowed scores are copied. When all rows share very many allowed tokens, as at the root
    of a large trie, the scores are combined with a mask that is cached.
    """

    def __init__(self) -> None:
        self._masks: list[tuple[Ints, Tensor]] = []

    def mask(self, scores: Tensor, next_tokens: NextTokens, fallback: float) -> tuple[Tensor, Ints]:
        """Return new scores: minus infinity for tokens that are not allowed, even if NaN before.

        Where all allowed tokens of a row, (vocabulary,), are minus infinity, they get `fallback`.
        These rows are returned, too.
        """
        masked, group = _empty_like(scores), next_tokens.rows[0]
        offset, size = next_tokens.offsets[group], next_tokens.sizes[group]
        if len(scores) * size > _WIDE and (next_tokens.rows == group).all():
            mask = self._mask(scores, next_tokens.tokens[offset : offset + size])
            maxima = torch.minimum(scores, mask, out=masked).amax(dim=1)
        else:
            rows, tokens = _coordinates(scores, next_tokens, np.arange(len(scores)))
            masked.fill_(-math.inf)
            masked[rows, tokens] = values = scores[rows, tokens]
            maxima = scores.new_full((len(scores),), -math.inf)
            maxima.scatter_reduce_(0, rows, values, "amax")
        doubtful = np.flatnonzero(~(maxima > -math.inf).cpu().numpy())
        if not len(doubtful):
            return masked, doubtful
        return masked, _repair(masked, scores, next_tokens, doubtful, fallback)

    def _mask(self, scores: Tensor, tokens: Ints) -> Tensor:
        # A row of the vocabulary: infinity for the tokens, minus infinity elsewhere.
        for cached, mask in self._masks:
            fits = (mask.size(0), mask.dtype, mask.device) == (
                scores.size(1),
                scores.dtype,
                scores.device,
            )
            if fits and np.array_equal(cached, tokens):
                return mask
        mask = scores.new_full((scores.size(1),), -math.inf)
        mask[torch.from_numpy(tokens).to(mask.device)] = math.inf
        self._masks = [(tokens, mask), *self._masks[: _CACHED_MASKS - 1]]
        return mask


def _repair(
    masked: Tensor, scores: Tensor, next_tokens: NextTokens, doubtful: Ints, fallback: float
) -> Ints:
    """Mask rows again that have no finite score or a NaN; return those that got `fallback`."""
    rows, tokens = _coordinates(scores, next_tokens, doubtful)
    values = scores[rows, tokens]
    masked[torch.from_numpy(doubtful).to(masked.device)] = -math.inf
    masked[rows, tokens] = values
    lost = masked.amax(dim=1).isneginf()
    masked[rows, tokens] = values.masked_fill(lost[rows], fallback)
    return lost.nonzero()[:, 0].cpu().numpy()


def _coordinates(scores: Tensor, next_tokens: NextTokens, beams: Ints) -> tuple[Tensor, Tensor]:
    rows, places = next_tokens.positions(beams)
    both = torch.from_numpy(np.stack([rows, next_tokens.tokens[places]])).to(scores.device)
    return both[0], both[1]


def _empty_like(scores: Tensor) -> Tensor:
    # In host memory it is allocated by numpy, which asks for huge pages. torch does not, and
    # getting memory page by page takes several times as long as filling it.
    if scores.device.type != "cpu":
        return torch.empty_like(scores, memory_format=torch.contiguous_format)
    buffer = np.empty(scores.numel() * scores.element_size(), dtype=np.uint8)
    return torch.from_numpy(buffer).view(scores.dtype).view(scores.shape)
