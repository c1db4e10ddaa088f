"""Comparison of a claim with its evidence: what is compared, and when it decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from proofs.lexicons.values import WORDS
from proofs.logic import OPERATORS, NatOp
from proofs.logic.words import Quotation, stems, word_list
from proofs.verifier import Comparison, Reading, Sentence, Verifier, certain_of
from proofs.verifier.event_order import ordered_dates
from proofs.verifier.stated_values import Value, change, decide, duration
from proofs.verifier.statements import (
    HEDGES,
    Alignment,
    Clause,
    Item,
    align,
    are_antonyms,
    clauses,
    is_faithful,
    is_specific,
    read_clause,
    sentences,
)

ENTAILMENT, CONTRADICTION = "entailment", "contradiction"
_MAX_CHARACTERS = 1000  # of a claim
_MAX_ITEMS = 200  # of a clause: longer ones are lists
# Events that happen once to a subject, and properties of which it has one value.
_ONCE = word_list(WORDS["once"])
# Items of the evidence between the aligned ones, at most.
_MOST_INSERTED = {CONTRADICTION: 3, ENTAILMENT: 4}
# What lasts from one date to another lasts so long, without "for".
_LASTING = word_list("lasted lasts took takes continued ran runs")
_BE = word_list("is was are were been being be")
# Verbs of which subject and object do not change places.
_ONE_WAY = frozenset(stem for verb in WORDS["one-way"].split() for stem in stems(verb))
# Participles whose past tense is another word.
_PAST = dict(pair.split("/") for pair in WORDS["participles"].split())


@dataclass(frozen=True, slots=True)
class _Finding:
    label: str
    # the items of the claim and of the evidence that are compared
    claimed: Sequence[Item]
    stated: Sequence[Item]
    in_same_words: bool = False
    sentence: int = 0  # of what is stated
    later: tuple[Item, int] | None = None  # the other one of two dates, and its sentence


def compare(claim: str, evidence: Sequence[Sentence]) -> Comparison | None:
    """Return the values that decide a claim of one sentence.

    None where nothing decides, or where sentences disagree.
    """
    if len(claim) > _MAX_CHARACTERS or len(sentences(claim.strip())) != 1:
        return None
    asserted = read_clause(claim)
    if len(asserted.items) < 2 or asserted.tail[-1:] == ("?",):
        return None
    told = [
        (number, clause)
        for number, (title, text) in enumerate(evidence)
        for clause in clauses(title, text)
        if len(clause.items) <= _MAX_ITEMS
    ]
    found = [
        replace(finding, sentence=number)
        for number, clause in told
        if (finding := _by_clause(asserted, clause)) is not None
    ]
    for label, (first, number), later in ordered_dates(asserted, told):
        found.append(_Finding(label, asserted.items, [first], sentence=number, later=later))
    if len({finding.label for finding in found}) != 1:
        return None
    return _comparison(found[0], claim, evidence)


def _comparison(finding: _Finding, claim: str, evidence: Sequence[Sentence]) -> Comparison:
    def quoted(items: Sequence[Item], number: int) -> tuple[Quotation, str]:
        start, end, in_title = _place(items)
        title, text = evidence[number]
        words = (title if in_title else text)[start:end]
        return Quotation(title, number, start, end, in_title), words

    start, end, _ = _place(finding.claimed)
    claimed = claim[start:end]
    quotation, stated = quoted(finding.stated, finding.sentence)
    second = None
    if finding.later:
        item, number = finding.later
        second, words = quoted([item], number)
        stated += f" and {words}"
    if finding.in_same_words:
        reason = "The evidence says this in the same words."
    elif finding.label == CONTRADICTION:
        reason = f"The claim says {claimed}, the evidence says {stated}."
    elif claimed == stated:
        reason = f"The claim and the evidence both say {stated}."
    else:
        reason = f"The claim says {claimed}, which agrees with the evidence: {stated}."
    return Comparison(
        finding.label, claimed, stated, finding.sentence, reason, (start, end), quotation, second
    )


def _place(items: Iterable[Item]) -> tuple[int, int, bool]:
    """Return from where to where items stand, in the text unless all are of the title."""
    placed = list(items)
    in_text = [item for item in placed if not item.in_title]
    placed = in_text or placed
    return min(one.start for one in placed), max(one.end for one in placed), not in_text


def _by_clause(claim: Clause, clause: Clause) -> _Finding | None:
    finding = _by_words(claim, clause)
    if finding is None:
        active, stated = _active(claim), _active(clause)
        finding = _by_words(active, stated)
        exchanged = _with_roles_exchanged(active)
        if finding is None and exchanged is not None:
            other = _by_words(exchanged, stated)
            if other is not None and other.in_same_words:
                return _Finding(CONTRADICTION, claim.items, other.stated)
    for implied in _implied(claim, clause):
        finding = finding or _by_words(claim, implied)
    return finding


def _active(clause: Clause) -> Clause:
    """Return "A bought B" for "B was bought by A"."""
    items = clause.items
    for at in range(1, len(items) - 1):
        verb, given = items[at], items[at + 1]  # "was given 5 euros by"
        by = at + 1 + (given.value is not None and not given.preposition)
        if by == len(items) or items[by].preposition != "by" or items[by].date:
            continue
        if verb.value or _BE.isdisjoint(verb.before):
            continue
        if any(item.preposition or "," in item.before for item in items[1:at]):
            return clause
        past = _PAST.get(verb.norm, verb.norm)
        verb = replace(verb, norm=past, stems=stems(past), before=())
        agent = replace(items[by], before=tuple(one for one in items[by].before if one != "by"))
        end = _phrase_end(items, by + 1)
        moved = (agent, *items[by + 1 : end], verb, *items[:at], *items[at + 1 : by], *items[end:])
        return Clause(moved)
    return clause


def _with_roles_exchanged(clause: Clause) -> Clause | None:
    """Return an active clause with subject and object exchanged, or None if it may be as true.

    Only the verbs of a closed list do not allow both.
    """
    items = clause.items
    for at in range(1, len(items)):
        if not items[at].stems.isdisjoint(_ONE_WAY):
            end = _phrase_end(items, at + 1)
            if end == at + 1 or items[at + 1].preposition:
                return None
            return Clause((*items[at + 1 : end], items[at], *items[:at], *items[end:]))
    return None


def _phrase_end(items: Sequence[Item], at: int) -> int:
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


def _implied(claim: Clause, clause: Clause) -> Iterator[Clause]:
    """Yield what follows from a range of a clause, or from what has been "since" a date.

    "Ruled from 1900 to 1912" implies "ruled for 12 years", and "in 1905" if the claim says so;
    "rose from 4 to 6 percent" implies "rose to 6 percent" and "by 2 percentage points".
    """
    dates = [item for item in claim.items if item.date and item.preposition == "in"]
    claimed = dates[0].date if len(dates) == 1 else None
    for at, item in enumerate(clause.items):
        told: list[tuple[Value | None, str]] = []
        first, value = at, item.value
        if value and value.ends:
            lasts = at > 0 and clause.items[at - 1].norm in _LASTING
            told.append((duration(value), "" if lasts else "for"))
            if item.date is None:
                told += zip(value.ends, ("from", "to"), strict=True)
                told.append((change(value), "by"))
            elif claimed and value.possible.low < claimed.possible.low:
                within = claimed.possible.high < value.possible.high
                told.append((claimed if within else None, "in"))
        elif value and item.date and claimed and at > 1 and clause.items[at - 1].norm == "since":
            has = any({"has", "have"} & {*one.before} for one in clause.items[: at - 1])
            if has and claimed.possible.low[0] > value.possible.high[0]:
                first = at - 1
                told.append((claimed, "in"))
        start = clause.items[first].start
        for meant, preposition in told:
            if meant is not None:
                before = (*item.before, *preposition.split())
                new = replace(item, value=meant, before=before, start=start)
                yield replace(clause, items=(*clause.items[:first], new, *clause.items[at + 1 :]))


def _by_words(claim: Clause, clause: Clause) -> _Finding | None:
    plain_claim, claim_negations = _without_negations(claim)
    plain_clause, clause_negations = _without_negations(clause)
    if not plain_claim.items or not plain_clause.items:
        return None
    alignment = align(plain_claim, plain_clause)
    if alignment is None or not is_faithful(alignment):
        return None
    flipped = _flipped(alignment, claim_negations, clause_negations)
    if flipped is None:
        return None
    findings: list[_Finding] = []
    for place, (item, other) in enumerate(alignment.pairs):
        if item.value is not None and other.value is not None:
            finding = _by_value(alignment, place)
            if finding is None:
                return None
            findings.append(finding)
        elif are_antonyms(item, other):
            if place == 0:
                return None  # another subject
            findings.append(_Finding(CONTRADICTION, [item], [other]))
    if flipped:
        findings.append(_negated(alignment, claim_negations, clause_negations))
    against = [finding for finding in findings if finding.label == CONTRADICTION]
    if len(against) > 1:
        return None
    label = CONTRADICTION if against else ENTAILMENT
    if len(alignment.inserted) > _MOST_INSERTED[label]:
        return None
    if against:
        certain = flipped or is_specific(alignment) or _differ_in_one_item(alignment)
        return against[0] if certain else None
    if findings:
        return findings[0]
    # Where the words are all there is, they are of one and the same thing, and few stand between.
    named = alignment.claim.items[0].is_name
    if is_specific(alignment) and (named or len(alignment.inserted) < 2):
        stated = [other for _, other in alignment.pairs]
        return _Finding(ENTAILMENT, claim.items, stated, in_same_words=True)
    return None


def _differ_in_one_item(alignment: Alignment) -> bool:
    """Return whether a claim and a clause that begin with a value differ in no other word."""
    items = alignment.claim.items
    return (
        not alignment.unaligned
        and items[0].value is not None
        and any(item.is_name or "the" in item.before for item in items[1:])
    )


def _without_negations(clause: Clause) -> tuple[Clause, list[tuple[int, Item]]]:
    """Return a clause without negations, and these with the number of the item they precede."""
    kept: list[Item] = []
    negations: list[tuple[int, Item]] = []
    before: tuple[str, ...] = ()
    for item in clause.items:
        if item.is_negation:
            negations.append((len(kept), item))
            before += item.before
        else:
            kept.append(replace(item, before=before + item.before) if before else item)
            before = ()
    return replace(clause, items=tuple(kept)) if negations else clause, negations


def _flipped(
    alignment: Alignment, claim: list[tuple[int, Item]], clause: list[tuple[int, Item]]
) -> bool | None:
    """Return whether one of claim and clause negates what the other states, or None if unclear.

    A negated statement says nothing of the same with fewer words, so that no item may follow the
    negation of the clause that is not of the claim.
    """
    if not claim and not clause:
        return False
    if len(claim) > 1 or len(clause) > 1 or alignment.inserted:
        return None
    places = set(alignment.places)
    for at, _ in clause:
        if any(item not in places for item in range(at, len(alignment.clause.items))):
            return None
    # The item of the claim before which each negates.
    gaps = {at for at, _ in claim}
    others = {sum(place < at for place in alignment.places) for at, _ in clause}
    if gaps == others:
        return False
    if claim and clause:
        return None
    ((_, negation),) = claim or clause
    (gap,) = gaps or others
    # "No bird flew" is the opposite of "a bird flew"; other negations begin no statement.
    if gap == len(alignment.places) or (gap == 0 and negation.norm != "no"):
        return None
    return True


def _negated(
    alignment: Alignment, claim: list[tuple[int, Item]], clause: list[tuple[int, Item]]
) -> _Finding:
    ((at, negation),) = claim or clause
    places = alignment.places
    item, place = (at, places[at]) if claim else (places.index(at), at)
    claimed, stated = alignment.claim.items[item], alignment.clause.items[place]
    return _Finding(
        CONTRADICTION,
        [negation, claimed] if claim else [claimed],
        [stated] if claim else [negation, stated],
    )


def _by_value(alignment: Alignment, number: int) -> _Finding | None:
    item, other = alignment.pairs[number]
    if item.value is None or other.value is None:
        return None
    label = decide(item.value, other.value)
    if label is None or not _same_slot(alignment, number, item.value.kind):
        return None
    claimed = _phrase(alignment.claim.items, number)
    stated = _phrase(alignment.clause.items, alignment.places[number])
    if label == ENTAILMENT:
        return _Finding(ENTAILMENT, claimed, stated)
    # What the claim says may be said elsewhere in the sentence; a number belongs to its noun.
    if item.value.kind != "number" and any(
        rival.value is not None and decide(item.value, rival.value) == ENTAILMENT
        for rival in alignment.clause.items
    ):
        return None
    happens_once = any(word.norm in _ONCE for word in alignment.claim.items)
    if not happens_once and (
        alignment.inserted or _may_be_part(alignment, item.value, other.value)
    ):
        return None
    return _Finding(CONTRADICTION, claimed, stated)


def _may_be_part(alignment: Alignment, claimed: Value, stated: Value) -> bool:
    """Return whether a clause may count a part of what the claim counts: "two cups in Ghent"."""
    following = alignment.clause.items[alignment.places[-1] + 1 :]
    return any(item.preposition for item in following) and stated.point < claimed.point


def _same_slot(alignment: Alignment, number: int, kind: str) -> bool:
    """Return whether the words that two values belong to are the same.

    A number or a rank belongs to what follows it, other values to what precedes them.
    """
    claim, clause = alignment.claim.items, alignment.clause.items
    place = alignment.places[number]
    if kind == "rank" and alignment.places[-1] - place != len(claim) - 1 - number:
        return False  # the tallest of a town is not the tallest
    if kind not in ("number", "rank"):
        return number == 0 or place - alignment.places[number - 1] <= 3
    if _has_noun(claim, number):
        return alignment.places[number + 1] - place <= 1
    return not _has_noun(clause, place)


def _has_noun(items: Sequence[Item], at: int) -> bool:
    if at + 1 == len(items):
        return False
    following = items[at + 1]
    return following.value is None and not following.preposition and "," not in following.before


def _phrase(items: Sequence[Item], at: int) -> Sequence[Item]:
    """Return a value, or a rank with what is ranked."""
    value = items[at].value
    return items[at : at + 1 + (value is not None and value.kind == "rank")]


# Of 100 comparisons on training pairs, about so many agreed with the label.
_CERTAINTY = 0.96


class ExactVerifier:
    """Reads claims by a verifier, except where `compare` decides them.

    `verifier`: reads the claims that are not decided by comparison. Of a natural-logic reader, a
    comparison sets the operators, so that it decides through the proof.
    """

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier

    def read(self, claims: Sequence[str], evidences: Sequence[Sequence[Sentence]]) -> list[Reading]:
        """Return what the evidence of each claim does to it."""
        readings = self._verifier.read(claims, evidences)
        return [
            _decided(reading, compare(claim, evidence))
            for reading, claim, evidence in zip(readings, claims, evidences, strict=True)
        ]


def _decided(reading: Reading, comparison: Comparison | None) -> Reading:
    if comparison is None:
        return reading
    row = certain_of(comparison.label, _CERTAINTY)
    sentences = reading.sentences.copy()
    sentences[comparison.sentence] = row
    if reading.spans:
        reading = _with_operators(reading, comparison)
    return replace(reading, labels=row, sentences=sentences, comparisons=(comparison,))


def _with_operators(reading: Reading, comparison: Comparison) -> Reading:
    """Return a reading whose operators have the label of a comparison, and quote its values."""
    begin, end = comparison.claim_span
    touched = [at for at, (b, e) in enumerate(reading.spans) if b < end and begin < e]
    first, last = (touched[0], touched[-1]) if touched else (0, len(reading.spans) - 1)
    share = _CERTAINTY ** (1 / len(reading.spans))
    operators = np.full(reading.operators.shape, np.log((1 - share) / (len(OPERATORS) - 1)))
    quotes = [(same or comparison.quotation, other) for same, other in reading.quotes]
    quotes[first] = (comparison.quotation,) * 2
    if comparison.second is not None:
        quotes[last] = (comparison.second,) * 2
    decided = [NatOp.EQUIVALENCE] * len(reading.spans)
    if comparison.claimed != comparison.stated:
        at = first if comparison.second is None else last
        decided[at] = NatOp.ALTERNATION if comparison.label == CONTRADICTION else NatOp.FORWARD
    for row, operator in zip(operators, decided, strict=True):
        row[OPERATORS.index(operator)] = np.log(share)
    return replace(reading, operators=operators, quotes=tuple(quotes))
