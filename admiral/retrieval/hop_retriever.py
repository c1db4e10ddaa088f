"""Stage 4: the hop retriever (paper, section 3.1), constrained beam search for document sets.

The model reads the claim and the evidence, and generates the identifiers of evidence sentences and
one title. Each sequence stands for a document set: the documents of the sentences and the titled
one. Several sequences may stand for the same set; `score_document_sets` sums their probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Protocol

from admiral.records import DocumentSet, Sentence
from admiral.retrieval.hop_grammar import HopConstraint, TitlesConstraint
from admiral.retrieval.hop_input import HopInput, HopInputEncoder
from admiral.stage_timing import timed
from proofs.generation.source_input import max_claim_tokens
from trie import SafeTokenizer, Seq2Seq, Trie, beam_search


class RowTitles(Protocol):
    """The titles that the rows of a title trie stand for."""

    def title(self, row: int) -> str:
        """Return the title of a row."""
        ...


class TrieHopRetriever:
    """Generate ``e_i ... [ title ]`` and score document sets by equations 1 and 2 of the paper.

    Parameters
    ----------
    model, tokens
        The trained seq2seq model and its tokenizer.
    trie, titles
        The trie of the titles that may be generated, and the titles of its rows.
    beam_size
        Beams from hop 1 on (paper: 25).
    title_beams
        Beams of hop 0.
    normalise
        Score tokens by the softmax over the allowed tokens only, which the paper does not.
    variant
        ``ours`` scores sentences and title jointly. The others are the paper's ablations (section
        6, table 3): ``top-1`` reads only the best sentence, so its sets have two documents at every
        hop; ``not-joint`` scores the title alone and adds it to the documents of the best
        sentences, as many as the number of hops; ``joint-docs`` generates the titles of the whole
        set instead of sentence identifiers and needs a model trained for that
        (`training.multitask.multitask_settings.TrainConfig.target`).

    Attributes
    ----------
    claim_limits
        Number of tokens of a claim that the model reads.
    max_evidence
        Number of evidence sentences that the model has identifiers for.
    """

    def __init__(
        self,
        model: Seq2Seq,
        tokens: SafeTokenizer,
        trie: Trie,
        titles: RowTitles,
        *,
        beam_size: int = 25,
        title_beams: int = 10,
        normalise: bool = False,
        variant: str = "ours",
    ) -> None:
        self._model, self._titles = model, titles
        self._encoder = HopInputEncoder(tokens, trie, model.max_source, variant)
        self._beam_size, self._title_beams = beam_size, title_beams
        self._normalise = normalise
        # The claim may fill half of the input; the evidence fills the rest.
        self.claim_limits = {
            "the hop retriever": max_claim_tokens(tokens, "retrieve", model.max_source // 2)
        }
        self.max_evidence = tokens.max_identifiers

    @timed("beam_search")
    def expand(
        self, claims: Sequence[str], evidence: Sequence[Sequence[Sentence]], hops: Sequence[int]
    ) -> list[list[DocumentSet]]:
        """Return document sets of size ``hop + 1``, best first; none if there is no evidence.

        If the evidence comes from fewer than `hop` documents, the sets are smaller.
        """
        document_sets: list[list[DocumentSet]] = [[] for _ in claims]
        inputs = self._encoder.inputs(claims, evidence, hops)
        for beams, batch in (
            (self._title_beams, [i for i in inputs if not hops[i.index]]),
            (self._beam_size, [i for i in inputs if hops[i.index]]),
        ):
            for model_input, sequences in zip(batch, self._decode(batch, beams), strict=True):
                index = model_input.index
                document_sets[index] = score_document_sets(
                    ScoredSequence(model_input.kept or kept, title, score)
                    for ids, score in sequences
                    for kept, title in self._parse(model_input.constraint, ids, evidence[index])
                )
        return document_sets

    def _decode(
        self, batch: Sequence[HopInput], beams: int
    ) -> Iterator[list[tuple[Sequence[int], float]]]:
        """Yield the token ids and the log probability of each input's best sequences."""
        if not batch:
            return
        results = beam_search(
            self._model,
            [model_input.ids for model_input in batch],
            [model_input.constraint for model_input in batch],
            beam_size=beams,
            max_length=self._model.max_target,
            normalise=self._normalise,
        )
        for hypotheses in results:
            yield [(hypothesis.tokens, hypothesis.score) for hypothesis in hypotheses]

    def _parse(
        self,
        constraint: HopConstraint | TitlesConstraint,
        ids: Sequence[int],
        evidence: Sequence[Sentence],
    ) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the kept documents and the new document that a sequence stands for.

        There is more than one reading if the tokenizer encodes several titles alike. They share
        the sequence and its score.
        """
        if isinstance(constraint, HopConstraint):
            numbers, rows = constraint.parse(ids)
            kept = tuple(evidence[number].title for number in numbers)
            for row in rows:
                yield kept, self._titles.title(row)
            return
        for rows in product(*constraint.parse(ids)):
            *before, last = map(self._titles.title, rows)
            if len(set(before)) == len(before):
                yield tuple(before), last


@dataclass(frozen=True, slots=True)
class ScoredSequence:
    """A decoded sequence.

    Attributes
    ----------
    kept
        The documents of its sentence identifiers.
    title
        Its title.
    score
        Its natural log probability.
    """

    kept: tuple[str, ...]
    title: str
    score: float


def score_document_sets(sequences: Iterable[ScoredSequence]) -> list[DocumentSet]:
    """Return the document sets of sequences, scored by equations 1 and 2 of the paper.

    The score of a set is the log of the sum of the probabilities of all sequences that stand for
    it. Sequences whose title is one of their kept documents add nothing and are dropped.

    Returns
    -------
    list
        Best first, ties sorted by title. The titles of a set are in the order of its most probable
        sequence.
    """
    best: dict[frozenset[str], ScoredSequence] = {}
    scores: dict[frozenset[str], list[float]] = {}
    for sequence in sequences:
        if sequence.title in sequence.kept:
            continue
        key = frozenset((*sequence.kept, sequence.title))
        scores.setdefault(key, []).append(sequence.score)
        if key not in best or sequence.score > best[key].score:
            best[key] = sequence
    document_sets = [
        DocumentSet((*best[key].kept, best[key].title), log_sum_exp(values))
        for key, values in scores.items()
    ]
    return sorted(document_sets, key=lambda s: (-s.score, s.titles))


def log_sum_exp(values: Iterable[float]) -> float:
    """Return ``log(sum(exp(v)))`` without overflow; minus infinity for no values."""
    scores = list(values)
    largest = max(scores, default=-math.inf)
    if largest == -math.inf:
        return largest
    return largest + math.log(math.fsum(math.exp(score - largest) for score in scores))
