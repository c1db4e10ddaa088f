"""Any constraint as a logits processor, for plain ``model.generate(...)`` of transformers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor
from transformers import LogitsProcessor

from trie.constraint import Ints

if TYPE_CHECKING:
    from trie.constraint import Constraint

# The score of what the constraint allows where another processor forbids all of it: far below any
# log probability, and far above the -1e9 that beam search gives to beams that do not count.
_LAST_RESORT = -1e4


# Number of the constraint, and tokens.
_Key = tuple[int, tuple[int, ...]]


class _Ahead(NamedTuple):
    """A state, the tokens that may follow, ascending, and the state behind each."""

    state: int
    tokens: Ints
    states: Ints

    def behind(self, token: int) -> int | None:
        """Return the state behind a token, None if it may not follow."""
        if not self.tokens.size:
            return self.state  # the sequence has ended, `token` is padding
        at = int(self.tokens.searchsorted(token))
        if at == self.tokens.size or self.tokens[at] != token:
            return None
        return int(self.states[at])


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
        # Of each row of the last step, by constraint and tokens, what may follow; None where the
        # tokens are illegal. Beams are reordered without notice, but their tokens tell.
        self._known: dict[_Key, _Ahead | None] = {}
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
        states = {key: self._state(*key) for key in dict.fromkeys(keys)}
        self._known = self._look_ahead(states)
        # Rows in the same state share one line of the mask.
        lines: dict[tuple[int, int], int] = {}
        arrays: list[Ints] = []
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
        """Return the state behind `ids`: one step from that of the last call, if it is known.

        Illegal tokens in that step are fillers, None: beam search takes some at minus infinity
        where there are not enough legal ones.
        """
        before = number, ids[:-1]
        if ids and before in self._known:
            found = self._known[before]
            return None if found is None else found.behind(ids[-1])
        state = self._constraints[number].start
        for token in ids:
            (found,) = _ahead(self._constraints[number], [state])
            following = found.behind(token)
            if following is None:
                raise ValueError(
                    f"the constraint does not allow the tokens {list(ids)} behind the first "
                    f"{self._prompt}; is prompt_length right?"
                )
            state = following
        return state

    def _look_ahead(self, states: dict[_Key, int | None]) -> dict[_Key, _Ahead | None]:
        """Return what may follow, asking each constraint once."""
        known: dict[_Key, _Ahead | None] = dict.fromkeys(states)
        for number, constraint in enumerate(self._constraints):
            mine = {k: s for k, s in states.items() if k[0] == number and s is not None}
            distinct = list(dict.fromkeys(mine.values()))
            found = dict(zip(distinct, _ahead(constraint, distinct), strict=True))
            known |= {key: found[state] for key, state in mine.items()}
        return known

    def _allowed(self, number: int, ids: tuple[int, ...]) -> tuple[tuple[int, int], Ints]:
        """Return what tells a line of the mask from others, and its tokens."""
        ahead = self._known[number, ids]
        if ahead is not None:
            if ahead.tokens.size:
                return (number, ahead.state), ahead.tokens
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


def _ahead(constraint: Constraint, states: Sequence[int]) -> list[_Ahead]:
    """Return what may follow each of some states."""
    found = constraint.transitions(np.array(states, dtype=np.int64))
    ends = found.sizes.cumsum()
    return [
        _Ahead(state, found.tokens[end - size : end], found.states[end - size : end])
        for state, end, size in zip(states, ends.tolist(), found.sizes.tolist(), strict=True)
    ]


def _mask(arrays: Sequence[Ints], scores: Tensor) -> Tensor:
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
