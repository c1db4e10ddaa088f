"""Generative scores of documents that any stage has found, by forced decoding.

Beam search scores only the documents that it generates. Here the model scores given titles: how
probable is it that the next document set contains each of them?
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

from admiral.records import Sentence
from admiral.retrieval.hop_input import HopInput, HopInputEncoder
from admiral.retrieval.hop_retriever import log_sum_exp
from trie import SafeTokenizer, Seq2Seq, SequenceScorer, Trie

#: The log probability of documents that the model all but excludes. Differences below it are noise.
MIN_LOG_PROBABILITY = math.log(1e-6)

# The positions of the sentences that a sequence names, in ascending order.
Choice = tuple[int, ...]


class ForcedTitleScorer:
    """Compute the probability that a document belongs to the next document set.

    A sequence names sentences, and then a title. The probability of a document is that of all
    sequences that name one of its sentences or its title. The first part is exact, a sum over all
    choices of sentences. For the second part, the title is scored after the most probable choice
    that leaves its document out, on behalf of all such choices.

    Parameters
    ----------
    model, tokens
        The trained model and its tokenizer.
    trie
        The trie of the titles.
    normalise
        Score tokens by the softmax over the allowed tokens only.
    variant
        See `admiral.retrieval.hop_retriever.TrieHopRetriever`; not ``joint-docs``.
    """

    def __init__(
        self,
        model: Seq2Seq,
        tokens: SafeTokenizer,
        trie: Trie,
        normalise: bool = False,
        variant: str = "ours",
    ) -> None:
        self._model, self._tokens, self._normalise = model, tokens, normalise
        self._encoder = HopInputEncoder(tokens, trie, model.max_source, variant)

    def score(
        self,
        claims: Sequence[str],
        evidence: Sequence[Sequence[Sentence]],
        hops: Sequence[int],
        titles: Sequence[Sequence[str]],
    ) -> list[dict[str, float]]:
        """Return the natural log probability of each given title, at least `MIN_LOG_PROBABILITY`.

        Parameters
        ----------
        claims, evidence, hops
            As for `admiral.protocols.HopRetriever.expand`.
        titles
            For each claim, the titles to score, each once.

        Returns
        -------
        list
            For each claim, the scores by title; empty if there is no evidence to hop from.
        """
        scores: list[dict[str, float]] = [{} for _ in claims]
        inputs = self._encoder.inputs(claims, evidence, hops)
        choices = [list(_choices(one)) for one in inputs]
        constraints = [one.constraint for one in inputs] if self._normalise else None
        scorer = SequenceScorer(self._model, [one.ids for one in inputs], constraints)
        weights = scorer.score([[self._sequence(choice) for choice in own] for own in choices])
        forced = [
            list(_forced(titles[one.index], one, own, weight))
            for one, own, weight in zip(inputs, choices, weights, strict=True)
        ]
        found = scorer.score(
            [
                [self._sequence(own[at], title) for title, at in pairs]
                for own, pairs in zip(choices, forced, strict=True)
            ]
        )
        for one, own, weight, pairs, values in zip(
            inputs, choices, weights, forced, found, strict=True
        ):
            after = {
                title: value - weight[at]
                for (title, at), value in zip(pairs, values, strict=True)
                if weight[at] > -math.inf
            }
            for title in titles[one.index]:
                named = [_names(choice, title, one) for choice in own]
                score = log_sum_exp(
                    value if is_named else value + after.get(title, -math.inf)
                    for value, is_named in zip(weight, named, strict=True)
                )
                scores[one.index][title] = max(score, MIN_LOG_PROBABILITY)
        return scores

    def _sequence(self, choice: Choice, title: str | None = None) -> list[int]:
        """Return the tokens of a choice and an opening bracket, and those of a complete title."""
        tokens = self._tokens
        head = [*map(tokens.identifier, choice), tokens.single_token("[")]
        if title is None:
            return head
        head = [*head, *tokens.encode(title)][: self._model.max_target - 2]
        return [*head, tokens.single_token("]"), tokens.eos]


def _choices(one: HopInput) -> Iterator[Choice]:
    """Yield the choices of sentences that the hop grammar allows."""
    for choice in combinations(range(len(one.sentences)), one.count):
        if len({one.sentences[position].title for position in choice}) == one.count:
            yield choice


def _names(choice: Choice, title: str, one: HopInput) -> bool:
    return any(one.sentences[position].title == title for position in choice)


def _forced(
    titles: Sequence[str], one: HopInput, choices: Sequence[Choice], weights: Sequence[float]
) -> Iterator[tuple[str, int]]:
    """Yield titles with the number of the most probable choice that does not name their document.

    Titles that every choice names are left out.
    """
    for title in titles:
        without = [at for at, choice in enumerate(choices) if not _names(choice, title, one)]
        if without:
            yield title, max(without, key=weights.__getitem__)
