"""True claims: a statement of one document in which others are described instead of named."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from admiral.mentions import base_title
from admiral.synthesis.clauses import joined, piece_ends, sentence, words
from admiral.synthesis.descriptions import Describer, Description, fits
from admiral.synthesis.leaks import given_away
from admiral.synthesis.library import Library
from admiral.synthesis.profiles import Profile, Statement
from admiral.synthesis.slots import Slot
from admiral.synthesis.words import PASTS, REGULAR

_MOST_WORDS, _MOST_CHARACTERS = 60, 420
_STATEMENT_WORDS = 26
# Shares of ways to write a claim; what a way cannot be used for is written plainly.
_TRIES = 4
_TWO_SLOTS, _APPOSITION, _TURNED, _LEAD, _TAIL = 0.6, 0.2, 0.35, 0.6, 0.5
_BY = re.compile(r"(?P<before>.*?\b)(?P<verb>[a-z]+) by $")
# Titles that would be taken for something else at the start of a sentence.
_NO_NAMES = frozenset(
    ("it", "he", "she", "they", "this", "that", "here", "there", "i", "you", "we")
)
# What stands before "directed by" where it only says what the root is.
_KIND = re.compile(r"(?:is|was) an? (?P<kind>(?:[\w-]+ ){1,5})")
_WHERE = re.compile(
    r"(?P<before>(?:is|was|are|were)(?: [a-z]+ly)? (?:born|located|held|situated|filmed|set|raised"
    r"|based|founded|built|buried|established|played)|took place|takes place|died|lives|lived"
    r"|grew up|began) (?:in|at) $"
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A true claim and what it rests on.

    Attributes
    ----------
    text
        The claim.
    evidence
        (title, sentence number), document by document.
    named
        Titles that the claim names on purpose.
    described
        Title and description of those that it hides.
    ordered
        Whether each document leads to the next ones in the order of the evidence.
    """

    text: str
    evidence: tuple[tuple[str, int], ...]
    named: tuple[str, ...]
    described: tuple[tuple[str, str], ...]
    ordered: bool

    @property
    def titles(self) -> tuple[str, ...]:
        """The documents in the order of the evidence, each once."""
        return tuple(dict.fromkeys(title for title, _ in self.evidence))


class Writer:
    """Writes claims that begin at a given document.

    Parameters
    ----------
    library
        The documents.
    describer
        What describes them.
    """

    def __init__(self, library: Library, describer: Describer) -> None:
        self._library, self._describer = library, describer

    def write(self, root: Profile, documents: int, rng: random.Random) -> Draft | None:
        """Return a claim about `root` that needs at most so many documents, or None."""
        if root.name.casefold() in _NO_NAMES:
            return None
        best: Draft | None = None
        for statement, slot in self._library.draw(root, _TRIES, rng):
            if not self._library.quoted and rng.random() < _APPOSITION:
                draft = self._with_apposition(root, statement, slot, documents, rng)
            else:
                draft = self._described(root, statement, slot, documents, rng)
            if draft is None or not _acceptable(draft):
                continue
            if len(draft.titles) == documents:
                return draft
            if best is None or len(draft.titles) > len(best.titles):
                best = draft
        return best

    def _described(
        self,
        root: Profile,
        statement: Statement,
        slot: Slot,
        documents: int,
        rng: random.Random,
    ) -> Draft | None:
        """Describe what one mention of the root names, or what two do, in one or two statements."""
        chosen, budgets = [(statement, slot)], [documents - 1]
        if documents > 2 and not self._library.quoted and rng.random() < _TWO_SLOTS:
            others = self._library.draw(root, _TRIES, rng)
            other = next((pair for pair in others if _goes_with(pair, chosen[0])), None)
            if other is not None:
                chosen = sorted([*chosen, other], key=lambda one: (one[0].index, one[1].start))
                first = rng.randint(1, documents - 2)
                budgets = [first, documents - 1 - first]
        used = frozenset((root.title, *(one.title for _, one in chosen)))
        found = []
        for (_, one), budget in zip(chosen, budgets, strict=True):
            description = self._describe(one, budget, used, rng)
            if description is None:
                return None
            found.append(description)
            used |= {title for title, _ in description.parts}
        evidence: list[tuple[str, int]] = []
        for (said, _), description in zip(chosen, found, strict=True):
            evidence += [(root.title, said.index), *description.evidence]
        return Draft(
            _text(
                root,
                [(said, one, d) for (said, one), d in zip(chosen, found, strict=True)],
                rng,
                quoted=self._library.quoted,
            ),
            tuple(dict.fromkeys(evidence)),
            (root.title,),
            tuple(part for description in found for part in description.parts),
            ordered=True,
        )

    def _with_apposition(
        self,
        root: Profile,
        statement: Statement,
        slot: Slot,
        documents: int,
        rng: random.Random,
    ) -> Draft | None:
        """Name the mentioned document and say what it is; sometimes describe the root instead."""
        description = self._describe(slot, documents - 1, frozenset({root.title}), rng)
        if description is None or base_title(root.title) in description.text:
            return None
        named = [root.title, slot.title]
        own: tuple[tuple[str, int], ...] = ((root.title, statement.index),)
        subject = root.name
        described = description.parts[1:]
        if statement.index and rng.random() < 0.5:
            about = self._describer.describe(root, 1, frozenset(), rng)
            if about is None or about.long or base_title(slot.title) in about.text:
                return None
            named, subject = [slot.title], about.text
            own = (*about.evidence, *own)
            described = (*about.parts, *described)
        text = joined(subject, f"{statement.predicate[: slot.end]},", description.text)
        return Draft(
            sentence(text),
            tuple(dict.fromkeys((*own, *description.evidence))),
            tuple(named),
            described,
            ordered=subject == root.name,
        )

    def _describe(
        self, slot: Slot, budget: int, used: frozenset[str], rng: random.Random
    ) -> Description | None:
        profile = self._library.profile(slot.title)
        if profile is None or not fits(profile, slot):
            return None
        return self._describer.describe(profile, budget, used, rng)


