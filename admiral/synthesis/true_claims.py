"""True claims: a statement of one document in which others are described instead of named."""

from __future__ import annotations

import random
from dataclasses import dataclass

from admiral.retrieval.title_matching import base_title
from admiral.synthesis.clauses import joined, sentence, words
from admiral.synthesis.descriptions import Describer, Description, fits
from admiral.synthesis.parsed_documents import Library
from admiral.synthesis.profiles import Profile, Statement
from admiral.synthesis.sentence_wording import clause_text
from admiral.synthesis.slots import Slot
from admiral.synthesis.title_leaks import given_away

_MOST_WORDS, _MOST_CHARACTERS = 60, 420
# Mentions that are tried, and shares of ways to write a claim.
_TRIES = 4
_TWO_SLOTS, _APPOSITION, _HIDDEN_ROOT = 0.6, 0.2, 0.5
# Titles that would be taken for something else at the start of a sentence.
_NO_NAMES = frozenset(
    ("it", "he", "she", "they", "this", "that", "here", "there", "i", "you", "we")
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
            clause_text(
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
        if statement.index and rng.random() < _HIDDEN_ROOT:
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


def _goes_with(other: tuple[Statement, Slot], one: tuple[Statement, Slot]) -> bool:
    """Whether two mentions can be described in one claim."""
    if other[0] != one[0]:
        return other[1].title != one[1].title
    first, second = sorted((other[1], one[1]), key=lambda slot: slot.start)
    return first.title != second.title and not first.closing and first.end < second.start


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
