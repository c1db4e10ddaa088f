"""A walk over all documents that yields labelled claims, no two alike."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from admiral.kb.corpus.title_set import TitleSet
from admiral.synthesis.descriptions import Describer
from admiral.synthesis.false_claims import Falsifier
from admiral.synthesis.parsed_documents import Documents, Library
from admiral.synthesis.profiles import Profile
from admiral.synthesis.slots import is_list
from admiral.synthesis.title_leaks import given_away, tokens
from admiral.synthesis.true_claims import Draft, Writer

Labels = Literal["both", "supported", "refuted"]
# Neighbouring documents are read together, since they lie in one compressed batch.
_BLOCK = 16
_PER_DOCUMENT = 8
_MOST_ROUNDS = 40
_SAMPLED_BLOCKS = 384
# A lower share of documents with an English definition: they are of another language.
_LEAST_DEFINED = 0.03
# Claims of many documents are harder to come by than they are worth being rare.
_SHARES = {2: 1.0, 3: 3.0, 4: 4.0}


@dataclass(frozen=True, slots=True)
class Settings:
    """What claims to write.

    Attributes
    ----------
    fewest, most
        Documents of a claim.
    labels
        Which labels; ``both`` gives about as many true as false claims.
    seed
        The same seed, settings and documents give the same claims.
    """

    fewest: int = 2
    most: int = 4
    labels: Labels = "both"
    seed: int = 0


@dataclass(frozen=True, slots=True)
class SyntheticClaim:
    """A written claim with its gold evidence.

    Attributes
    ----------
    id
        Seed, place in the walk over the documents, and number there.
    draft
        The true claim that it is or was made of, and its evidence.
    text
        The claim.
    refuted
        Whether it is a false version, which its evidence refutes.
    """

    id: str
    draft: Draft
    text: str
    refuted: bool

    def to_json(self) -> dict[str, Any]:
        """Return the record, in the format of HoVer with some fields more."""
        return {
            "id": self.id,
            "claim": self.text,
            "label": "REFUTED" if self.refuted else "SUPPORTED",
            "num_hops": len(self.draft.titles),
            "supporting_facts": [list(one) for one in self.draft.evidence],
            "ordered": self.draft.ordered,
            "described": dict(self.draft.described),
        } | ({"true_claim": self.draft.text} if self.refuted else {})


class Synthesizer:
    """Writes claims over a knowledge base.

    Parameters
    ----------
    kb
        The open knowledge base.
    settings
        What to write.

    Attributes
    ----------
    duplicates
        Claims that were written before and left out.
    linked
        Documents of the last whole walk that name another one in a way that can be replaced.
    quoted
        Whether the documents are not in English as far as a sample shows. Descriptions then quote
        first sentences.
    """

    def __init__(self, kb: Documents, settings: Settings) -> None:
        self._settings = settings
        self._library = Library(kb)
        sample = list(self._sample())
        defined = sum(bool(profile.definition) for profile in sample)
        self.quoted = defined < _LEAST_DEFINED * len(sample)
        if self.quoted:
            self._library = Library(kb, quoted=True)
            sample = list(self._sample())
        self._library.note_common(sample)
        self._writer = Writer(self._library, Describer(self._library))
        self._falsifier = Falsifier(self._library, sample)
        self.duplicates = self.linked = 0

    def claims(self, done: Iterable[tuple[str, str]] = ()) -> Iterator[SyntheticClaim]:
        """Yield claims, no two alike, until a walk over all documents brings nothing new.

        Parameters
        ----------
        done
            Ids and texts of the claims that were written before, in order: goes on behind them.
        """
        seen = TitleSet()
        position = self.duplicates = 0
        for name, text in done:
            _is_new(seen, text)
            position = int(name.rsplit("-", 2)[1])
        count = max(len(self._library), 1)
        for number in range(position // count, _MOST_ROUNDS):
            before = len(seen)
            self.linked = 0
            resumed = number == position // count and position > 0
            for place, document in enumerate(self._walk(number)):
                at = number * count + place
                if at < position:
                    continue
                for claim in self._at(at, document):
                    if _is_new(seen, claim.text):
                        yield claim
                    else:
                        self.duplicates += 1
            if len(seen) == before and not resumed:
                return

    def _at(self, position: int, document: int) -> Iterator[SyntheticClaim]:
        """Yield the claims that begin at a document in one round."""
        root = self._library.at(document)
        if is_list(root.title) or not self._library.slots(root):
            return
        self.linked += 1
        rng = random.Random(f"{self._settings.seed} {position}")
        wanted = range(self._settings.fewest, self._settings.most + 1)
        weights = [_SHARES[documents] for documents in wanted]
        small = False
        for number in range(_PER_DOCUMENT):
            documents = rng.choices(wanted, weights)[0]
            draft = self._writer.write(root, documents, rng)
            if draft is None or len(draft.titles) < self._settings.fewest:
                continue
            if len(draft.titles) < documents:
                if small:  # else nearly all claims would be of two documents
                    continue
                small = True
            claim = self._labelled(f"s{self._settings.seed}-{position}-{number}", draft, rng)
            if claim is not None:
                yield claim

    def _labelled(self, name: str, draft: Draft, rng: random.Random) -> SyntheticClaim | None:
        labels = self._settings.labels
        false = labels == "refuted" or (labels == "both" and rng.random() < 0.5)
        if not false:
            return SyntheticClaim(name, draft, draft.text, refuted=False)
        profiles = [self._library.profile(title) for title in draft.titles]
        gold = [profile.document for profile in profiles if profile is not None]
        text = self._falsifier.falsify(draft.text, draft.named, gold, rng)
        if text is None or any(given_away(text, t, draft.named) for t, _ in draft.described):
            return None
        return SyntheticClaim(name, draft, text, refuted=True)

    def _walk(self, number: int) -> Iterator[int]:
        """Yield all documents in the order of a round: blocks at random, in order within them."""
        count = len(self._library)
        blocks = list(range(0, count, _BLOCK))
        random.Random(f"{self._settings.seed} round {number}").shuffle(blocks)
        for block in blocks:
            yield from range(block, min(block + _BLOCK, count))

    def _sample(self) -> Iterator[Profile]:
        """Yield documents of all parts of the knowledge base, the same ones for every seed."""
        count = len(self._library)
        step = max(count // _BLOCK // _SAMPLED_BLOCKS, 1) * _BLOCK
        for block in range(0, count, step):
            for number in range(block, min(block + _BLOCK, count)):
                yield self._library.at(number)


def _is_new(seen: TitleSet, text: str) -> bool:
    """Note a claim; two that differ in marks, capitals or endings only are the same."""
    return seen.find_or_add(" ".join(tokens(text)), 0) is None
