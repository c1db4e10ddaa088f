"""Constraints as ``generate`` knows them: functions from prefixes to the tokens that may follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from trie.constraint import Constraint
from trie.model.packed_encoder import pad_batch

Prefixed = Callable[[int, torch.Tensor], list[int]]


def generate(
    model: Any,
    inputs: Sequence[Sequence[int]],
    following: Prefixed,
    *,
    beams: int,
    most: int,
    **more: Any,
) -> Any:
    """Decode by transformers as our beam search does: all beams, by sums of log probabilities."""
    ids, mask = pad_batch(inputs, model.config.pad_token_id)
    return model.generate(
        ids.to(model.device),
        attention_mask=mask.to(model.device),
        num_beams=beams,
        num_return_sequences=beams,
        max_new_tokens=most,
        length_penalty=0.0,
        early_stopping=False,
        do_sample=False,
        forced_bos_token_id=None,
        forced_eos_token_id=None,
        prefix_allowed_tokens_fn=following,
        **more,
    )


def prefix_function(sequences: Sequence[Sequence[int]], end: int) -> Prefixed:
    """Return a `prefix_allowed_tokens_fn` over nested dicts.

    It allows `sequences`, each with the end token behind it.
    """
    root: dict[int, Any] = {}
    for sequence in sequences:
        node = root
        for token in (*sequence, end):
            node = node.setdefault(token, {})

    def following(_: int, ids: torch.Tensor) -> list[int]:
        node = root
        for token in ids.tolist()[1:]:
            node = node.get(token, {})
        return list(node) or [end]

    return following


def constraint_function(constraints: Sequence[Constraint], end: int) -> Prefixed:
    """Return a `prefix_allowed_tokens_fn` for automata, one for each input of a batch.

    What may follow a prefix is looked up once, and remembered.
    """
    known: list[dict[tuple[int, ...], tuple[list[int], dict[int, int]]]] = [{} for _ in constraints]

    def look(number: int, prefix: tuple[int, ...]) -> tuple[list[int], dict[int, int]]:
        found = known[number].get(prefix)
        if found is None:
            state: int | None = constraints[number].start
            if prefix:
                state = look(number, prefix[:-1])[1].get(prefix[-1])
            tokens, states = [], []
            if state is not None:
                after = constraints[number].transitions(np.array([state], dtype=np.int64))
                tokens, states = after.tokens.tolist(), after.next_states.tolist()
            found = tokens or [end], dict(zip(tokens, states, strict=True))
            known[number][prefix] = found
        return found

    def following(number: int, ids: torch.Tensor) -> list[int]:
        return look(number, tuple(ids.tolist()[1:]))[0]

    return following