def _text(
    root: Profile,
    chosen: Sequence[tuple[Statement, Slot, Description]],
    rng: random.Random,
    *,
    quoted: bool,
) -> str:
    """Return statements of the root as one sentence, with descriptions in their slots."""
    statement, slot, description = chosen[0]
    predicate = statement.predicate
    if quoted:
        return sentence(
            joined(root.name, predicate[: slot.start], description.text, predicate[slot.end :])
        )
    if len(chosen) == 2:
        other, second, also = chosen[1]
        if other == statement:
            comma = "," if description.long else ""
            middle = predicate[slot.end : second.start]
            parts = [predicate[: slot.start], description.text + comma, middle, also.text]
        else:
            link = ", and" if description.long else "and"
            parts = [predicate[: slot.start], description.text, link]
            parts += [other.predicate[: second.start], also.text]
        return sentence(joined(_lead(statement, rng), root.name, *parts))
    if rng.random() < _TURNED:
        turned = _turned(root, predicate[: slot.start], description.text)
        if turned:
            return sentence(turned)
    end = slot.end
    if not description.long and not slot.closing and rng.random() < _TAIL:
        ends = [e for e in piece_ends(predicate, end) if words(predicate[:e]) <= _STATEMENT_WORDS]
        end = rng.choice(ends) if ends else end
    parts = [predicate[: slot.start], description.text, predicate[slot.end : end]]
    return sentence(joined(_lead(statement, rng), root.name, *parts))


def _goes_with(other: tuple[Statement, Slot], one: tuple[Statement, Slot]) -> bool:
    """Whether two mentions can be described in one claim."""
    if other[0] != one[0]:
        return other[1].title != one[1].title
    first, second = sorted((other[1], one[1]), key=lambda slot: slot.start)
    return first.title != second.title and not first.closing and first.end < second.start


def _lead(statement: Statement, rng: random.Random) -> str:
    return statement.lead if rng.random() < _LEAD else ""


def _turned(root: Profile, before: str, description: str) -> str:
    """Return the clause with the description first, where the words before it allow that."""
    where = _WHERE.fullmatch(before)
    if where is not None:
        return joined(description, "is where", root.name, where["before"])
    by = _BY.fullmatch(before)
    if by is not None and (by["verb"] in PASTS or REGULAR.fullmatch(by["verb"])):
        if by["before"].strip() in ("is", "was", "are", "were"):
            return joined(description, PASTS.get(by["verb"], by["verb"]), root.name)
        kind = _KIND.fullmatch(by["before"])
        if kind is not None:
            verb = PASTS.get(by["verb"], by["verb"])
            return joined(description, verb, "the", kind["kind"], root.name)
    return ""


def _acceptable(draft: Draft) -> bool:
    text = draft.text
    if words(text) > _MOST_WORDS or len(text) > _MOST_CHARACTERS:
        return False
    if len(draft.titles) < 2:
        return False
    if any(given_away(text, title, draft.named) for title, _ in draft.described):
        return False
    # "The Titanic was built by the company that built the Titanic" goes round in a circle.
    names = [base_title(title) for title in draft.named]
    return not any(name in part for name in names for _, part in draft.described)
