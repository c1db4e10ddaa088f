"""Synthesis of distinct labelled claims over all documents of a knowledge base."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from admiral.kb.corpus.duplicates import TitleSet
from admiral.synthesis.descriptions import Describer
from admiral.synthesis.false_claims import Falsifier
from admiral.synthesis.parsed_documents import DocumentSource, ParsedCorpus
from admiral.synthesis.profiles import Profile
from admiral.synthesis.slots import is_list_page
from admiral.synthesis.true_claims import (
    TrueClaim,
    TrueClaimWriter,
    leaked_words,
    normalised_tokens,
)

Labels = Literal["both", "supported", "refuted"]
# Documents that are neighbours in the store are read together: they are compressed together.
_BLOCK_SIZE = 16
_TRIES_PER_DOCUMENT = 8
_MAX_ROUNDS = 40
_SAMPLED_BLOCKS = 384
# With a lower share of documents with an English definition, they are in another language.
_MIN_DEFINED_SHARE = 0.03
# Weights of the number of documents of a claim. Attempts at more documents succeed less often.
_WEIGHTS = {2: 1.0, 3: 3.0, 4: 4.0}


@dataclass(frozen=True, slots=True)
class SynthesisSettings:
    """Settings of a `Synthesizer`."""

    # min_documents, max_documents: range of the number of documents that a claim needs (2 to 4)
    min_documents: int = 2
    max_documents: int = 4
    labels: Labels = "both"  # labels to write; ``both`` gives about as many true as false claims
    seed: int = 0  # the same seed, settings and documents give the same claims


@dataclass(frozen=True, slots=True)
class SyntheticClaim:
    """A synthetic claim with its gold evidence."""

    id: str  # seed, position in the walk over the documents, and number at that position
    # the true claim, of which this is the text or a false version, with its evidence
    true_claim: TrueClaim
    text: str
    refuted: bool  # whether the claim is false, so that its evidence refutes it

    def to_json(self) -> dict[str, Any]:
        """Return the record in HoVer's format, with additional fields."""
        return {
            "id": self.id,
            "claim": self.text,
            "label": "REFUTED" if self.refuted else "SUPPORTED",
            "num_hops": len(self.true_claim.titles),
            "supporting_facts": [list(sentence) for sentence in self.true_claim.evidence],
            "ordered": self.true_claim.ordered,
            "described": dict(self.true_claim.described),
        } | ({"true_claim": self.true_claim.text} if self.refuted else {})


class Synthesizer:
    """Writes claims over a knowledge base.

    `n_duplicates`: number of claims left out because they were written before. `n_mentioning`:
    number of documents of the last round that have a replaceable mention of another document.
    `quotes_only`: whether a sample shows that the documents are not in English. Descriptions are
    then quotations of first sentences.
    """

    def __init__(self, kb: DocumentSource, settings: SynthesisSettings) -> None:
        self._settings = settings
        self._corpus = ParsedCorpus(kb)
        sample = list(self._sample())
        defined = sum(bool(profile.definition) for profile in sample)
        self.quotes_only = defined < _MIN_DEFINED_SHARE * len(sample)
        if self.quotes_only:
            self._corpus = ParsedCorpus(kb, quotes_only=True)
            sample = list(self._sample())
        self._corpus.count_mentions(sample)
        self._writer = TrueClaimWriter(self._corpus, Describer(self._corpus))
        self._falsifier = Falsifier(self._corpus, sample)
        self.n_duplicates = self.n_mentioning = 0

    def claims(self, done: Iterable[tuple[str, str]] = ()) -> Iterator[SyntheticClaim]:
        """Yield distinct claims until a round over all documents gives none that is new.

        `done`: ids and texts of the claims written before, in order, after which to continue.
        """
        seen = TitleSet()
        position = self.n_duplicates = 0
        for id, text in done:
            _is_new(seen, text)
            position = int(id.rsplit("-", 2)[1])
        count = max(len(self._corpus), 1)
        for round_number in range(position // count, _MAX_ROUNDS):
            before = len(seen)
            self.n_mentioning = 0
            resumed = round_number == position // count and position > 0
            for offset, document in enumerate(self._walk(round_number)):
                current = round_number * count + offset
                if current < position:
                    continue
                for claim in self._claims_from(current, document):
                    if _is_new(seen, claim.text):
                        yield claim
                    else:
                        self.n_duplicates += 1
            if len(seen) == before and not resumed:
                return

    def _claims_from(self, position: int, document: int) -> Iterator[SyntheticClaim]:
        root = self._corpus.profile_at(document)
        if is_list_page(root.title) or not self._corpus.slots(root):
            return
        self.n_mentioning += 1
        rng = random.Random(f"{self._settings.seed} {position}")
        sizes = range(self._settings.min_documents, self._settings.max_documents + 1)
        weights = [_WEIGHTS[documents] for documents in sizes]
        has_smaller = False
        for number in range(_TRIES_PER_DOCUMENT):
            documents = rng.choices(sizes, weights)[0]
            true_claim = self._writer.write(root, documents, rng)
            if true_claim is None or len(true_claim.titles) < self._settings.min_documents:
                continue
            if len(true_claim.titles) < documents:
                if has_smaller:  # otherwise nearly all claims would have two documents
                    continue
                has_smaller = True
            claim = self._labelled(f"s{self._settings.seed}-{position}-{number}", true_claim, rng)
            if claim is not None:
                yield claim

    def _labelled(
        self, id: str, true_claim: TrueClaim, rng: random.Random
    ) -> SyntheticClaim | None:
        labels = self._settings.labels
        false = labels == "refuted" or (labels == "both" and rng.random() < 0.5)
        if not false:
            return SyntheticClaim(id, true_claim, true_claim.text, refuted=False)
        profiles = [self._corpus.profile(title) for title in true_claim.titles]
        gold = [profile.document for profile in profiles if profile is not None]
        text = self._falsifier.falsify(true_claim.text, true_claim.named, gold, rng)
        if text is None or any(
            leaked_words(text, t, true_claim.named) for t, _ in true_claim.described
        ):
            return None
        return SyntheticClaim(id, true_claim, text, refuted=True)

    def _walk(self, round_number: int) -> Iterator[int]:
        """Yield all documents in the order of a round: blocks in random order."""
        count = len(self._corpus)
        blocks = list(range(0, count, _BLOCK_SIZE))
        random.Random(f"{self._settings.seed} round {round_number}").shuffle(blocks)
        for block in blocks:
            yield from range(block, min(block + _BLOCK_SIZE, count))

    def _sample(self) -> Iterator[Profile]:
        """Yield documents from all parts of the knowledge base, the same for every seed."""
        count = len(self._corpus)
        step = max(count // _BLOCK_SIZE // _SAMPLED_BLOCKS, 1) * _BLOCK_SIZE
        for block in range(0, count, step):
            for number in range(block, min(block + _BLOCK_SIZE, count)):
                yield self._corpus.profile_at(number)


def _is_new(seen: TitleSet, text: str) -> bool:
    """Record a claim and return whether it is new.

    Claims that differ only in punctuation, capitals or plural endings are the same.
    """
    return seen.find_or_add(" ".join(normalised_tokens(text)), 0) is None
