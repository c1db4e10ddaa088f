"""Any constraint as a logits processor, for plain ``model.generate(...)`` of transformers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from transformers import LogitsProcessor

from trie.constraints.constraint import Constraint
from trie.decoding.allowed_scores import Allowed
from trie.decoding.next_tokens import ConstraintBatch, Following
from trie.index.bits import Bools, Ints

_Ids = tuple[int, ...]
_Key = tuple[int, _Ids]  # number of the constraint, and tokens

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
        # The rows of the last step, and what might follow their groups, -1 for fillers. Beams are
        # reordered between steps without notice, but their tokens tell.
        self._known: dict[_Key, int] = {}
        self._last = Following(*[np.empty(0, dtype=np.int64)] * 5)
        self._allowed = Allowed()
        self._warned = False

    @torch.no_grad()
    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Return new scores: minus infinity for every token that is not allowed. Without gradients.

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
        following, running = self._following(list(places), scores.shape[-1])
        place_of = np.array([places[key] for key in keys])
        mine = replace(following, groups=following.groups[place_of])
        kept, lost = self._allowed.of(scores, mine, _LAST_RESORT)
        # Rows behind the end are padding; what is forbidden there matters to nobody.
        if running[place_of[lost]].any():
            self._warn()
        return kept

    def _following(self, keys: Sequence[_Key], vocabulary: int) -> tuple[Following, Bools]:
        """Look at the rows that differ in constraint or tokens.

        Returns
        -------
        Following
            What may follow each key.
        Bools
            Whether its sequence can go on.
        """
        states = self._states(keys)
        legal = np.flatnonzero(states >= 0)
        numbers = np.array([number for number, _ in keys])
        found = self._batch.following(numbers[legal], states[legal], vocabulary)
        groups = np.full(len(keys), -1)
        groups[legal] = found.groups
        self._known, self._last = dict(zip(keys, groups.tolist(), strict=True)), found
        running = (groups >= 0) & (np.append(found.sizes, 0)[groups] > 0)
        # Behind the end something must be possible, or sampling would fail for this row. The end
        # token again is harmless: it ends a copy of what is complete.
        fillers = np.flatnonzero(~running)
        if not all(keys[at][1] for at in fillers.tolist()):
            raise ValueError("the constraint allows nothing at all")
        groups[fillers] = len(found.sizes) + np.arange(len(fillers))
        last = np.array([keys[at][1][-1] for at in fillers.tolist()], dtype=np.int64)
        return found.and_single(last, groups), running

    def _states(self, keys: Sequence[_Key]) -> Ints:
        """Return the state behind each key, -1 if it is a filler's.

        It is one step from what the last call knows; otherwise all tokens are read again.
        """
        states = np.empty(len(keys), dtype=np.int64)
        known, groups = [], []
        for at, (number, ids) in enumerate(keys):
            group = self._known.get((number, ids[:-1])) if ids else None
            if group is None:
                states[at] = self._read(number, ids)
            else:
                known.append(at)
                groups.append(group)
        # An illegal token here is a filler: beam search takes some at minus infinity where there
        # are not enough legal ones. What follows the end token is one, too.
        last = np.array([keys[at][1][-1] for at in known], dtype=np.int64)
        states[known] = self._last.behind(np.array(groups, dtype=np.int64), last)
        return states

    def _read(self, number: int, ids: _Ids) -> int:
        """Return the state behind tokens, read one by one."""
        constraint = self._constraints[number]
        state, first = constraint.start, np.zeros(1, dtype=np.int64)
        for token in ids:
            found = constraint.transitions(np.array([state], dtype=np.int64))
            if not found.tokens.size:
                return -1
            groups = Following(first, found.tokens, found.states, first, found.sizes)
            state = int(groups.behind(first, np.array([token]))[0])
            if state < 0:
                raise ValueError(
                    f"the constraint does not allow the tokens {list(ids)} behind the first "
                    f"{self._prompt}; is prompt_length right?"
                )
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
