"""Comparison of a claim with its evidence: what is compared, and when it decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from proofs.logic.words import word_list
from proofs.verifier import Comparison, Reading, Sentence, Verifier, certain_of
from proofs.verifier.relations import (
    Kinship,
    canonical,
    date_of,
    decide_kinship,
    going_on,
    kinship,
    spans,
    with_roles_exchanged,
)
from proofs.verifier.stated_values import Value, decide
from proofs.verifier.statements import (
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
_MAX_CHARACTERS = 1000
# Events that happen once to a subject, and properties of which it has one value.
_ONCE = word_list(
    """
    born died founded established formed created released published premiered opened built completed
    constructed launched discovered invented debuted introduced incorporated aired broadcast built
    population inhabitants residents height length area depth elevation altitude weight duration
    distance age diameter width founded ended began started birth death crowned assassinated
    executed killed buried erected commissioned inaugurated abolished dissolved signed ratified
    """
)
# What is computed from dates need not be said in these words.
_COMPUTED = word_list("before after earlier later")
# Items of the evidence between the aligned ones, at most.
_MOST_INSERTED = {CONTRADICTION: 3, ENTAILMENT: 4}


def compare(claim: str, evidence: Sequence[Sentence]) -> Comparison | None:
    """Return the values that decide a claim of one sentence.

    None where nothing decides, or where sentences disagree.
    """
    if len(claim) > _MAX_CHARACTERS or len(sentences(claim.strip())) != 1:
        return None
    asserted = read_clause(claim.strip())
    if len(asserted.items) < 2 or asserted.tail[-1:] == ("?",):
        return None
    found: dict[int, list[Clause]] = {}
    active = canonical(asserted)
    # Each of two events may be told alone.
    statements = [asserted, *map(Clause, _ordered_events(active) or ())]
    for number, (title, text) in enumerate(evidence):
        if any(_may_decide(statement, title, text) for statement in statements):
            found[number] = list(clauses(title, text))
    best: Comparison | None = None
    for number, finding in _findings(asserted, active, found):
        if best is not None and best.label != finding.label:
            return None
        best = best or replace(finding, sentence=number)
    return best


def _ordered_events(active: Clause) -> tuple[tuple[Item, ...], tuple[Item, ...]] | None:
    """Return the events of a canonical clause that says that one came before the other."""
    items = active.items
    at = next((at for at, item in enumerate(items) if item.norm == "before"), 0)
    return (items[:at], items[at + 1 :]) if 2 <= at < len(items) - 1 else None


def _findings(
    claim: Clause, active: Clause, found: dict[int, list[Clause]]
) -> Iterator[tuple[int, Comparison]]:
    exchanged = with_roles_exchanged(active)
    kin = kinship(claim)
    for number, parts in found.items():
        for clause in parts:
            finding = _by_words(claim, clause)
            if finding is None:
                stated = canonical(clause)
                finding = _by_words(active, stated)
                if finding is None and exchanged is not None:
                    finding = _by_roles(active, exchanged, stated)
            if finding is None and kin is not None:
                finding = _by_kinship(kin, clause)
            for implied in (spans(clause), going_on(clause, claim)):
                if finding is None and implied is not None:
                    finding = _by_words(claim, implied)
            if finding is not None:
                yield number, finding
    every = [clause for parts in found.values() for clause in parts]
    finding = _by_dates(active, every)
    if finding is not None:
        yield min(found), finding


def _by_roles(claim: Clause, exchanged: Clause, clause: Clause) -> Comparison | None:
    finding = _by_words(exchanged, clause)
    if finding is None or finding.label != ENTAILMENT:
        return None
    return _different(_text(claim.items), _text(exchanged.items))


def _by_kinship(claimed: Kinship, clause: Clause) -> Comparison | None:
    stated = kinship(clause)
    label = decide_kinship(claimed, stated) if stated is not None else None
    if stated is None or label is None:
        return None
    words = f"{claimed.noun}", f"{stated.noun}"
    return _equal(*words) if label == ENTAILMENT else _different(*words)


def _by_dates(claim: Clause, stated: Sequence[Clause]) -> Comparison | None:
    events = _ordered_events(claim)
    if events is None or any(item.is_negation or item.value for item in claim.items):
        return None
    first, second = events
    earlier = date_of(first, stated)
    later = date_of(second, stated) or date_of((*second, first[-1]), stated)
    if earlier is None or later is None:
        return None
    claimed, dates = _text(claim.items), f"{earlier[0]} and {later[0]}"
    if earlier[1].possible.high < later[1].possible.low:
        return _equal(claimed, dates)
    if earlier[1].possible.low > later[1].possible.high:
        return _different(claimed, dates)
    return None


def _text(items: Iterable[Item]) -> str:
    return " ".join(item.text for item in items)


def _may_decide(claim: Clause, title: str, text: str) -> bool:
    """Return whether a text has the first letters of all words of a claim but one."""
    letters = f"{title} {text}".casefold()
    missing = sum(
        item.value is None
        and not item.is_negation
        and item.norm not in _COMPUTED
        and item.norm[:4] not in letters
        for item in claim.items
    )
    return missing <= 1


def _by_words(claim: Clause, clause: Clause) -> Comparison | None:
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
    findings: list[Comparison] = []
    for place, (item, other) in enumerate(alignment.pairs):
        if item.value is not None and other.value is not None:
            finding = _by_value(alignment, place)
            if finding is None:
                return None
            findings.append(finding)
        elif are_antonyms(item, other):
            if place == 0:
                return None  # another subject
            findings.append(_different(item.text, other.text))
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
        return _same_words(alignment)
    return None


def _differ_in_one_item(alignment: Alignment) -> bool:
    """Return whether a claim and a clause that begin with a value differ in no other word."""
    items = alignment.claim.items
    return (
        not alignment.unaligned
        and items[0].value is not None
        and any(item.is_name or "the" in item.before for item in items[1:])
    )


def _without_negations(clause: Clause) -> tuple[Clause, list[tuple[int, str]]]:
    kept: list[Item] = []
    negations: list[tuple[int, str]] = []
    before: tuple[str, ...] = ()
    for item in clause.items:
        if item.is_negation:
            negations.append((len(kept), item.text))
            before += item.before
        else:
            kept.append(replace(item, before=before + item.before) if before else item)
            before = ()
    return replace(clause, items=tuple(kept)) if negations else clause, negations


def _flipped(
    alignment: Alignment, claim: list[tuple[int, str]], clause: list[tuple[int, str]]
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
    if gap == len(alignment.places) or (gap == 0 and negation.lower() != "no"):
        return None
    return True


def _negated(
    alignment: Alignment, claim: list[tuple[int, str]], clause: list[tuple[int, str]]
) -> Comparison:
    if claim:
        ((at, negation),) = claim
        words = alignment.claim.items[at].text
        stated = alignment.clause.items[alignment.places[at]].text
        return _different(f"{negation} {words}", stated)
    ((at, negation),) = clause
    words = alignment.clause.items[at].text
    claimed = alignment.claim.items[alignment.places.index(at)].text
    return _different(claimed, f"{negation} {words}")


def _by_value(alignment: Alignment, number: int) -> Comparison | None:
    item, other = alignment.pairs[number]
    if item.value is None or other.value is None:
        return None
    label = decide(item.value, other.value)
    if label is None or not _same_slot(alignment, number, item.value.kind):
        return None
    claimed = _phrase(alignment.claim, number)
    stated = _phrase(alignment.clause, alignment.places[number])
    if label == ENTAILMENT:
        return _equal(claimed, stated)
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
    return _different(claimed, stated)


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


def _phrase(clause: Clause, at: int) -> str:
    item = clause.items[at]
    if item.value is not None and item.value.kind == "rank" and at + 1 < len(clause.items):
        following = clause.items[at + 1].text
        return following if following == item.text else f"{item.text} {following}"
    return item.text


def _equal(claimed: str, stated: str) -> Comparison:
    reason = (
        f"The claim and the evidence both say {stated}."
        if claimed == stated
        else f"The claim says {claimed}, which agrees with the evidence: {stated}."
    )
    return Comparison(ENTAILMENT, claimed, stated, 0, reason)


def _different(claimed: str, stated: str) -> Comparison:
    reason = f"The claim says {claimed}, the evidence says {stated}."
    return Comparison(CONTRADICTION, claimed, stated, 0, reason)


def _same_words(alignment: Alignment) -> Comparison:
    claimed = " ".join(item.text for item in alignment.claim.items)
    stated = " ".join(other.text for _, other in alignment.pairs)
    return Comparison(ENTAILMENT, claimed, stated, 0, "The evidence says this in the same words.")


# Of 100 comparisons on training pairs, about so many agreed with the label.
_CERTAINTY = 0.96


class ExactVerifier:
    """Reads claims by a verifier, except where `compare` decides them.

    `verifier`: reads the claims that are not decided by comparison.
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
    return replace(reading, labels=row, sentences=sentences, comparisons=(comparison,))
