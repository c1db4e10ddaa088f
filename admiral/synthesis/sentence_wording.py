"""Wording of a claim: statements as one sentence, with descriptions in place of names."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from admiral.synthesis.clauses import clause_ends, join_parts, to_sentence, word_count
from admiral.synthesis.descriptions import Description
from admiral.synthesis.english_words import IRREGULAR_PASTS, UNCHANGED_PARTICIPLE
from admiral.synthesis.profiles import Profile, Statement
from admiral.synthesis.slots import Slot

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

    Parameters
    ----------
    root
        The document that the claim starts from.
    chosen
        One or two (statement, slot, description) of the root.
    rng
        Random generator for the choices.
    quoted
        Whether descriptions are quotations, so that the statement is kept as it is.
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
            parts += [
                second_statement.predicate[: second_slot.start],
                second_description.text,
            ]
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
