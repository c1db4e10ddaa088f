"""The order of two events, by the dates that evidence gives them: "A was born before B"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proofs.logic.words import stems, word_list
from proofs.verifier.stated_values import decide
from proofs.verifier.statements import HEDGES, Clause, Item

_ORDERS = word_list("before after earlier later older younger")
# What makes one thing older than another.
_ORIGINS = ("born", "opened", "founded", "established", "built", "completed")
_OWNERS = word_list("his her their its whose 's")

_Event = tuple[Sequence[Item], str]  # a subject, and what becomes of it
_Dated = tuple[Item, int]  # a date, and the number of its sentence


def ordered_dates(
    claim: Clause, told: Sequence[tuple[int, Clause]]
) -> Iterator[tuple[str, _Dated, _Dated]]:
    """Yield the dates of two events of which a claim says that the first came before the second.

    They follow the label that they decide. `told`: clauses with the numbers of their sentences.
    """
    for events in _ordered_events(claim):
        first, second = (_date_of(event, told) for event in events)
        if first and second and first[0].date and second[0].date:
            one, other = first[0].date.possible, second[0].date.possible
            if one.high < other.low:
                yield "entailment", first, second
            elif one.low > other.high:
                yield "contradiction", first, second


def _ordered_events(claim: Clause) -> list[tuple[_Event, _Event]]:
    """Return the events of a claim; where it leaves open what they are, each pair is a reading."""
    items = claim.items
    if any(item.is_negation or item.value for item in items):
        return []
    for at, item in enumerate(items[2:-1], 2):
        if item.norm not in _ORDERS:
            continue
        is_compared = items[at + 1].norm == "than"
        subject, other = items[:at], items[at + 1 + is_compared :]
        pairs: list[tuple[_Event, _Event]] = []
        if item.norm in ("older", "younger"):
            pairs = [((subject, verb), (other, verb)) for verb in _ORIGINS if is_compared]
        elif not subject[-1].is_name:
            verb = subject[-1].norm
            pairs = [((subject[:-1], verb), (other, verb))]
            if not is_compared and not other[-1].is_name:
                pairs.append(((subject[:-1], verb), (other[:-1], other[-1].norm)))
        is_later = item.norm in ("after", "later", "younger")
        pairs = [(two, one) if is_later else (one, two) for one, two in pairs]
        return [(one, two) for one, two in pairs if one[0] and two[0]]
    return []


def _named(subject: Sequence[Item]) -> Sequence[Item]:
    """Return the name in "the tennis player Ada Quill", and other subjects as they are."""
    first = next((at for at, item in enumerate(subject) if item.is_name), 0)
    return subject if subject[first].before else subject[first:]


def _date_of(event: _Event, told: Sequence[tuple[int, Clause]]) -> _Dated | None:
    """Return the date that clauses give an event, or None if they give none or several."""
    found = [(item, number) for number, clause in told for item in _dates_in(event, clause)]
    values = [item.date for item, _ in found if item.date]
    agree = all(decide(one, other) != "contradiction" for one in values for other in values)
    return found[0] if found and agree else None


def _dates_in(event: _Event, clause: Clause) -> Iterator[Item]:
    subject, items, known = _named(event[0]), clause.items, stems(event[1])
    for begin in range(len(items)):
        end = _end_of(subject, clause, begin)
        for at in range(end, len(items) if end else 0):
            item, between = items[at], items[end:at]
            if not _OWNERS.isdisjoint(item.before) or item.norm in HEDGES or item.is_negation:
                break
            if item.stems.isdisjoint(known):
                continue
            if not between or "and" in item.before or _is_description(between):
                yield from _date_after(items[at + 1 :])
            break


def _date_after(items: Sequence[Item]) -> Iterator[Item]:
    """Yield the date of "born in Buenos Aires on 26 August 1973", without what it begins with."""
    for item in items[:5]:
        if item.date:
            if item.date.sure and not item.date.bounded and item.preposition in ("in", ""):
                yield item
            return
        if not (item.preposition or item.is_name) or "and" in item.before:
            return


def _end_of(subject: Sequence[Item], clause: Clause, begin: int) -> int:
    """Return where a subject ends that begins at an item, or 0 if another one begins there."""
    items, length = clause.items, len(subject)
    if begin == 0 and clause.subject_end:
        known = frozenset().union(*(item.stems for item in items[: clause.subject_end]))
        return clause.subject_end if all(item.stems <= known for item in subject) else 0
    starts = begin == 0 or {"and", "but", ","} & {*items[begin].before}
    if not starts and items[begin - 1].norm != "while":
        return 0
    same = [one.norm for one in items[begin : begin + length]] == [one.norm for one in subject]
    return begin + length if same else 0


def _is_description(items: Sequence[Item]) -> bool:
    """Return whether items say what a subject is: "an American actor"."""
    is_named = any(item.is_name and item.preposition in ("of", "to", "by") for item in items)
    return bool({"a", "an"} & {*items[0].before}) and not is_named
