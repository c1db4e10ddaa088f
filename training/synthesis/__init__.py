"""Synthetic multi-hop claims, written from the documents of a knowledge base without annotation.

A claim starts from one document, which is parsed into statements about its subject (`profiles`). A
mention of another document in a statement is replaced by a description taken from that document's
own text, which may describe further documents in the same way (`true_claims`). A claim must not
contain a word of a title that it hides. A false version has one value swapped (`falsifier`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from admiral.kb import KnowledgeBase
from training.synthesis.falsifier import Falsifier
from training.synthesis.profiles import ParsedCorpus, Profile, is_list_page
from training.synthesis.true_claims import TrueClaim, TrueClaimWriter, leaked_words, normalised

Labels = Literal["both", "supported", "refuted"]
# Documents that are neighbours in the store are read together.
_BLOCK_SIZE = 16
_TRIES_PER_DOCUMENT = 8
_MAX_ROUNDS = 40
_SAMPLED_BLOCKS = 384
# Weights of the number of documents of a claim. Attempts at more documents succeed less often.
_WEIGHTS = {2: 1.0, 3: 3.0, 4: 4.0}


@dataclass(frozen=True, slots=True)
class SyntheticClaim:
    """A synthetic claim with its gold evidence."""

    id: str  # seed, position in the walk over the documents, and number at that position
    # the true claim, of which this is the text or a false version, with its evidence
    true_claim: TrueClaim
    text: str

    @property
    def refuted(self) -> bool:
        """Whether the claim is false, so that its evidence refutes it."""
        return self.text != self.true_claim.text

    def to_json(self) -> dict[str, Any]:
        """Return the record in HoVer's format, with additional fields."""
        return {
            "id": self.id,
            "claim": self.text,
            "label": "REFUTED" if self.refuted else "SUPPORTED",
            "num_hops": len(self.true_claim.titles),
            "supporting_facts": [list(sentence) for sentence in self.true_claim.evidence],
            "ordered": True,
            "described": dict(self.true_claim.described),
        } | ({"true_claim": self.true_claim.text} if self.refuted else {})


class Synthesizer:
    """Writes claims over a knowledge base; the same ones for the same documents and options.

    `hops`: least and largest number of documents that a claim needs (2 to 4). `labels`: labels to
    write; ``both`` gives about as many true as false claims. `n_mentioning`: number of documents of
    the last round that have a replaceable mention of another document.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        hops: tuple[int, int] = (2, 4),
        labels: Labels = "both",
        seed: int = 0,
    ) -> None:
        self._hops, self._labels, self._seed = hops, labels, seed
        self._corpus = ParsedCorpus(kb)
        sample = list(self._sample())
        self._corpus.count_mentions(sample)
        self._writer = TrueClaimWriter(self._corpus)
        self._falsifier = Falsifier(self._corpus, sample)
        self.n_mentioning = 0

    def claims(self) -> Iterator[SyntheticClaim]:
        """Yield distinct claims until a round over all documents gives none that is new.

        Claims that differ in punctuation, capitals and plurals only are the same.
        """
        seen: set[str] = set()
        count = max(len(self._corpus), 1)
        for round_number in range(_MAX_ROUNDS):
            before = len(seen)
            self.n_mentioning = 0
            for offset, document in enumerate(self._walk(round_number)):
                for claim in self._claims_from(round_number * count + offset, document):
                    if (text := normalised(claim.text)) not in seen:
                        seen.add(text)
                        yield claim
            if len(seen) == before:
                return

    def _claims_from(self, position: int, document: int) -> Iterator[SyntheticClaim]:
        root = self._corpus.profile_at(document)
        if is_list_page(root.title) or not self._corpus.slots(root):
            return
        self.n_mentioning += 1
        rng = random.Random(f"{self._seed} {position}")
        least, most = self._hops
        sizes = range(least, most + 1)
        has_smaller = False
        for number in range(_TRIES_PER_DOCUMENT):
            (documents,) = rng.choices(sizes, [_WEIGHTS[size] for size in sizes])
            true_claim = self._writer.write(root, documents, rng)
            if true_claim is None or len(true_claim.titles) < least:
                continue
            if len(true_claim.titles) < documents:
                if has_smaller:  # otherwise nearly all claims would have two documents
                    continue
                has_smaller = True
            if text := self._labelled(true_claim, rng):
                yield SyntheticClaim(f"s{self._seed}-{position}-{number}", true_claim, text)

    def _labelled(self, true_claim: TrueClaim, rng: random.Random) -> str | None:
        """Return the claim, or a false version; None if there is none that hides the titles."""
        if self._labels == "supported" or (self._labels == "both" and rng.random() >= 0.5):
            return true_claim.text
        profiles = [self._corpus.profile(title) for title in true_claim.titles]
        gold = [profile.document for profile in profiles if profile is not None]
        root = true_claim.titles[0]
        text = self._falsifier.falsify(true_claim.text, root, gold, rng)
        leaks = text and any(leaked_words(text, title, root) for title, _ in true_claim.described)
        return None if leaks else text

    def _walk(self, round_number: int) -> Iterator[int]:
        count = len(self._corpus)
        blocks = list(range(0, count, _BLOCK_SIZE))
        random.Random(f"{self._seed} round {round_number}").shuffle(blocks)
        for block in blocks:
            yield from range(block, min(block + _BLOCK_SIZE, count))

    def _sample(self) -> Iterator[Profile]:
        count = len(self._corpus)
        step = max(count // _BLOCK_SIZE // _SAMPLED_BLOCKS, 1) * _BLOCK_SIZE
        for block in range(0, count, step):
            for number in range(block, min(block + _BLOCK_SIZE, count)):
                yield self._corpus.profile_at(number)


__all__ = ["Falsifier", "Labels", "Synthesizer", "SyntheticClaim"]
