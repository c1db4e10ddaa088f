"""The model's inputs for a hop: the encoded claim and evidence, and what may be generated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from admiral.records import Sentence
from admiral.retrieval.hop_grammar import HopConstraint, TitlesConstraint
from proofs.generation.source_input import encode_source
from trie import SafeTokenizer, Trie


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
    """Encode claims and evidence for the hop retriever.

    Parameters
    ----------
    tokens
        The tokenizer of the model.
    trie
        The trie of the titles that may be generated.
    max_source
        Maximum number of tokens of an input.
    variant
        See `admiral.retrieval.hop_retriever.TrieHopRetriever`.
    """

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
