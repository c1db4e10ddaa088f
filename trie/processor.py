"""Any constraint as a logits processor, for plain ``model.generate(...)`` of transformers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from transformers import LogitsProcessor

if TYPE_CHECKING:
    from trie.constraint import Constraint

# The score of what the constraint allows where another processor forbids all of it: far below any
# log probability, and far above the -1e9 that beam search gives to beams that do not count.
_LAST_RESORT = -1e4


class ConstraintProcessor(LogitsProcessor):
    """Lets ``model.generate(...)`` choose only tokens that a constraint allows.

    It works with every encoder-decoder and decoder-only model of transformers, greedy, with beams
    and sampling, and may be used for any number of calls. The scores of allowed tokens stay as
    they are: log probabilities over the full vocabulary. ``generate`` applies it behind the
    processors of its own; where these forbid all that is allowed, that stays possible as a last
    resort, with a poor score and a warning.

    ``generate`` always returns as many sequences as it is asked for. Where fewer are legal, legal
    ones are repeated, with scores far below any log probability.

    Parameters
    ----------
    constraint
        One for all inputs, or one for each input of the batch. Inputs are expected to have equally
        many rows, one behind the other, as ``generate`` lays out beams and returned sequences.
    prompt_length
        How many tokens of a row come before the constrained ones: 1, the start token, for an
        encoder-decoder model; ``input_ids.shape[1]`` for a decoder-only model, whose prompts are
        padded on the left.
    """

    supports_continuous_batching = False  # its batches change from step to step

    def __init__(
        self, constraint: Constraint | Sequence[Constraint], *, prompt_length: int = 1
    ) -> None:
        self._constraints = constraint if isinstance(constraint, Sequence) else [constraint]
        if not self._constraints or prompt_length < 0:
            raise ValueError("give at least one constraint, and a prompt_length of at least 0")
        self._prompt = prompt_length
        # Of each row of the last step, by constraint and tokens, the state; None where the tokens
        # are illegal. Beams are reordered between steps without notice, but their tokens tell.
        self._known: dict[tuple[int, tuple[int, ...]], int | None] = {}
        self._warned = False

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Return `scores` with minus infinity for every token that is not allowed.

        Parameters
        ----------
        input_ids
            Prompt and decoded tokens; (rows, length).
        scores
            Scores of the next token; (rows, vocabulary).

        Raises
        ------
        ValueError
            If the rows cannot be shared out among the constraints, their first tokens cannot come
            from this processor (a wrong `prompt_length`), or the constraint allows a token that
            the vocabulary lacks.
        """
        rows, length = input_ids.shape
        if rows % len(self._constraints):
            raise ValueError(f"{rows} rows cannot be shared by {len(self._constraints)} inputs")
        if length < self._prompt:
            raise ValueError(f"prompt_length is {self._prompt}, but there are {length} tokens")
        each = rows // len(self._constraints)
        decoded = input_ids[:, self._prompt :].tolist()
        keys = [(row // each, tuple(ids)) for row, ids in enumerate(decoded)]
        self._known = {key: self._state(*key) for key in dict.fromkeys(keys)}
        # Rows in the same state share one line of the mask.
        lines: dict[tuple[int, int], int] = {}
        arrays: list[npt.NDArray[np.int64]] = []
        line_of: list[int] = []
        for key in keys:
            line, allowed = self._allowed(*key)
            if line not in lines:
                lines[line] = len(arrays)
                arrays.append(allowed)
            line_of.append(lines[line])
        mask = _mask(arrays, scores)[torch.tensor(line_of, device=scores.device)]
        kept = scores.masked_fill(~mask, -math.inf)
        lost = kept.amax(dim=-1, keepdim=True).isneginf()
        if bool(lost.any()):
            # Rows behind the end are padding; what is forbidden there matters to nobody.
            running = torch.tensor([key[0] >= 0 for key in lines], device=scores.device)
            if bool((lost[:, 0] & running[line_of]).any()):
                self._warn()
            kept = kept.masked_fill(mask & lost, _LAST_RESORT)
        return kept

    def _state(self, number: int, ids: tuple[int, ...]) -> int | None:
        """Return the state behind `ids`: one step from that of the last call, if it is known."""
        before = number, ids[:-1]
        if ids and before in self._known:
            # An illegal token here is a filler: beam search takes some at minus infinity where
            # there are not enough legal ones.
            return self._step(number, self._known[before], ids[-1])
        state: int | None = self._constraints[number].start
        for token in ids:
            state = self._step(number, state, token)
        if state is None:
            raise ValueError(
                f"the constraint does not allow the tokens {list(ids)} behind the first "
                f"{self._prompt}; is prompt_length right?"
            )
        return state

    def _step(self, number: int, state: int | None, token: int) -> int | None:
        if state is None:
            return None
        allowed = self._constraints[number].allowed(state)
        if not allowed.size:
            return state  # the sequence has ended, `token` is padding
        at = int(allowed.searchsorted(token))
        if at == allowed.size or allowed[at] != token:
            return None
        return self._constraints[number].advance(state, token)

    def _allowed(
        self, number: int, ids: tuple[int, ...]
    ) -> tuple[tuple[int, int], npt.NDArray[np.int64]]:
        """Return what tells a line of the mask from others, and its tokens."""
        state = self._known[number, ids]
        if state is not None:
            allowed = self._constraints[number].allowed(state)
            if allowed.size:
                return (number, state), allowed
            if not ids:
                raise ValueError("the constraint allows nothing at all")
        # Behind the end something must be possible, or sampling would fail for this row. The end
        # token again is harmless: it ends a copy of what is complete.
        return (-1, ids[-1]), np.array(ids[-1:], dtype=np.int64)

    def _warn(self) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                "another logits processor forbids every token that the constraint allows; they "
                "stay possible as a last resort. Look at forced_bos_token_id, min_length, "
                "no_repeat_ngram_size and max_length of the generation config",
                RuntimeWarning,
                stacklevel=3,
            )


def _mask(arrays: Sequence[npt.NDArray[np.int64]], scores: Tensor) -> Tensor:
    """Return a boolean mask with the tokens of one array in each line; (arrays, vocabulary)."""
    vocabulary = scores.shape[-1]
    tokens = np.concatenate(arrays)
    if not 0 <= tokens.min() <= tokens.max() < vocabulary:
        raise ValueError(
            f"the constraint allows a token outside the model's vocabulary of {vocabulary}; "
            "are model and tokenizer of the same checkpoint?"
        )
    places = tokens + np.repeat(np.arange(len(arrays)) * vocabulary, [len(a) for a in arrays])
    mask = torch.zeros(len(arrays) * vocabulary, dtype=torch.bool, device=scores.device)
    mask[torch.from_numpy(places).to(scores.device)] = True
    return mask.view(len(arrays), vocabulary)
