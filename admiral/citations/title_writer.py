"""Expand queries by a title: a model writes that of the page that a claim may cite.

As in SIDE (Petroni et al., 2023, after Mao et al., 2021), the model reads the claim in its context,
and the first of 15 beams of at most 15 tokens is used. No constraint limits the titles.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from admiral.citations.citation_records import CitedClaim
from admiral.citations.claim_context import ContextForm, claim_in_context
from admiral.models.checkpoint import Checkpoint
from proofs.generation.source_input import encode_source
from trie import SafeTokenizer, beam_search
from trie.grammar import Transitions
from trie.token_trie import Ints

#: Beams, and tokens of a title; as in SIDE.
BEAMS, TITLE_TOKENS = 15, 15
_BRACKETS_AND_END = 3
_BATCH = 16


class TitleWriter:
    """Writes titles with a seq2seq model, such as `training.retriever` trains.

    `context`: how much of the context of a claim the model reads.
    """

    def __init__(self, checkpoint: Checkpoint, context: ContextForm = "sentence") -> None:
        self._model, self._tokens = checkpoint.model, checkpoint.tokens
        self._context = context
        self._constraint = AnyTitle(self._tokens, self._model.vocab_size)

    def titles(self, claims: Sequence[CitedClaim]) -> list[str]:
        """Return the most probable title for each claim; empty if none ends in time."""
        titles = []
        longest = self._model.max_source
        for first in range(0, len(claims), _BATCH):
            texts = [
                claim_in_context(each, self._context) for each in claims[first : first + _BATCH]
            ]
            inputs = [
                encode_source(self._tokens, "retrieve", text, (), longest, 0).ids for text in texts
            ]
            found = beam_search(
                self._model,
                inputs,
                [self._constraint] * len(inputs),
                beam_size=BEAMS,
                max_length=min(TITLE_TOKENS + _BRACKETS_AND_END, self._model.max_target),
            )
            titles += [
                self._tokens.decode(hypotheses[0].tokens[1:-2]).strip() if hypotheses else ""
                for hypotheses in found
            ]
        return titles


class AnyTitle:
    """A `trie.Constraint` that accepts any tokens in brackets.

    `vocabulary`: number of tokens of the model.
    """

    start = 0

    def __init__(self, tokens: SafeTokenizer, vocabulary: int) -> None:
        opening, closing = tokens.single_token("["), tokens.single_token("]")
        special = (closing, tokens.eos)
        ordinary = np.array([t for t in range(vocabulary) if t not in special], np.int64)
        inside = np.sort(np.append(ordinary, closing))
        after = np.where(inside == closing, 3, 2)
        self._arcs = [
            (np.array([opening]), np.array([1])),
            (ordinary, np.full(len(ordinary), 2)),
            (inside, after),
            (np.array([tokens.eos]), np.array([4])),
            (np.empty(0, np.int64), np.empty(0, np.int64)),
        ]

    def transitions(self, states: Ints) -> Transitions:
        """Return the transitions from each of `states`."""
        arcs = [self._arcs[state] for state in states.tolist()]
        return Transitions(
            np.concatenate([tokens for tokens, _ in arcs]),
            np.concatenate([following for _, following in arcs]),
            np.array([len(tokens) for tokens, _ in arcs]),
        )
