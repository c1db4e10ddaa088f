"""Small changes to a true claim that change what its evidence does to it.

Each function yields edits of a claim, with the label that the edited claim has on the evidence of
the original one. Nearly all are certain; those of `change_relation` are what a careful reader would
say without further knowledge.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """An edited text and its label on the evidence of the original one."""

    text: str
    label: str


_COPULA = re.compile(r"(?:is|was|are|were)\b(?! not\b)")
_HAVE = re.compile(r"(?:has|have|had) (?=been\b|[a-z]+ed\b)")
_YEAR = re.compile(r"\bin (?P<year>1[0-9]{3}|20[0-2][0-9])\b(?![–-])")
# Not after "the" or "No.", and before a word: "won 12 medals", but neither "the 12 songs" nor
# "chapter 12".
_AMOUNT = re.compile(
    r"(?<!the )(?<!The )(?<!top )(?<!age )(?<!its )(?<!his )(?<!her )(?<=[a-z] )"
    r"(?P<number>[1-9][0-9]{1,2}|[2-9]|[1-9][0-9]{0,2}(?:,[0-9]{3})+) "
    r"(?!to\b|and\b|or\b|of\b|percent\b|(?:January|February|March|April|May|June|July|August"
    r"|September|October|November|December)\b)(?=[a-z])"
)
_ORDINALS = ("second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_ORDINAL = re.compile(rf"\b(?:{'|'.join(_ORDINALS)})\b")
_QUANTIFIERS: dict[str, tuple[Edit, ...]] = {
    "all": (Edit("some", "entailment"), Edit("no", "contradiction")),
    "most": (Edit("all", "neutral"),),
    "several": (Edit("no", "contradiction"), Edit("all", "neutral")),
    "some of": (Edit("none of", "contradiction"), Edit("all of", "neutral")),
    "most of": (Edit("all of", "neutral"), Edit("none of", "contradiction")),
    "many of": (Edit("all of", "neutral"), Edit("some of", "entailment")),
    "many": (Edit("no", "contradiction"), Edit("some", "entailment")),
    "one of the": (Edit("none of the", "contradiction"),),
}
_QUANTIFIER = re.compile(rf"\b(?:{'|'.join(sorted(_QUANTIFIERS, key=len, reverse=True))})\b")
# "most popular" is no quantifier, and "not all" has another meaning.
_NO_QUANTIFIER = re.compile(r"(?:the|its|his|her|their|at|not|of|a) $")
_RELATIONS = {
    "nominated for": ("awarded",),
    "appeared in": ("starred in", "directed"),
    "born in": ("raised in", "buried in", "educated in"),
    "released in": ("recorded in",),
    "played for": ("coached",),
    "studied at": ("taught at",),
    "worked for": ("founded",),
    "worked with": ("studied under",),
    "attended": ("taught at",),
    "located near": ("owned by",),
    "bordered by": ("named after",),
}
_RELATION = re.compile(rf"\b(?:{'|'.join(_RELATIONS)})\b")
#: Verbs whose subject and object cannot change places.
_ONE_WAY = re.compile(
    r"(?:^|\b(?:is|was|are|were) (?:[\w-]+ ){0,8})(?:"
    r"(?:directed|written|produced|composed|founded|developed|designed|created|painted|built"
    r"|established|published|released|recorded|acquired|owned|defeated|succeeded|killed"
    r"|discovered|invented|edited|narrated|commissioned|manufactured|operated) by"
    r"|directed|wrote|composed|founded|developed|designed|created|painted|acquired|defeated"
    r"|succeeded|discovered|invented|published|owns|operates|produces) $"
)


def negate(subject: str, predicate: str, rng: random.Random) -> Iterator[Edit]:
    """Yield the negation of a claim."""
    auxiliary = _COPULA.match(predicate) or _HAVE.match(predicate)
    if auxiliary:
        verb = auxiliary.group().strip()
        word = rng.choice(("not", "never")) if verb in ("was", "were") else "not"
        yield Edit(f"{subject} {verb} {word}{predicate[len(verb) :]}", "contradiction")
    elif not predicate.startswith(("never ", "not ")):
        yield Edit(f"{subject} never {predicate}", "contradiction")


def bound_values(text: str, rng: random.Random) -> Iterator[Edit]:
    """Yield claims in which a number or a year becomes a bound or a decade, true or false."""
    for match in _AMOUNT.finditer(text):
        value = int(match["number"].replace(",", ""))
        step = rng.randint(1, max(value // 2, 1))
        low, high = f"{value - step:,}", f"{value + step:,}"
        for words, label in (
            (f"at least {match['number']}", "entailment"),
            (f"more than {low}", "entailment"),
            (f"fewer than {high}", "entailment"),
            (f"more than {high}", "contradiction"),
            (f"fewer than {low}", "contradiction"),
        ):
            if value > step:
                yield Edit(_put(text, match.span("number"), words), label)
    for match in _YEAR.finditer(text):
        year = int(match["year"])
        before, after = year - rng.randint(1, 15), year + rng.randint(1, 15)
        decade = f"in the {year // 10 * 10}s"
        other = f"in the {(year // 10 + rng.choice((-2, -1, 1, 2))) * 10}s"
        for words, label in (
            (f"after {before}", "entailment"),
            (f"before {after}", "entailment"),
            (decade, "entailment"),
            (f"before {before}", "contradiction"),
            (f"after {after}", "contradiction"),
            (other, "contradiction"),
        ):
            yield Edit(_put(text, match.span(), words), label)


def change_quantifiers(text: str, rng: random.Random) -> Iterator[Edit]:
    """Yield claims with another quantifier or ordinal."""
    for match in _QUANTIFIER.finditer(text):
        if not _NO_QUANTIFIER.search(text[: match.start()]):
            for edit in _QUANTIFIERS[match.group()]:
                yield Edit(_put(text, match.span(), edit.text), edit.label)
    for match in _ORDINAL.finditer(text):
        other = rng.choice([word for word in _ORDINALS if word != match.group()])
        yield Edit(_put(text, match.span(), other), "contradiction")


def change_relation(text: str, rng: random.Random) -> Iterator[Edit]:
    """Yield claims that state another relation, of which the evidence says nothing."""
    for match in _RELATION.finditer(text):
        other = rng.choice(_RELATIONS[match.group()])
        yield Edit(_put(text, match.span(), other), "neutral")


def swap_roles(subject: str, before: str, name: str) -> Iterator[Edit]:
    """Yield the claim with subject and object exchanged, if its relation has a direction.

    Parameters
    ----------
    subject
        The subject of the claim.
    before
        The predicate up to the object.
    name
        The object.
    """
    if _ONE_WAY.search(before):
        yield Edit(f"{name} {before}{subject}", "contradiction")


def _put(text: str, span: tuple[int, int], words: str) -> str:
    return text[: span[0]] + words + text[span[1] :]
