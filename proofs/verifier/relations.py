"""Relations that are stated in more ways than one: roles, measures, kinship and order in time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from proofs.logic.words import stems, word_list
from proofs.verifier.stated_values import SPAN, Value, span_in_years
from proofs.verifier.statements import HEDGES, Clause, Item, align, is_faithful

_BE = word_list("is was are were been being be")
# Participles whose past tense is another word.
_PAST = dict(
    pair.split("/")
    for pair in word_list(
        """
    written/wrote taken/took given/gave seen/saw driven/drove eaten/ate known/knew drawn/drew
    shown/showed chosen/chose broken/broke stolen/stole sung/sang thrown/threw grown/grew
    overthrown/overthrew overtaken/overtook ridden/rode hidden/hid worn/wore torn/tore sunk/sank
    begun/began beaten/beat undertaken/undertook rewritten/rewrote
    """
    )
)
#: Verbs of which subject and object do not change places.
_ONE_WAY = frozenset(
    stem
    for verb in word_list(
        """
    bought acquired purchased sold defeated beat founded killed murdered assassinated succeeded
    preceded replaced conquered employed hired taught absorbed adopted arrested appointed created
    discovered invented wrote directed painted composed designed built owned owns contains orbits
    inherited published produced commissioned overthrew deposed executed mentored sponsored
    outlived fathered divorced funded recruited
    """
    )
    for stem in stems(verb)
)
# What a noun for a measure says of a value, as an adjective.
_MEASURES = {
    "population": "inhabitants",
    "height": "tall",
    "length": "long",
    "width": "wide",
    "depth": "deep",
}
_SAME_MEASURE = {"residents": "inhabitants", "high": "tall"}

# What lasts from one date to another lasts so long, without "for".
_LASTING = word_list("lasted lasts took takes continued ran runs")

_KIN = {
    noun: (group, direction, gender)
    for group, direction, nouns in (
        ("parent", 1, "father mother parent"),
        ("parent", -1, "son daughter child"),
        ("grandparent", 1, "grandfather grandmother grandparent"),
        ("grandparent", -1, "grandson granddaughter grandchild"),
        ("uncle", 1, "uncle aunt"),
        ("uncle", -1, "nephew niece"),
        ("sibling", 0, "brother sister sibling"),
        ("spouse", 0, "husband wife spouse"),
    )
    for noun, gender in zip(nouns.split(), "mfn", strict=False)
}


def canonical(clause: Clause) -> Clause:
    """Return a clause in the active voice, with earlier events first and measures as adjectives."""
    return _earlier_first(_compared(_active(_with_adjectives(clause))))


def with_roles_exchanged(clause: Clause) -> Clause | None:
    """Return an active clause with subject and object exchanged, or None if it may be as true.

    Only the verbs of a closed list, and "before", do not allow both.
    """
    items = clause.items
    for at, item in enumerate(items):
        if at > 0 and (not item.stems.isdisjoint(_ONE_WAY) or item.norm == "before"):
            end = _end_of_phrase(items, at + 1)
            verb = at - 1 if item.norm == "before" else at
            if end == at + 1 or verb <= 0 or items[at + 1].preposition:
                return None
            moved = (*items[at + 1 : end], *items[verb : at + 1], *items[:verb], *items[end:])
            return Clause(moved, tail=clause.tail)
    return None


def _with_adjectives(clause: Clause) -> Clause:
    items = list(clause.items)
    for at, item in enumerate(items):
        if item.norm in _SAME_MEASURE:
            items[at] = _word(item, _SAME_MEASURE[item.norm])
        following = items[at + 1] if at + 1 < len(items) else None
        if item.norm in _MEASURES and following is not None and following.before == ("of",):
            if following.value is None:
                continue
            items[at] = replace(following, before=item.before)
            items[at + 1] = replace(_word(item, _MEASURES[item.norm]), before=())
    return replace(clause, items=tuple(items))


def _word(item: Item, norm: str) -> Item:
    return replace(item, norm=norm, stems=stems(norm))


def _active(clause: Clause) -> Clause:
    """Return "A bought B" for "B was bought by A"."""
    items = clause.items
    for at in range(1, len(items) - 1):
        verb, agent = items[at], items[at + 1]
        if verb.value is not None or agent.preposition != "by" or _BE.isdisjoint(verb.before):
            continue
        if agent.value is not None and agent.value.kind == "date":
            continue
        if any(item.preposition or "," in item.before for item in items[1:at]):
            return clause
        end = _end_of_phrase(items, at + 2)
        without_by = tuple(word for word in agent.before if word != "by")
        past = _word(verb, _PAST.get(verb.norm, verb.norm))
        moved = (
            replace(agent, before=without_by),
            *items[at + 2 : end],
            replace(past, before=()),
            *items[:at],
            *items[end:],
        )
        return Clause(moved, tail=clause.tail)
    return clause


def _end_of_phrase(items: Sequence[Item], at: int) -> int:
    """Return where a noun phrase ends that has an item before `at`, or begins there."""
    end = at
    while end < len(items):
        words = items[end].before
        leaves = items[end].preposition not in ("", "of") or "," in words or "and" in words
        ends = items[end].norm in HEDGES or items[end].value is not None
        if leaves or (ends and end > at):
            break
        end += 1
    return end


def _compared(clause: Clause) -> Clause:
    """Return "A opened before B" for "A opened earlier than B".

    "A is older than B" becomes "A was born before B".
    """
    items = clause.items
    for at in range(1, len(items) - 2):
        order = {"older": "before", "younger": "after"}.get(items[at].norm)
        if order is not None and items[at + 1].norm == "than":
            born = replace(_word(items[at], "born"), text="born", before=("was",))
            compared = replace(_word(items[at], order), text=order, before=())
            return replace(clause, items=(*items[:at], born, compared, *items[at + 2 :]))
    for at in range(2, len(items) - 2):
        norm = {"earlier": "before", "later": "after"}.get(items[at].norm)
        if norm is not None and items[at + 1].norm == "than":
            compared = replace(_word(items[at], norm), text=f"{items[at].text} than")
            moved = (*items[:at], compared, *items[at + 2 :])
            return replace(clause, items=moved)
    return clause


def _earlier_first(clause: Clause) -> Clause:
    """Return "B came before A" for "A came after B"."""
    items = clause.items
    for at in range(2, len(items) - 1):
        if items[at].norm != "after":
            continue
        end = _end_of_phrase(items, at + 1)
        if end < len(items) or items[at + 1].preposition:
            return clause
        moved = (
            *items[at + 1 :],
            items[at - 1],
            _word(items[at], "before"),
            *items[: at - 1],
        )
        return Clause(moved, tail=clause.tail)
    return clause


@dataclass(frozen=True, slots=True)
class Kinship:
    """A statement of kinship: who is related to whom, and how."""

    group: str  # the relation, independent of direction: ``parent`` for fathers and daughters alike
    # 1 if the first person is the elder, -1 if the second is, 0 if the relation is mutual.
    direction: int
    gender: str  # that of the first person: ``m``, ``f``, or ``n`` if the noun does not tell
    first: frozenset[str]  # the stemmed names of a person, and those of each relative
    second: tuple[frozenset[str], ...]
    noun: str


def kinship(clause: Clause) -> Kinship | None:
    """Return the kinship that a clause states, as "A is the son of B" or "B's son is A"."""
    items = clause.items
    for at, item in enumerate(items):
        if item.norm not in _KIN:
            continue
        subject, described = _names(items, 0)
        if (
            subject is None
            or described > at
            or any(item.norm in HEDGES or item.is_negation for item in items)
        ):
            return None
        inner = items[described:at]
        if any(other.is_name or other.value is not None or other.preposition for other in inner):
            return None
        persons = list(_persons(items, at + 1))
        if not persons:
            return None
        group, direction, gender = _KIN[item.norm]
        linking = items[described].before
        if not _BE.isdisjoint(linking) and items[at + 1].preposition == "of":
            return Kinship(group, direction, gender, subject, tuple(persons), item.norm)
        if linking == ("'s",) and not _BE.isdisjoint(items[at + 1].before) and len(persons) == 1:
            return Kinship(group, direction, gender, persons[0], (subject,), item.norm)
        return None
    return None


def decide_kinship(claimed: Kinship, stated: Kinship) -> str | None:
    """Return what a stated kinship does to a claimed one between the same two persons, or None."""
    if len(claimed.second) != 1:
        return None
    first, second = claimed.first, claimed.second[0]
    for person in stated.second:
        pair = stated.first, person
        if _same_pair((first, second), pair):
            same_way = True
        elif _same_pair((second, first), pair):
            same_way = False
        else:
            continue
        if claimed.group != stated.group:
            return "contradiction"
        if claimed.direction != (stated.direction if same_way else -stated.direction):
            return "contradiction"
        if claimed.gender == "n":
            return "entailment"
        # The gender of the other person is not told: a son's parent is taken for the one claimed.
        if not same_way and claimed.group != "sibling":
            return "entailment"
        if not same_way or stated.gender == "n":
            return None
        return "entailment" if claimed.gender == stated.gender else "contradiction"
    return None


def _same_pair(
    claimed: tuple[frozenset[str], frozenset[str]], stated: tuple[frozenset[str], frozenset[str]]
) -> bool:
    return (
        _same_person(claimed[0], stated[0])
        and _same_person(claimed[1], stated[1])
        # A family name alone may be either of the two.
        and not _same_person(claimed[0], stated[1])
        and not _same_person(claimed[1], stated[0])
    )


def _same_person(first: frozenset[str], second: frozenset[str]) -> bool:
    return first <= second or second <= first


def _names(items: Sequence[Item], at: int) -> tuple[frozenset[str] | None, int]:
    end = at
    while end < len(items) and items[end].is_name and (end == at or not items[end].before):
        end += 1
    return (frozenset().union(*(item.stems for item in items[at:end])) or None), end


def _persons(items: Sequence[Item], at: int) -> Iterator[frozenset[str]]:
    while at < len(items):
        begin = at
        while at < len(items) and not items[at].is_name:
            if items[at].value or at > begin + 1 or (at > begin and items[at].preposition):
                return
            at += 1
        name, end = _names(items, at)
        if name is None:
            return
        yield name
        if end == len(items) or items[end].before[:1] != ("and",):
            return
        at = end


def spans(clause: Clause) -> Clause | None:
    """Return a clause with its range of dates as a duration, or None if it has none.

    "Ruled from 1900 to 1912" becomes "ruled for 12 years", and "lasted from" "lasted 12 years".
    """
    for at, item in enumerate(clause.items):
        if item.value is not None and item.value.kind == "date" and item.value.bounded:
            duration = span_in_years(item.value)
            if duration is None or item.value.unit != SPAN:
                return None
            lasts = at > 0 and clause.items[at - 1].norm in _LASTING
            lead = item.before if lasts else (*item.before, "for")
            told = replace(item, value=duration, before=lead)
            return replace(clause, items=(*clause.items[:at], told, *clause.items[at + 1 :]))
    return None


def going_on(clause: Clause, claim: Clause) -> Clause | None:
    """Return a clause with the date of a claim, if what it states still held then, or None.

    "Has had a mayor since 1832" is true of 1900.
    """
    dates = [item for item in claim.items if item.value is not None and item.value.kind == "date"]
    if len(dates) != 1 or dates[0].preposition != "in":
        return None
    for at in range(1, len(clause.items) - 1):
        since, item = clause.items[at : at + 2]
        if since.norm != "since" or item.value is None or item.value.kind != "date":
            continue
        lasts = any({"has", "have"} & {*other.before} for other in clause.items[:at])
        claimed = dates[0].value
        if not lasts or claimed is None or claimed.possible.low[0] <= item.value.possible.high[0]:
            return None
        then = replace(item, value=claimed, text=f"since {item.text}", before=("in",))
        return replace(clause, items=(*clause.items[:at], then, *clause.items[at + 2 :]))
    return None


def date_of(event: Sequence[Item], clauses: Iterable[Clause]) -> tuple[str, Value] | None:
    """Return the date that clauses give an event, as written and its value.

    None if they give no date, or more than one.
    """
    found: list[tuple[str, Value]] = []
    for clause in clauses:
        for part in _parts(clause):
            aligned = align(Clause(tuple(event)), part)
            if aligned is None or aligned.inserted or not is_faithful(aligned):
                continue
            following = part.items[aligned.places[-1] + 1 :]
            for place, item in enumerate(following[:3]):
                if item.value is not None and item.value.kind == "date":
                    if item.preposition in ("in", "") and (place == 0 or following[0].preposition):
                        found.append((item.text, item.value))
                    break
    different = {value.possible for _, value in found}
    return found[0] if len(different) == 1 else None


def _parts(clause: Clause) -> Iterator[Clause]:
    """Yield a clause, or the statements that it joins by "and", "while" or a comma.

    A statement without a subject has that of the first: "She was born in 1900 and died in 1950".
    """
    begin = 0
    subject = clause.items[: clause.subject_end]
    for at in range(1, len(clause.items) + 1):
        joined = at == len(clause.items) or {"and", "but", "whereas"} & {*clause.items[at].before}
        if not joined and clause.items[at].norm != "while":
            continue
        items = clause.items[begin:at]
        if begin and items and items[0].norm == "while":
            items = items[1:]
        if begin and items:
            lead = tuple(word for word in items[0].before if word not in ("and", "but", ","))
            items = (replace(items[0], before=lead), *items[1:])
            starts = "the" in lead or items[0].is_name
            if not starts and subject:
                yield Clause((*subject, *items), subject_end=len(subject))
                begin = at
                continue
        yield Clause(items, subject_end=clause.subject_end if begin == 0 else 0)
        begin = at
