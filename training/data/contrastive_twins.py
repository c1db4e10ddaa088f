"""Contrastive twins from documents: claims that differ little and whose labels differ.

A statement of a document is a claim that its sentence entails. Twins of it have a changed value,
name, date, number, quantifier, relation or polarity, or their evidence lacks the sentence. Most
changes occur with more than one label (a false claim is entailed if it is negated, and nothing is
known about it if its sentence is deleted), so that the claim alone does not give the label away.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from admiral.retrieval.title_matching import base_title
from admiral.synthesis.clauses import clause_ends, join_parts, to_sentence, word_count
from admiral.synthesis.false_claims import Falsifier
from admiral.synthesis.parsed_documents import DocumentSource, ParsedCorpus
from admiral.synthesis.profiles import Profile, Statement
from admiral.synthesis.slots import is_list_page
from proofs.verifier.pair_input import evidence_text
from training.data.claim_edits import (
    Edit,
    bound_values,
    change_quantifiers,
    change_relation,
    negate,
    swap_roles,
)
from training.data.verification_pairs import Pair

SOURCE = "twins"
_BLOCK_SIZE = 16  # documents that are compressed together
_SAMPLED_BLOCKS = 384
_MIN_WORDS, _MAX_WORDS = 3, 32
_SHORTENED_SHARE = 0.4
# The negation of "was not re-elected" needs more than a word, and a false date in it may be true.
_NEGATION = re.compile(r"\b(?:no|not|nor|never|neither|none|without|cannot)\b|n't\b")
_MAX_DISTRACTORS = 3
_EDITS_PER_CLAIM = 3
Sentence = tuple[str, str]


class TwinWriter:
    """Writes groups of contrastive twins about the documents of a knowledge base.

    Parameters
    ----------
    kb
        The open knowledge base.
    seed
        The same seed and documents give the same pairs.
    excluded
        Titles of documents about which nothing is written, such as those of development claims.
    """

    def __init__(self, kb: DocumentSource, seed: int, excluded: Collection[str] = ()) -> None:
        self._corpus, self._seed, self._excluded = ParsedCorpus(kb), seed, excluded
        self._blocks = list(range(0, len(self._corpus), _BLOCK_SIZE))
        step = max(len(self._blocks) // _SAMPLED_BLOCKS, 1)
        sample = [p for block in self._blocks[::step] for p in self._block(block)]
        self._falsifier = Falsifier(self._corpus, sample)
        self._names: dict[str, list[str]] = {}
        for profile in sample:
            if profile.noun and not is_list_page(profile.title):
                self._names.setdefault(profile.noun, []).append(profile.name)

    def pairs(self) -> Iterator[Pair]:
        """Yield the pairs of all documents, in random order."""
        blocks = list(self._blocks)
        random.Random(f"{self._seed} twins").shuffle(blocks)
        for block in blocks:
            for number, profile in enumerate(self._block(block)):
                if profile.title not in self._excluded and not is_list_page(profile.title):
                    rng = random.Random(f"{self._seed} twins {block + number}")
                    yield from self._group(profile, rng)

    def _block(self, start: int) -> Iterator[Profile]:
        for number in range(start, min(start + _BLOCK_SIZE, len(self._corpus))):
            yield self._corpus.profile_at(number)

    def _group(self, profile: Profile, rng: random.Random) -> Iterator[Pair]:
        """Yield the pairs about one statement of a document."""
        statements = [s for s in profile.statements if _is_usable(profile, s)]
        if not statements:
            return
        whole = statement = rng.choice(statements)
        shorter = _shortened(whole, rng)
        if shorter is not None and rng.random() < _SHORTENED_SHARE:
            statement = shorter
        own = [(profile.title, profile.document.sentences[statement.index])]
        others = _others(profile, {statement.index})
        text = _text(profile, statement)
        claims = [Edit(text, "entailment"), *self._edits(profile, statement, text, rng)]
        for claim in claims:
            yield _pair(claim.text, own, others, claim.label, rng)
        if others:
            yield _pair(rng.choice(claims).text, [], others, "neutral", rng)
        if shorter is not None:  # the evidence says less than the claim
            known = [(profile.title, _text(profile, shorter))]
            yield _pair(_text(profile, whole), known, others, "neutral", rng)
        yield from self._of_another(profile, statement, [*own, *others], rng)
        yield from self._joined(profile, statement, statements, rng)

    def _edits(
        self, profile: Profile, statement: Statement, text: str, rng: random.Random
    ) -> list[Edit]:
        """Return random edits of a statement, of different kinds."""
        subject, predicate = _subject(profile, statement), statement.predicate
        kinds: list[Callable[[], Iterator[Edit]]] = [
            lambda: self._false(profile, text, rng),
            lambda: self._false(profile, text, rng),  # the kind with the most varieties
            lambda: negate(subject, predicate, rng),
            lambda: self._negated_false(profile, statement, rng),
            lambda: bound_values(text, rng),
            lambda: change_quantifiers(text, rng),
            lambda: change_relation(text, rng),
            lambda: self._swapped(profile, statement),
        ]
        chosen: list[Edit] = []
        for kind in rng.sample(kinds, len(kinds)):
            candidates = list(kind())
            if candidates:
                edit = rng.choice(candidates)
                chosen.append(Edit(to_sentence(edit.text), edit.label))
            if len(chosen) == _EDITS_PER_CLAIM:
                break
        return list(dict.fromkeys(chosen))

    def _false(self, profile: Profile, text: str, rng: random.Random) -> Iterator[Edit]:
        false = self._falsifier.falsify(text, [profile.title], [profile.document], rng)
        if false is not None:
            yield Edit(false, "contradiction")

    def _negated_false(
        self, profile: Profile, statement: Statement, rng: random.Random
    ) -> Iterator[Edit]:
        """Yield the negation of a false claim, which the evidence entails."""
        false = self._falsifier.falsify(
            statement.predicate, [profile.title], [profile.document], rng
        )
        if false is not None:
            predicate = false[:1].lower() + false[1:]  # a verb
            for edit in negate(_subject(profile, statement), predicate, rng):
                yield Edit(edit.text, "entailment")

    def _swapped(self, profile: Profile, statement: Statement) -> Iterator[Edit]:
        for other, slot in self._corpus.slots(profile):
            fits = slot.end <= len(statement.predicate)
            if (
                other.index == statement.index
                and fits
                and base_title(slot.title) != base_title(profile.title)
            ):
                before = statement.predicate[: slot.start]
                name = statement.predicate[slot.start : slot.end]
                yield from swap_roles(profile.name, before, name)

    def _of_another(
        self, profile: Profile, statement: Statement, sentences: list[Sentence], rng: random.Random
    ) -> Iterator[Pair]:
        """Yield the statement about another subject of the same kind: nothing is known of it."""
        names = self._names.get(profile.noun, [])
        text = " ".join(sentence for _, sentence in sentences)
        if len(names) > 1:
            name = rng.choice(names)
            if name != profile.name and name not in text:
                claim = to_sentence(f"{statement.adverbial}{name} {statement.predicate}")
                yield _pair(claim, sentences[:1], sentences[1:], "neutral", rng, relevance=False)

    def _joined(
        self,
        profile: Profile,
        statement: Statement,
        statements: list[Statement],
        rng: random.Random,
    ) -> Iterator[Pair]:
        """Yield two statements in one claim, with the evidence of both and of one."""
        others = [s for s in statements if s.index != statement.index and not s.adverbial]
        if not others:
            return
        second = rng.choice(others)
        text = to_sentence(f"{_text(profile, statement).rstrip('.')} and {second.predicate}")
        if word_count(text) > 2 * _MAX_WORDS:
            return
        texts = profile.document.sentences
        both = [(profile.title, texts[s.index]) for s in (statement, second)]
        rest = _others(profile, {statement.index, second.index})
        yield _pair(text, both, rest, "entailment", rng)
        yield _pair(text, [rng.choice(both)], rest, "neutral", rng)
        for edit in self._false(profile, text, rng):
            yield _pair(edit.text, both, rest, edit.label, rng)


def _is_usable(profile: Profile, statement: Statement) -> bool:
    text = _text(profile, statement)
    return word_count(text) <= _MAX_WORDS and _NEGATION.search(text) is None


def _shortened(statement: Statement, rng: random.Random) -> Statement | None:
    """Return a statement without details at its end; None if it has none."""
    predicate = statement.predicate
    parts = [predicate[:end] for end in clause_ends(predicate) if end < len(predicate)]
    parts = [part for part in parts if word_count(part) >= _MIN_WORDS]
    return replace(statement, predicate=rng.choice(parts)) if parts else None


def _subject(profile: Profile, statement: Statement) -> str:
    return f"{statement.adverbial}{profile.name}"


def _text(profile: Profile, statement: Statement) -> str:
    return to_sentence(join_parts(_subject(profile, statement), statement.predicate))


def _others(profile: Profile, used: set[int]) -> list[Sentence]:
    """Return the other sentences of a document."""
    texts = enumerate(profile.document.sentences)
    return [(profile.title, text) for n, text in texts if n not in used and text.strip()]


def _pair(
    claim: str,
    own: list[Sentence],
    others: list[Sentence],
    label: str,
    rng: random.Random,
    *,
    relevance: bool | None = None,
) -> Pair:
    """Return a pair whose evidence is `own` and some of `others`, in random order."""
    count = rng.randint(0 if own else 1, _MAX_DISTRACTORS)
    chosen = [*own, *rng.sample(others, min(count, len(others)))]
    evidence = evidence_text(rng.sample(chosen, len(chosen)))
    relevant = bool(own) if relevance is None else relevance
    return Pair(claim, evidence, label, SOURCE, 1.0, relevant)
