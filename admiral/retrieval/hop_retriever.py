"""Stage 4: the hop retriever (paper, section 3.1), constrained beam search for document sets.

The model reads the claim and the evidence, and generates the identifiers of evidence sentences and
one title. Each sequence stands for a document set: the documents of the sentences and the titled
one. Several sequences may stand for the same set; `score_document_sets` sums their probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Protocol

from admiral.protocols import Documents, HopRetriever, claim_limits, max_evidence
from admiral.records import DocumentSet, Sentence
from admiral.retrieval.hop_grammar import HopConstraint, TitlesConstraint
from admiral.stage_timing import timed
from proofs.generation.source_input import encode_source, max_claim_tokens
from trie import SafeTokenizer, Seq2Seq, SequenceScorer, Trie, beam_search


@dataclass(frozen=True, slots=True)
class HopInput:
    """One input of the model, with what is needed to read its output.

    Attributes
    ----------
    index
        Position of the claim in the batch.
    ids
        Token ids of the claim and the evidence.
    sentences
        The evidence that the model reads.
    count
        Number of documents that the output names before its title.
    constraint
        The sequences that may be generated.
    kept
        Titles that belong to every document set (variant ``not-joint``).
    """

    index: int
    ids: list[int]
    sentences: tuple[Sentence, ...]
    count: int
    constraint: HopConstraint | TitlesConstraint
    kept: tuple[str, ...]


class HopInputEncoder:
    """Encode claims and evidence for the hop retriever, by a variant of `TrieHopRetriever`."""

    def __init__(self, tokens: SafeTokenizer, trie: Trie, max_source: int, variant: str) -> None:
        self._tokens, self._trie = tokens, trie
        self._max_source, self._variant = max_source, variant

    def inputs(
        self, claims: Sequence[str], evidence: Sequence[Sequence[Sentence]], hops: Sequence[int]
    ) -> list[HopInput]:
        """Return the inputs of the claims that are at hop 0 or have evidence to hop from."""
        return [
            encoded
            for index, values in enumerate(zip(claims, evidence, hops, strict=True))
            if (encoded := self._input(index, *values)) is not None
        ]

    def _input(
        self, index: int, claim: str, evidence: Sequence[Sentence], hop: int
    ) -> HopInput | None:
        sentences = tuple(evidence[:1] if self._variant == "top-1" else evidence) if hop else ()
        documents = tuple(dict.fromkeys(s.title for s in sentences))[:hop]
        if hop and not documents:
            return None
        count = 0 if self._variant == "not-joint" else len(documents)
        pairs = [(s.title, s.text) for s in sentences]
        source = encode_source(self._tokens, "retrieve", claim, pairs, self._max_source, count)
        constraint: HopConstraint | TitlesConstraint
        if self._variant == "joint-docs":
            constraint = TitlesConstraint(self._trie, self._tokens, count + 1)
        else:
            identifiers = [(number, s.title) for number, s in enumerate(sentences)]
            constraint = HopConstraint(self._trie, self._tokens, identifiers, count)
        kept = documents if self._variant == "not-joint" else ()
        return HopInput(index, source.ids, sentences, count, constraint, kept)


class RowTitles(Protocol):
    """The titles that the rows of a title trie stand for."""

    def title(self, row: int) -> str:
        """Return the title of a row."""
        ...


class TrieHopRetriever:
    """Generate ``e_i ... [ title ]`` and score document sets by equations 1 and 2 of the paper.

    Parameters
    ----------
    trie, titles
        The trie of the titles that may be generated, and the titles of its rows.
    beam_size
        Beams from hop 1 on (paper: 25).
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
    """A decoded sequence."""

    kept: tuple[str, ...]  # the documents of its sentence identifiers
    title: str
    score: float  # natural log probability


def score_document_sets(sequences: Iterable[ScoredSequence]) -> list[DocumentSet]:
    """Return the document sets of sequences, scored by equations 1 and 2 of the paper, best first.

    The score of a set is the log of the sum of the probabilities of all sequences that stand for
    it, the order of its titles that of the most probable one. Sequences whose title is one of their
    kept documents add nothing and are dropped. Ties are sorted by title.
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


class HyperlinkHopRetriever:
    """Append the linked titles to each evidence sentence before the hop (paper, section 6)."""

    def __init__(self, retriever: HopRetriever, documents: Documents) -> None:
        self._retriever, self._documents = retriever, documents
        self.claim_limits, self.max_evidence = claim_limits(retriever), max_evidence(retriever)

    def expand(
        self, claims: Sequence[str], evidence: Sequence[Sequence[Sentence]], hops: Sequence[int]
    ) -> list[list[DocumentSet]]:
        """Return the document sets for the evidence with its hyperlinks."""
        extended = [[self._with_hyperlinks(s) for s in sentences] for sentences in evidence]
        return self._retriever.expand(claims, extended, hops)

    def _with_hyperlinks(self, sentence: Sentence) -> Sentence:
        links = self._documents.document(sentence.title).links
        if not links or not links[sentence.index]:
            return sentence
        return replace(sentence, text=f"{sentence.text} {', '.join(links[sentence.index])}")


class NoGenerator:
    """Generate nothing.

    The hop loop continues all the same: a hop then reads the documents of the evidence, those that
    the evidence mentions, and the candidates of the first stage.
    """

    def expand(
        self, claims: Sequence[str], evidence: Sequence[Sequence[Sentence]], hops: Sequence[int]
    ) -> list[list[DocumentSet]]:
        """Return no document set for any claim."""
        return [[] for _ in claims]


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

        The scores of a claim at a later hop that has no evidence to hop from are empty.
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
