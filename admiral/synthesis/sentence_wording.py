"""The wording of a claim: statements as sentences, with descriptions where names stood."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from admiral.synthesis.clauses import joined, piece_ends, sentence, words
from admiral.synthesis.descriptions import Description
from admiral.synthesis.english_words import PASTS, REGULAR
from admiral.synthesis.profiles import Profile, Statement
from admiral.synthesis.slots import Slot

# Shares of claims that begin with the description, keep what stands before the subject, and what
# stands behind the description.
_TURNED, _LEAD, _TAIL = 0.35, 0.6, 0.5
_STATEMENT_WORDS = 26
_BY = re.compile(r"(?P<before>.*?\b)(?P<verb>[a-z]+) by $")
# What stands before "directed by" where it only says what the root is.
_KIND = re.compile(r"(?:is|was) an? (?P<kind>(?:[\w-]+ ){1,5})")
_WHERE = re.compile(
    r"(?P<before>(?:is|was|are|were)(?: [a-z]+ly)? (?:born|located|held|situated|filmed|set|raised"
    r"|based|founded|built|buried|established|played)|took place|takes place|died|lives|lived"
    r"|grew up|began) (?:in|at) $"
)


def clause_text(
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
