"""Stage 4: the hop retriever, constrained beam search over sentence identifiers and titles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Protocol

from admiral.errors import AdmiralError
from admiral.records import DocumentSet, Sentence
from admiral.retrieval.document_sets import ScoredSequence, document_sets
from admiral.retrieval.hop_grammar import HopConstraint, TitlesConstraint
from proofs.generation.source_input import evidence_input
from trie import Seq2Seq, Tokens, Trie, TrieFileError, beam_search


class Titles(Protocol):
    """Names the documents that the rows of the title trie stand for."""

    def title(self, row: int) -> str: ...


class TrieHopRetriever:
    """Generates ``e_i ... [ title ]`` and scores document sets by equations 1 and 2.

    Parameters
    ----------
    model, tokens
        The trained seq2seq model and its tokenizer.
    trie, titles
        The titles that may be generated, and the names of its rows.
    beam_size
        Beams from hop 1 on (paper: 25).
    title_beams
        Beams of hop 0.
    normalise
        Score tokens by the softmax over the allowed ones only; off in the paper.
    variant
        ``ours`` scores sentences and title together; ``top-1`` reads the best
        sentence alone, so that its sets have two documents at every hop; ``not-joint`` scores the
        title alone and adds it to the documents of the best sentences, as many as there are hops;
        ``joint-docs`` generates the titles of the whole set instead of sentence identifiers, which
        the model must have been trained to do (`training.run_config.TrainConfig.target`).
        The last three are those that the paper compares with (section 6, table 3).
    """

    def __init__(
        self,
        model: Seq2Seq,
        tokens: Tokens,
        trie: Trie,
        titles: Titles,
        *,
        beam_size: int = 25,
        title_beams: int = 10,
        normalise: bool = False,
        variant: str = "ours",
    ) -> None:
        self._model, self._tokens, self._trie, self._titles = model, tokens, trie, titles
        self._beam_size, self._title_beams = beam_size, title_beams
        self._normalise, self._variant = normalise, variant

    def expand(
        self, claims: Sequence[str], evidence: Sequence[Sequence[Sentence]], hops: Sequence[int]
    ) -> list[list[DocumentSet]]:
        """Return document sets of size ``hop + 1``, best first; empty where there is no way on.

        Where the evidence comes from fewer than `hop` documents, the sets are smaller.

        Raises
        ------
        AdmiralError
            If a file of the trie turns out to be damaged.
        """
        found: list[list[DocumentSet]] = [[] for _ in claims]
        triples = list(zip(claims, evidence, hops, strict=True))
        try:
            for beams, places in (
                (self._title_beams, [at for at, hop in enumerate(hops) if not hop]),
                (self._beam_size, [at for at, hop in enumerate(hops) if hop]),
            ):
                sets = self._search([triples[at] for at in places], beams)
                for at, one in zip(places, sets, strict=True):
                    found[at] = one
        except TrieFileError as error:
            raise AdmiralError(
                f"{error}. Delete {error.path.parent}; the trie is built again when it is needed."
            ) from error
        return found

    def _search(
        self, claims: Sequence[tuple[str, Sequence[Sentence], int]], beams: int
    ) -> list[list[DocumentSet]]:
        """Return the document sets of claims with their evidence and hop, decoded together."""
        found: list[list[DocumentSet]] = [[] for _ in claims]
        inputs, places, fixed = [], [], []
        constraints: list[HopConstraint | TitlesConstraint] = []
        for place, (claim, sentences, hop) in enumerate(claims):
            read = sentences[:1] if self._variant == "top-1" else sentences
            documents = tuple(dict.fromkeys(s.title for s in read))[:hop]
            if hop and not documents:
                continue
            pairs = [(s.title, s.text) for s in read] if hop else []
            count = 0 if self._variant == "not-joint" else len(documents)
            inputs.append(
                evidence_input(
                    self._tokens, "retrieve", claim, pairs, self._model.max_source, count
                ).ids
            )
            identifiers = [(number, s.title) for number, s in enumerate(read)]
            constraints.append(
                TitlesConstraint(self._trie, self._tokens, count + 1)
                if self._variant == "joint-docs"
                else HopConstraint(self._trie, self._tokens, identifiers, count)
            )
            places.append(place)
            fixed.append(documents if self._variant == "not-joint" else ())
        if not inputs:
            return found
        results = beam_search(
            self._model,
            inputs,
            constraints,
            beam_size=beams,
            max_length=self._model.max_target,
            normalise=self._normalise,
        )
        for place, constraint, kept_anyway, hypotheses in zip(
            places, constraints, fixed, results, strict=True
        ):
            sentences = claims[place][1]
            found[place] = document_sets(
                ScoredSequence(kept_anyway or kept, title, hypothesis.score)
                for hypothesis in hypotheses
                for kept, title in self._read(constraint, hypothesis.tokens, sentences)
            )
        return found

    def _read(
        self,
        constraint: HopConstraint | TitlesConstraint,
        ids: Sequence[int],
        sentences: Sequence[Sentence],
    ) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield what a sequence stands for: the documents before the last one, and that one.

        Titles that the tokenizer spells alike share a sequence and its score.
        """
        if isinstance(constraint, HopConstraint):
            numbers, rows = constraint.parse(ids)
            kept = tuple(sentences[number].title for number in numbers)
            for row in rows:
                yield kept, self._titles.title(row)
            return
        for chosen in product(*constraint.parse(ids)):
            *before, last = map(self._titles.title, chosen)
            if len(set(before)) == len(before):
                yield tuple(before), last
