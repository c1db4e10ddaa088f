"""True claims: statements of one document that describe other documents instead of naming them."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from admiral.retrieval.mentions import base_title
from admiral.synthesis.clauses import clause_ends, join_parts, to_sentence, word_count
from admiral.synthesis.descriptions import Describer, Description, matches_slot
from admiral.synthesis.english_words import IRREGULAR_PASTS, STOP_WORDS, UNCHANGED_PARTICIPLE
from admiral.synthesis.parsed_documents import ParsedCorpus
from admiral.synthesis.profiles import Profile, Statement
from admiral.synthesis.slots import Slot

_WORD = re.compile(r"\w+")


@lru_cache(64)  # a claim is checked against each of its titles
def _words(text: str) -> tuple[str, ...]:
    if not text.isascii():
        text = "".join(
            c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)
        )
    return tuple(_WORD.findall(text.casefold()))


def normalised_tokens(text: str) -> list[str]:
    """Return the words of a text without accents, case, and plural or possessive endings."""
    return [_stem(word) for word in _words(text)]


def _stem(word: str) -> str:
    return word.removesuffix("s") or word


def leaked_words(claim: str, hidden: str, named: Iterable[str]) -> list[str]:
    """Return the words of a hidden title that occur in a claim.

    Its initials count too (NBC for National Broadcasting Company). Stop words do not count, nor do
    words of titles that the claim names on purpose, in the same form. `hidden`: title that the
    claim must not show. Its parenthesis is ignored: it gives the kind of the document, which a
    description may give too.
    """
    allowed = {word for title in named for word in _words(base_title(title))}
    claim_words = {_stem(word) for word in _words(claim) if word not in allowed}
    parts = _words(base_title(hidden))
    leaked = [word for word in parts if word not in STOP_WORDS and _stem(word) in claim_words]
    # The title as initials, or written as one word.
    initials, compound = "".join(word[0] for word in parts), "".join(parts)
    if len(parts) > 1:
        leaked += [w for w in (initials, compound) if len(w) > 2 and _stem(w) in claim_words]
    return leaked


# Share of claims that begin with the description, that keep the adverbial before the subject, and
# that keep text after the description.
_INVERTED_SHARE, _ADVERBIAL_SHARE, _TAIL_SHARE = 0.35, 0.6, 0.5
_MAX_STATEMENT_WORDS = 26
_BY = re.compile(r"(?P<before>.*?\b)(?P<verb>[a-z]+) by $")
# Text before "directed by" that only says what the root is.
_KIND = re.compile(r"(?:is|was) an? (?P<kind>(?:[\w-]+ ){1,5})")
_WHERE = re.compile(
    r"(?P<before>(?:is|was|are|were)(?: [a-z]+ly)? (?:born|located|held|situated|filmed|set|raised"
    r"|based|founded|built|buried|established|played)|took place|takes place|died|lives|lived"
    r"|grew up|began) (?:in|at) $"
)


def compose_sentence(
    root: Profile,
    chosen: Sequence[tuple[Statement, Slot, Description]],
    rng: random.Random,
    *,
    quoted: bool,
) -> str:
    """Return statements of the root as one sentence, with descriptions in their slots.

    `chosen`: one or two (statement, slot, description) of the root. `quoted`: whether descriptions
    are quotations, so that the statement is kept as it is.
    """
    statement, slot, description = chosen[0]
    predicate = statement.predicate
    if quoted:
        return to_sentence(
            join_parts(root.name, predicate[: slot.start], description.text, predicate[slot.end :])
        )
    if len(chosen) == 2:
        second_statement, second_slot, second_description = chosen[1]
        if second_statement == statement:
            comma = "," if description.is_long else ""
            middle = predicate[slot.end : second_slot.start]
            parts = [
                predicate[: slot.start],
                description.text + comma,
                middle,
                second_description.text,
            ]
        else:
            link = ", and" if description.is_long else "and"
            parts = [predicate[: slot.start], description.text, link]
            parts += [second_statement.predicate[: second_slot.start], second_description.text]
        return to_sentence(join_parts(_maybe_adverbial(statement, rng), root.name, *parts))
    if rng.random() < _INVERTED_SHARE:
        inverted = _inverted(root, predicate[: slot.start], description.text)
        if inverted:
            return to_sentence(inverted)
    end = slot.end
    if not description.is_long and not slot.has_apposition and rng.random() < _TAIL_SHARE:
        ends = [
            e
            for e in clause_ends(predicate, end)
            if word_count(predicate[:e]) <= _MAX_STATEMENT_WORDS
        ]
        end = rng.choice(ends) if ends else end
    parts = [predicate[: slot.start], description.text, predicate[slot.end : end]]
    return to_sentence(join_parts(_maybe_adverbial(statement, rng), root.name, *parts))


def _maybe_adverbial(statement: Statement, rng: random.Random) -> str:
    return statement.adverbial if rng.random() < _ADVERBIAL_SHARE else ""


def _inverted(root: Profile, before: str, description: str) -> str:
    """Return the clause with the description first; empty if its wording does not allow that."""
    where = _WHERE.fullmatch(before)
    if where is not None:
        return join_parts(description, "is where", root.name, where["before"])
    by = _BY.fullmatch(before)
    if by is not None and (
        by["verb"] in IRREGULAR_PASTS or UNCHANGED_PARTICIPLE.fullmatch(by["verb"])
    ):
        if by["before"].strip() in ("is", "was", "are", "were"):
            return join_parts(description, IRREGULAR_PASTS.get(by["verb"], by["verb"]), root.name)
        kind = _KIND.fullmatch(by["before"])
        if kind is not None:
            verb = IRREGULAR_PASTS.get(by["verb"], by["verb"])
            return join_parts(description, verb, "the", kind["kind"], root.name)
    return ""


_MAX_WORDS, _MAX_CHARACTERS = 60, 420
_TRIES = 4  # mentions that are tried for a claim
# Share of claims with two slots, with an apposition, and of these with the root described.
_TWO_SLOTS_SHARE, _APPOSITION_SHARE, _HIDDEN_ROOT_SHARE = 0.6, 0.2, 0.5
# Titles that would be read as pronouns at the start of a sentence.
_PRONOUN_TITLES = frozenset(
    ("it", "he", "she", "they", "this", "that", "here", "there", "i", "you", "we")
)


@dataclass(frozen=True, slots=True)
class TrueClaim:
    """A true claim and its evidence."""

    text: str
    # gold sentences as (title, sentence number), document by document
    evidence: tuple[tuple[str, int], ...]
    named: tuple[str, ...]
    # (title, description) of the documents that the claim hides
    described: tuple[tuple[str, str], ...]
    ordered: bool  # whether the documents can only be found in the order of the evidence

    @property
    def titles(self) -> tuple[str, ...]:
        """Distinct documents in the order of the evidence."""
        return tuple(dict.fromkeys(title for title, _ in self.evidence))


class TrueClaimWriter:
    """Writes true claims that start from a given document."""

    def __init__(self, corpus: ParsedCorpus, describer: Describer) -> None:
        self._corpus, self._describer = corpus, describer

    def write(self, root: Profile, documents: int, rng: random.Random) -> TrueClaim | None:
        """Return a claim about `root` over at most `documents` documents; None if there is none."""
        if root.name.casefold() in _PRONOUN_TITLES:
            return None
        best: TrueClaim | None = None
        for statement, slot in self._corpus.sample_slots(root, _TRIES, rng):
            if not self._corpus.quotes_only and rng.random() < _APPOSITION_SHARE:
                draft = self._with_apposition(root, statement, slot, documents, rng)
            else:
                draft = self._with_descriptions(root, statement, slot, documents, rng)
            if draft is None or not _is_acceptable(draft):
                continue
            if len(draft.titles) == documents:
                return draft
            if best is None or len(draft.titles) > len(best.titles):
                best = draft
        return best

    def _with_descriptions(
        self, root: Profile, statement: Statement, slot: Slot, documents: int, rng: random.Random
    ) -> TrueClaim | None:
        chosen, budgets = [(statement, slot)], [documents - 1]
        if documents > 2 and not self._corpus.quotes_only and rng.random() < _TWO_SLOTS_SHARE:
            candidates = self._corpus.sample_slots(root, _TRIES, rng)
            second = next((pair for pair in candidates if _are_compatible(pair, chosen[0])), None)
            if second is not None:
                chosen = sorted([*chosen, second], key=lambda pair: (pair[0].index, pair[1].start))
                first = rng.randint(1, documents - 2)
                budgets = [first, documents - 1 - first]
        used = frozenset((root.title, *(slot.title for _, slot in chosen)))
        descriptions = []
        for (_, slot), budget in zip(chosen, budgets, strict=True):
            description = self._describe(slot, budget, used, rng)
            if description is None:
                return None
            descriptions.append(description)
            used |= {title for title, _ in description.phrases}
        evidence: list[tuple[str, int]] = []
        for (statement, _), description in zip(chosen, descriptions, strict=True):
            evidence += [(root.title, statement.index), *description.evidence]
        return TrueClaim(
            compose_sentence(
                root,
                [(*pair, d) for pair, d in zip(chosen, descriptions, strict=True)],
                rng,
                quoted=self._corpus.quotes_only,
            ),
            tuple(dict.fromkeys(evidence)),
            (root.title,),
            tuple(part for description in descriptions for part in description.phrases),
            ordered=True,
        )

    def _with_apposition(
        self, root: Profile, statement: Statement, slot: Slot, documents: int, rng: random.Random
    ) -> TrueClaim | None:
        """Write a claim that names the mentioned document and describes it in an apposition.

        Sometimes the root is described instead of named.
        """
        description = self._describe(slot, documents - 1, frozenset({root.title}), rng)
        if description is None or base_title(root.title) in description.text:
            return None
        named = [root.title, slot.title]
        own: tuple[tuple[str, int], ...] = ((root.title, statement.index),)
        subject = root.name
        described = description.phrases[1:]
        if statement.index and rng.random() < _HIDDEN_ROOT_SHARE:
            about = self._describer.describe(root, 1, frozenset(), rng)
            if about is None or about.is_long or base_title(slot.title) in about.text:
                return None
            named, subject = [slot.title], about.text
            own = (*about.evidence, *own)
            described = (*about.phrases, *described)
        text = join_parts(subject, f"{statement.predicate[: slot.end]},", description.text)
        return TrueClaim(
            to_sentence(text),
            tuple(dict.fromkeys((*own, *description.evidence))),
            tuple(named),
            described,
            ordered=subject == root.name,
        )

    def _describe(
        self, slot: Slot, budget: int, used: frozenset[str], rng: random.Random
    ) -> Description | None:
        profile = self._corpus.profile(slot.title)
        if profile is None or not matches_slot(profile, slot):
            return None
        return self._describer.describe(profile, budget, used, rng)


def _are_compatible(first: tuple[Statement, Slot], second: tuple[Statement, Slot]) -> bool:
    if first[0] != second[0]:
        return first[1].title != second[1].title
    left, right = sorted((first[1], second[1]), key=lambda slot: slot.start)
    return left.title != right.title and not left.has_apposition and left.end < right.start


def _is_acceptable(draft: TrueClaim) -> bool:
    text = draft.text
    if word_count(text) > _MAX_WORDS or len(text) > _MAX_CHARACTERS:
        return False
    if len(draft.titles) < 2:
        return False
    if any(leaked_words(text, title, draft.named) for title, _ in draft.described):
        return False
    # "The Titanic was built by the company that built the Titanic" is circular.
    names = [base_title(title) for title in draft.named]
    return not any(name in part for name in names for _, part in draft.described)
