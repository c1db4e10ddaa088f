"""True claims: statements of one document that describe other documents instead of naming them."""

from __future__ import annotations

import random
from dataclasses import dataclass

from admiral.retrieval.title_matching import base_title
from admiral.synthesis.clauses import join_parts, to_sentence, word_count
from admiral.synthesis.descriptions import Describer, Description, matches_slot
from admiral.synthesis.parsed_documents import ParsedCorpus
from admiral.synthesis.profiles import Profile, Statement
from admiral.synthesis.sentence_wording import compose_sentence
from admiral.synthesis.slots import Slot
from admiral.synthesis.title_leaks import leaked_words

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
    """A true claim and its evidence.

    Attributes
    ----------
    text
        Text of the claim.
    evidence
        Gold sentences as (title, sentence number), document by document.
    named
        Titles that the claim names.
    described
        (title, description) of the documents that the claim hides.
    ordered
        Whether the documents can only be found in the order of the evidence.
    """

    text: str
    evidence: tuple[tuple[str, int], ...]
    named: tuple[str, ...]
    described: tuple[tuple[str, str], ...]
    ordered: bool

    @property
    def titles(self) -> tuple[str, ...]:
        """Distinct documents in the order of the evidence."""
        return tuple(dict.fromkeys(title for title, _ in self.evidence))


class TrueClaimWriter:
    """Writes true claims that start from a given document.

    Parameters
    ----------
    corpus
        The parsed documents.
    describer
        Writer of the descriptions.
    """

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
        self,
        root: Profile,
        statement: Statement,
        slot: Slot,
        documents: int,
        rng: random.Random,
    ) -> TrueClaim | None:
        """Write a claim with one or two mentions of the root replaced by descriptions."""
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
        self,
        root: Profile,
        statement: Statement,
        slot: Slot,
        documents: int,
        rng: random.Random,
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
    """Return whether two mentions can be described in one claim."""
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
