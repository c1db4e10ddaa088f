"""Expand queries by the title that the cited page might have, or by terms of the first results.

SIDE trains a model to write the title (after GAR, Mao et al. 2020). Here it is hop 0 of the hop
retriever, as it is or trained further by ``configs/side-expander.yaml``. Pseudo-relevance feedback
needs no model. `benchmarks.citation_retrieval --generated` measures both; docs/experiments.md says
why neither is part of the system.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from admiral.citations.citation_records import CitedClaim
from admiral.citations.claim_context import ContextForm, claim_in_context
from admiral.citations.claim_queries import QueryForm, claim_query
from admiral.citations.query_expansion import Expansion
from admiral.library import Library, ScoredPassage
from admiral.models.checkpoint import Checkpoint
from admiral.retrieval.hop_retriever import TrieHopRetriever
from proofs.generation.source_input import encode_source
from trie import SafeTokenizer, TokenTrie, beam_search
from trie.constraint import Transitions
from trie.token_trie import Ints

#: Number of beams, and of tokens of a title; as in SIDE.
BEAMS, TITLE_TOKENS = 15, 15
_BATCH = 16
# Of pseudo-relevance feedback: passages that are read, and terms that become one expansion.
_FEEDBACK_PASSAGES, _FEEDBACK_TERMS = 5, 10
_TERM = re.compile(r"\w{3,}")


class FeedbackTerms:
    """Expand by the terms that the first passages for a claim have in common.

    As in RM3 (Abdul-Jaleel et al., 2004), a term counts by its share of each passage and by the
    score of the passage; terms of the query and those of most passages are left out.

    Parameters
    ----------
    library
        The library.
    form
        What the query holds beside the claim.
    """

    def __init__(self, library: Library, form: QueryForm) -> None:
        self._library, self._form = library, form
        self._frequencies: Counter[str] = Counter()
        for source in library.sources():
            for passage in library.passages(source.url):
                self._frequencies.update(set(_terms(passage.text)))

    def expand(self, claims: Sequence[CitedClaim]) -> list[list[Expansion]]:
        """Return one expansion for each claim: the terms, most probable first."""
        queries = [claim_query(claim, self._form) for claim in claims]
        return [
            [Expansion(" ".join(self._feedback(query, found)))]
            for query, found in zip(
                queries, self._library.search(queries, _FEEDBACK_PASSAGES), strict=True
            )
        ]

    def _feedback(self, query: str, found: Sequence[ScoredPassage]) -> list[str]:
        own = set(_terms(query))
        weights: defaultdict[str, float] = defaultdict(float)
        for scored in found:
            terms = _terms(scored.passage.text)
            for term, count in Counter(terms).items():
                if term not in own:
                    rarity = math.log(self._library.passage_count / self._frequencies[term])
                    weights[term] += scored.score * rarity * count / len(terms)
        return sorted(weights, key=lambda term: -weights[term])[:_FEEDBACK_TERMS]


def _terms(text: str) -> list[str]:
    return _TERM.findall(text.casefold())


class LibraryTitles:
    """Expand by titles of the library, chosen by constrained beam search.

    Parameters
    ----------
    checkpoint
        The model.
    titles
        The titles; equal ones count once.
    context
        Context of the claim that the model reads.
    """

    def __init__(
        self, checkpoint: Checkpoint, titles: Iterable[str], context: ContextForm = "title"
    ) -> None:
        self._titles = [title for title in dict.fromkeys(titles) if title]
        self._context = context
        trie = TokenTrie.build(checkpoint.tokens.encode_batch(self._titles))
        self._retriever = TrieHopRetriever(
            checkpoint.model, checkpoint.tokens, trie, self, title_beams=BEAMS
        )

    def title(self, row: int) -> str:
        """Return the title of a row of the trie."""
        return self._titles[row]

    def expand(self, claims: Sequence[CitedClaim]) -> list[list[Expansion]]:
        """Return the most probable titles for each claim, best first."""
        expansions: list[list[Expansion]] = []
        for first in range(0, len(claims), _BATCH):
            texts = [
                claim_in_context(claim, self._context) for claim in claims[first : first + _BATCH]
            ]
            found = self._retriever.expand(texts, [() for _ in texts], [0] * len(texts))
            expansions += [[Expansion(s.titles[-1], s.score) for s in sets] for sets in found]
        return expansions


class FreeTitles:
    """Expand by titles that the model writes without a constraint, as SIDE does.

    Parameters
    ----------
    checkpoint
        The model.
    context
        Context of the claim that the model reads.
    """

    def __init__(self, checkpoint: Checkpoint, context: ContextForm = "title") -> None:
        self._model, self._tokens = checkpoint.model, checkpoint.tokens
        self._context = context
        self._constraint = AnyTitle(self._tokens, self._model.vocab_size)

    def expand(self, claims: Sequence[CitedClaim]) -> list[list[Expansion]]:
        """Return the most probable titles for each claim, best first."""
        expansions: list[list[Expansion]] = []
        longest = self._model.max_source
        for first in range(0, len(claims), _BATCH):
            inputs = [
                encode_source(
                    self._tokens, "retrieve", claim_in_context(claim, self._context), (), longest, 0
                ).ids
                for claim in claims[first : first + _BATCH]
            ]
            found = beam_search(
                self._model,
                inputs,
                [self._constraint] * len(inputs),
                beam_size=BEAMS,
                max_length=min(TITLE_TOKENS + 3, self._model.max_target),
            )
            expansions += [
                [Expansion(self._tokens.decode(h.tokens[1:-2]), h.score) for h in hypotheses]
                for hypotheses in found
            ]
        return expansions


class AnyTitle:
    """A `trie.Constraint` that accepts any tokens in brackets.

    Parameters
    ----------
    tokens
        The tokenizer.
    vocabulary
        Number of tokens of the model.
    """

    start = 0

    def __init__(self, tokens: SafeTokenizer, vocabulary: int) -> None:
        opening, closing = tokens.single_token("["), tokens.single_token("]")
        ordinary = np.array(
            [token for token in range(vocabulary) if token not in (closing, tokens.eos)], np.int64
        )
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
