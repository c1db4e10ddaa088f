"""Synthetic multi-hop claims, written from the documents of a knowledge base without annotation.

A claim starts from one document, which is parsed into statements about its subject (`profiles`). A
mention of another document in a statement is replaced by a description taken from that document's
own text, which may describe further documents in the same way (`true_claims`). A claim must not
contain a word of a title that it hides. A false version has one value swapped.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from admiral.kb import KnowledgeBase
from admiral.records import Document
from admiral.retrieval.first_stage import base_title, find_mentions
from proofs.lexicons.values import NATIONALITIES
from proofs.logic.words import MONTHS, OPPOSITES, SIBLING_GROUPS
from training.synthesis.profiles import ParsedCorpus, Profile, is_list_page
from training.synthesis.true_claims import (
    Describer,
    TrueClaim,
    TrueClaimWriter,
    leaked_words,
    normalised_tokens,
)

_YEAR = re.compile(r"(?<![\w-])(?:1[0-9]{3}|20[0-2][0-9])(?![\w%-])")
_NUMBER = re.compile(
    r"(?<![\w,.$£€-])(?:[2-9]|[1-9]\d{1,2}|[1-9]\d{0,2}(?:,\d{3})+)(?![\w,.%:-]*\w)"
)
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b")
_TOKEN = re.compile(r"\w+")
_MONTH_BEFORE = re.compile(rf"\b(?:{'|'.join(MONTHS)}) $")
_MONTH_AFTER = re.compile(rf" (?:{'|'.join(MONTHS)})\b")
# Months with 31 days, so that every date stays valid.
_LONG_MONTHS = ("January", "March", "May", "July", "August", "October", "December")
_FOLLOWING = re.compile(r"[.,;]|$| (?:and|or|but|in|on|at|by|from|with|for|who|which|that|to|of)\b")
_ARTICLE = re.compile(r"\b[Aa]n? $")
_NATIONS = tuple(sorted(" ".join(w.capitalize() for w in n.split()) for n in NATIONALITIES))
_NATION = re.compile(rf"\b(?:{'|'.join(sorted(_NATIONS, key=len, reverse=True))})\b(?!-)")
_SIBLINGS = {
    word: tuple(o for o in group if o != word) for group in SIBLING_GROUPS for word in group
}
_WORD = re.compile(rf"\b(?:{'|'.join(sorted({*_SIBLINGS, *OPPOSITES}))})\b")
_MAX_GROUP_SIZE = 400


@dataclass(frozen=True, slots=True)
class Replacement:
    """A value to put in place of the characters ``start:end`` of a claim."""

    start: int
    end: int
    value: str


class Falsifier:
    """Makes false versions of claims.

    `sample`: documents whose titles can replace titles of the same kind (with the same head noun).
    """

    def __init__(self, corpus: ParsedCorpus, sample: Iterable[Profile]) -> None:
        self._corpus = corpus
        groups: dict[str, list[str]] = defaultdict(list)
        for profile in sample:
            if len(groups[profile.noun]) < _MAX_GROUP_SIZE and not is_list_page(profile.title):
                groups[profile.noun].append(base_title(profile.title))
        self._groups: Mapping[str, Sequence[str]] = groups

    def falsify(
        self, text: str, named: Sequence[str], gold: Sequence[Document], rng: random.Random
    ) -> str | None:
        """Return `text` with one value replaced so that the gold documents refute it, or None.

        The value is a title, nationality, year, number, month, or a word with a known sibling or
        opposite. `text`: a claim that the gold documents support. `named`: titles by which the
        evidence is found; they are not replaced. `gold`: the gold documents; a value that occurs in
        one of them is not used.
        """
        gold_text = _padded(" ".join(part for d in gold for part in (d.title, *d.sentences)))
        protected = [span for title in named for span in _occurrences(base_title(title), text)]
        types = [
            self._title_replacements,
            _nationality_replacements,
            _year_replacements,
            _number_replacements,
            _month_replacements,
            _word_replacements,
        ]
        rng.shuffle(types)
        for replacements_of_type in types:
            candidates = [
                candidate
                for candidate in replacements_of_type(text, rng)
                if all(candidate.end <= start or end <= candidate.start for start, end in protected)
                and _padded(candidate.value) not in gold_text
            ]
            if candidates:
                return _replace(text, rng.choice(candidates))
        return None

    def _title_replacements(self, text: str, rng: random.Random) -> Iterator[Replacement]:
        for mention in find_mentions(self._corpus.kb, text):
            profile = self._corpus.profile(mention.titles[0])
            group = self._groups.get(profile.noun, ()) if profile and profile.noun else ()
            if len(group) > 1 and _is_separate_name(text, mention.start, mention.end):
                yield Replacement(mention.start, mention.end, rng.choice(group))


def _padded(text: str) -> str:
    return f" {' '.join(_TOKEN.findall(text.casefold()))} "


def _occurrences(name: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) of each occurrence of a name, also with an initial capital."""
    for form in {name, name[:1].upper() + name[1:]}:
        start = text.find(form)
        while start >= 0:
            yield start, start + len(form)
            start = text.find(form, start + 1)


