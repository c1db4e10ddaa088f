"""Any constraint as a logits processor, for plain ``model.generate(...)`` of transformers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from transformers import LogitsProcessor

from trie.bits import Ints
from trie.constraint import Constraint
from trie.following import ConstraintBatch

_Ids = tuple[int, ...]
_Key = tuple[int, _Ids]  # number of the constraint, and tokens
_Known = tuple[int, Ints, Ints]  # state, which tokens may follow it, and the states behind these

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
        self._batch = ConstraintBatch(self._constraints)
        # The rows of the last step. Beams are reordered between steps without notice, but their
        # tokens tell.
        self._known: dict[_Key, _Known | None] = {}
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
        places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
        lines, running, mask = self._lines(list(places), scores)
        place_of = np.array([places[key] for key in keys])
        allowed = mask[torch.from_numpy(lines[place_of]).to(scores.device)]
        kept = scores.masked_fill(~allowed, -math.inf)
        lost = kept.amax(dim=-1, keepdim=True).isneginf()
        if bool(lost.any()):
            # Rows behind the end are padding; what is forbidden there matters to nobody.
            if bool(lost[:, 0].cpu().numpy()[running[place_of]].any()):
                self._warn()
            kept = kept.masked_fill(allowed & lost, _LAST_RESORT)
        return kept

    def _lines(
        self, keys: Sequence[_Key], scores: Tensor
    ) -> tuple[Ints, npt.NDArray[np.bool_], Tensor]:
        """Look at the rows that differ in constraint or tokens.

        Returns
        -------
        Ints
            For each key its line of the mask; what is in the same state shares one.
        ndarray
            Whether its sequence can go on.
        Tensor
            The mask, which says which tokens may follow; bool, (lines, vocabulary).
        """
        found = {
            at: state for at, key in enumerate(keys) if (state := self._state(*key)) is not None
        }
        legal, states = (np.array(list(part), dtype=np.int64) for part in (found, found.values()))
        numbers = np.array([number for number, _ in keys])
        following = self._batch.following(numbers[legal], states, scores.shape[-1])
        groups, sizes = following.groups, following.sizes
        known: dict[_Key, _Known | None] = dict.fromkeys(keys)
        ends = following.firsts + sizes
        for at, group in zip(legal.tolist(), groups.tolist(), strict=True):
            span = slice(following.firsts[group], ends[group])
            known[keys[at]] = found[at], following.tokens[span], following.states[span]
        self._known = known
        lines, running = np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=bool)
        lines[legal], running[legal] = groups, sizes[groups] > 0
        # Behind the end something must be possible, or sampling would fail for this row. The end
        # token again is harmless: it ends a copy of what is complete.
        fillers = np.flatnonzero(~running)
        if not all(keys[at][1] for at in fillers.tolist()):
            raise ValueError("the constraint allows nothing at all")
        lines[fillers] = len(sizes) + np.arange(len(fillers))
        last = np.array([keys[at][1][-1] for at in fillers.tolist()], dtype=np.int64)
        tokens = torch.from_numpy(np.concatenate([following.tokens, last]))
        owners = np.append(np.repeat(np.arange(len(sizes)), sizes), lines[fillers])
        mask = scores.new_zeros(len(sizes) + len(fillers), scores.shape[-1], dtype=torch.bool)
        mask[torch.from_numpy(owners).to(scores.device), tokens.to(scores.device)] = True
        return lines, running, mask

    def _state(self, number: int, ids: _Ids) -> int | None:
        """Return the state behind `ids`, None if it is a filler's.

        It is one step from what the last call knows; otherwise all of them are read again.
        """
        if ids and (number, ids[:-1]) in self._known:
            # An illegal token here is a filler: beam search takes some at minus infinity where
            # there are not enough legal ones.
            return _behind(self._known[number, ids[:-1]], ids[-1])
        constraint = self._constraints[number]
        state = constraint.start
        for token in ids:
            found = constraint.transitions(np.array([state], dtype=np.int64))
            behind = _behind((state, found.tokens, found.states), token)
            if behind is None:
                raise ValueError(
                    f"the constraint does not allow the tokens {list(ids)} behind the first "
                    f"{self._prompt}; is prompt_length right?"
                )
            state = behind
        return state

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


def _behind(known: _Known | None, token: int) -> int | None:
    """Return the state behind `token`, None where it is illegal."""
    if known is None:
        return None
    state, tokens, states = known
    if not tokens.size:
        return state  # the sequence has ended, `token` is padding
    at = int(tokens.searchsorted(token))
    return int(states[at]) if at < tokens.size and tokens[at] == token else None
