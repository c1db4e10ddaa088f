"""Any constraint as a logits processor for ``model.generate(...)`` of transformers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from transformers import LogitsProcessor

from trie.grammar import Constraint, check_vocabulary
from trie.token_trie import Ints

_Prefix = tuple[int, tuple[int, ...]]  # number of the constraint, and the decoded tokens

# The score of allowed tokens where another processor forbids all of them: far below any log
# probability, and far above the -1e9 that beam search gives to invalid beams.
_FALLBACK = -1e4


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
        # The tokens that may follow each prefix of the last step, and the states after them; none
        # after ended and illegal ones. Beams are reordered between steps without notice, but can
        # be told by their tokens.
        self._known: dict[_Prefix, tuple[Ints, Ints]] = {}
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
        self._known = {prefix: self._next_tokens(*prefix) for prefix in dict.fromkeys(prefixes)}
        masked = torch.full_like(scores, -math.inf)
        for row, prefix in enumerate(prefixes):
            tokens, _ = self._known[prefix]
            check_vocabulary(tokens, scores.shape[1])
            has_ended = not tokens.size
            if has_ended:
                # Some token must remain possible, or sampling would fail for the row. The last one
                # again is harmless: if it is the end token, it ends a copy of a complete sequence.
                if not prefix[1]:
                    raise ValueError("the constraint allows nothing at all")
                tokens = np.array(prefix[1][-1:])
            columns = torch.from_numpy(tokens).to(scores.device)
            values = scores[row, columns]
            if values.isneginf().all():
                values = torch.full_like(values, _FALLBACK)
                if not has_ended:  # ended rows only get padding
                    self._warn()
            masked[row, columns] = values
        return masked

    def _next_tokens(self, number: int, ids: tuple[int, ...]) -> tuple[Ints, Ints]:
        """Return the tokens that may follow, and the states after them, from the last step's."""
        constraint = self._constraints[number]
        known = self._known.get((number, ids[:-1])) if ids else None
        if known is None:
            state = constraint.start
            for token in ids:
                state = _step(_transitions(constraint, state), token)
                if state < 0:
                    raise ValueError(
                        f"the constraint does not allow the tokens {list(ids)} after the first "
                        f"{self._prompt_length}; is prompt_length correct?"
                    )
        else:
            # Illegal tokens are fillers: where there are too few legal tokens, beam search takes
            # some with a score of minus infinity. Tokens after the end token are fillers, too.
            state = _step(known, ids[-1])
        return _transitions(constraint, state)

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


def _transitions(constraint: Constraint, state: int) -> tuple[Ints, Ints]:
    """Return the tokens that may follow a state and the states after them; none for -1."""
    states = np.array([state] if state >= 0 else [], dtype=np.int64)
    found = constraint.transitions(states)
    return found.tokens, found.next_states


def _step(successors: tuple[Ints, Ints], token: int) -> int:
    """Return the state after a token, or -1 if it is not allowed."""
    tokens, next_states = successors
    place = tokens.searchsorted(token)
    return int(next_states[place]) if token in tokens[place : place + 1] else -1