def _is_separate_name(text: str, start: int, end: int) -> bool:
    before = text[:start].rsplit(" ", 2)[-2:-1]
    previous = before[0] if before else ""
    return (
        previous.islower()
        and previous not in ("the", "a", "an")
        and _FOLLOWING.match(text, end) is not None
    )


def _nationality_replacements(text: str, rng: random.Random) -> Iterator[Replacement]:
    for match in _NATION.finditer(text):
        if not text[match.end() : match.end() + 2].strip()[:1].isupper():
            yield Replacement(*match.span(), rng.choice(_NATIONS))


def _year_replacements(text: str, rng: random.Random) -> Iterator[Replacement]:
    for match in _YEAR.finditer(text):
        shift = rng.choice((-1, 1)) * rng.randint(1, 12)
        yield Replacement(*match.span(), str(min(int(match.group()) + shift, 2029)))


def _number_replacements(text: str, rng: random.Random) -> Iterator[Replacement]:
    for match in _NUMBER.finditer(text):
        if _MONTH_BEFORE.search(text[: match.start()]) or _MONTH_AFTER.match(text, match.end()):
            continue  # a day of the month: "October 39" is not a date
        digits = match.group().replace(",", "")
        value = int(digits)
        other = max(value + rng.choice((-1, 1)) * rng.randint(1, max(value // 3, 2)), 2)
        yield Replacement(*match.span(), f"{other:,}" if "," in match.group() else str(other))


def _month_replacements(text: str, rng: random.Random) -> Iterator[Replacement]:
    for match in _MONTH.finditer(text):
        yield Replacement(*match.span(), rng.choice(_LONG_MONTHS))


def _word_replacements(text: str, rng: random.Random) -> Iterator[Replacement]:
    for match in _WORD.finditer(text):
        word = match.group()
        value = OPPOSITES.get(word) or rng.choice(_SIBLINGS[word])
        yield Replacement(*match.span(), value)


def _replace(text: str, replacement: Replacement) -> str:
    before, value = text[: replacement.start], replacement.value
    article = _ARTICLE.search(before)
    if article is not None:
        agreeing = "an" if value[:1].lower() in "aeiou" else "a"
        agreeing = agreeing.capitalize() if article.group()[0] == "A" else agreeing
        before = f"{before[: article.start()]}{agreeing} "
    if not before:
        value = value[:1].upper() + value[1:]
    return before + value + text[replacement.end :]


Labels = Literal["both", "supported", "refuted"]
# Documents that are neighbours in the store are read together: they are compressed together.
_BLOCK_SIZE = 16
_TRIES_PER_DOCUMENT = 8
_MAX_ROUNDS = 40
_SAMPLED_BLOCKS = 384
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
    """

    def __init__(self, kb: KnowledgeBase, settings: SynthesisSettings) -> None:
        self._settings = settings
        self._corpus = ParsedCorpus(kb)
        sample = list(self._sample())
        self._corpus.count_mentions(sample)
        self._writer = TrueClaimWriter(self._corpus, Describer(self._corpus))
        self._falsifier = Falsifier(self._corpus, sample)
        self.n_duplicates = self.n_mentioning = 0

    def claims(self, done: Iterable[tuple[str, str]] = ()) -> Iterator[SyntheticClaim]:
        """Yield distinct claims until a round over all documents gives none that is new.

        `done`: ids and texts of the claims written before, in order, after which to continue.
        """
        seen: set[str] = set()
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
        count = len(self._corpus)
        blocks = list(range(0, count, _BLOCK_SIZE))
        random.Random(f"{self._settings.seed} round {round_number}").shuffle(blocks)
        for block in blocks:
            yield from range(block, min(block + _BLOCK_SIZE, count))

    def _sample(self) -> Iterator[Profile]:
        count = len(self._corpus)
        step = max(count // _BLOCK_SIZE // _SAMPLED_BLOCKS, 1) * _BLOCK_SIZE
        for block in range(0, count, step):
            for number in range(block, min(block + _BLOCK_SIZE, count)):
                yield self._corpus.profile_at(number)


def _is_new(seen: set[str], text: str) -> bool:
    """Record a claim and return whether it is new; punctuation, capitals, plurals do not count."""
    known = len(seen)
    seen.add(" ".join(normalised_tokens(text)))
    return len(seen) > known


__all__ = ["Labels", "SynthesisSettings", "Synthesizer", "SyntheticClaim"]
