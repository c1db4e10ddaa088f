"""Alignment of a claim with a clause of evidence, item by item and in order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from proofs.logic.words import word_list
from proofs.verifier.exact.statements import PRONOUNS, Clause, Item

#: Words after which a sentence no longer states a fact, or states it only of a part.
HEDGES = word_list(
    """
    planned plan plans planning could can may might should would will claimed claims alleged
    allegedly alleging reportedly reported rumoured rumored rumors supposedly possibly probably
    perhaps likely unlikely believed believes thought expected estimated intended attempted tried
    tries failed fails refused refuses denied denies if unless whether almost nearly hardly barely
    except said says according scheduled proposed proposal considered suspected hoped wanted wants
    until only predicted forecast uncertain disputed unclear seems appeared appears apparently
    anticipated announced potential potentially so-called purported purportedly projected aims
    upcoming initially originally instead rather unsuccessful unsuccessfully candidate cancelled
    canceled fictional fictionalized nominated nomination nominations nominee former formerly ex
    previously usually often sometimes rarely partly partially mostly most few some many all any
    both each every half another other than unlike despite although though too aged false falsely
    mistakenly wrongly threatened offered about nominally co additional additionally further more
    yet first-ever once same such no less fewer over under out off
    """
)
_ANTONYM_PAIRS = """
    won/lost win/lose winning/losing victory/defeat victories/defeats defeated/lost
    north/south east/west northern/southern eastern/western northeast/southwest northwest/southeast
    northeastern/southwestern northwestern/southeastern northernmost/southernmost
    easternmost/westernmost above/below before/after
    married/unmarried married/single alive/dead living/dead living/deceased alive/deceased
    male/female king/queen actor/actress
    largest/smallest biggest/smallest longest/shortest highest/lowest oldest/youngest
    tallest/shortest best/worst most/least first/last fastest/slowest earliest/latest
    heaviest/lightest richest/poorest hottest/coldest deepest/shallowest oldest/newest
    larger/smaller bigger/smaller longer/shorter higher/lower older/younger taller/shorter
    better/worse faster/slower earlier/later heavier/lighter richer/poorer more/fewer more/less
    increased/decreased increase/decrease increases/decreases rose/fell rise/fall rises/falls
    grew/shrank gained/lost accepted/rejected accepted/refused approved/rejected passed/rejected
    passed/failed succeeded/failed success/failure successful/unsuccessful
    legal/illegal guilty/innocent convicted/acquitted public/private permanent/temporary
    opened/closed open/closed started/ended began/ended beginning/end
    arrived/departed entered/left
    present/absent true/false possible/impossible male/female left/right upper/lower inner/outer
    top/bottom major/minor maximum/minimum positive/negative domestic/foreign
    fiction/nonfiction fictional/real amateur/professional vegetarian/carnivorous
    poisonous/harmless edible/inedible active/extinct active/inactive extinct/living
    urban/rural even/odd vertical/horizontal ancient/modern
    liked/disliked loved/hated allowed/forbidden allowed/banned permitted/forbidden
    permitted/prohibited included/excluded
    import/export imports/exports bought/sold lent/borrowed ally/enemy allies/enemies
    ascending/descending asleep/awake sleeping/awake indoors/outdoors inside/outside
    indoor/outdoor empty/full wet/dry hot/cold dark/light
    supported/opposed supports/opposes support/oppose
    majority/minority solid/liquid nocturnal/diurnal mortal/immortal
    mother/father brother/sister son/daughter husband/wife uncle/aunt nephew/niece
    grandfather/grandmother grandson/granddaughter
"""
_ANTONYMS = frozenset(
    pair
    for first, second in (entry.split("/") for entry in _ANTONYM_PAIRS.split())
    for pair in ((first, second), (second, first))
)
# Between two aligned items, these begin another statement.
_BOUNDARIES = word_list(
    ", : and or but who which that whose where when – — - while nor \" “ ” ' than"
)
_ALTERNATIVES = word_list("or either")
_CHAINED = word_list("of to by")
_MAX_CELLS = 4096


@dataclass(frozen=True, slots=True)
class Alignment:
    """The items of a clause that the items of a claim are aligned with."""

    claim: Clause
    clause: Clause
    places: tuple[int, ...]  # the item of the clause for each item of the claim, increasing

    @property
    def pairs(self) -> list[tuple[Item, Item]]:
        """The items of the claim with those of the clause."""
        return [
            (item, self.clause.items[place])
            for item, place in zip(self.claim.items, self.places, strict=True)
        ]

    @property
    def inserted(self) -> list[Item]:
        """The items of the clause between aligned ones that are not aligned."""
        first = max(self.places[0], self.clause.subject_end)
        taken = set(self.places)
        return [self.clause.items[at] for at in range(first, self.places[-1]) if at not in taken]

    @property
    def unaligned(self) -> list[Item]:
        """All items of the clause that are not aligned."""
        taken = set(self.places)
        return [item for at, item in enumerate(self.clause.items) if at not in taken]


def align(claim: Clause, clause: Clause) -> Alignment | None:
    """Return the alignment of all items of a claim with the fewest items between, or None.

    Values are aligned with values of their kind, and words with words of the same stem or with
    their antonyms.
    """
    candidates: list[list[int]] = []
    for item in claim.items:
        places = [at for at, other in enumerate(clause.items) if _comparable(item, other)]
        if not places:
            return None
        candidates.append(places)
    if not candidates or sum(map(len, candidates)) > _MAX_CELLS:
        return None
    # Cheapest alignment that ends at each place: its cost and its places.
    best: dict[int, tuple[float, tuple[int, ...]]] = {
        at: (_change(claim.items[0], clause.items[at]), (at,)) for at in candidates[0]
    }
    for item, places in zip(claim.items[1:], candidates[1:], strict=True):
        following: dict[int, tuple[float, tuple[int, ...]]] = {}
        for at in places:
            cost, path = min(
                ((cost + at - end, path) for end, (cost, path) in best.items() if end < at),
                default=(math.inf, ()),
            )
            if path:
                following[at] = (cost + _change(item, clause.items[at]), (*path, at))
        best = following
        if not best:
            return None
    return Alignment(claim, clause, min(best.values())[1])


def is_specific(alignment: Alignment) -> bool:
    """Return whether claim and clause begin with one and the same thing: a name, or "the" one."""
    item, other = alignment.pairs[0]
    if alignment.places[0] < alignment.clause.subject_end:
        return True
    definite = "the" in item.before and "the" in other.before
    named = item.is_name and other.is_name and not {"a", "an"} & {*item.before, *other.before}
    return definite or named


def are_antonyms(first: Item, second: Item) -> bool:
    """Return whether two words are listed as opposites."""
    return (first.norm, second.norm) in _ANTONYMS


def is_faithful(alignment: Alignment) -> bool:
    """Return whether the clause states of its subject what the claim states of it.

    The subject leads both, the prepositions agree, nothing hedges, and no statement about something
    else begins between aligned items.
    """
    return (
        _same_subject(alignment)
        and _same_roles(alignment)
        and not any(item.norm in HEDGES for item in alignment.unaligned)
        and not any(item.norm in HEDGES - {"only"} for item in alignment.claim.items)
        and _words_before(alignment.clause.items, _ALTERNATIVES)
        == _words_before(alignment.claim.items, _ALTERNATIVES)
        and _same_pronouns(alignment)
        and alignment.clause.tail[-1:] != ("?",)
    )


def _comparable(item: Item, other: Item) -> bool:
    if item.value is not None or other.value is not None:
        return (
            item.value is not None
            and other.value is not None
            and item.value.kind == other.value.kind
        )
    if item.norm != other.norm and _is_agent(item) != _is_agent(other):
        return False
    return not item.stems.isdisjoint(other.stems) or are_antonyms(item, other)


def _is_agent(item: Item) -> bool:
    # Stems do not tell research from researchers.
    return item.norm.endswith(("er", "ers", "or", "ors"))


def _change(item: Item, other: Item) -> float:
    """Return a cost below that of an inserted item for words that are not the same."""
    return 0.0 if item.norm == other.norm else 0.3


def _words_before(items: Iterable[Item], words: frozenset[str]) -> list[str]:
    return [word for item in items for word in item.before if word in words]


def _same_pronouns(alignment: Alignment) -> bool:
    pairs = alignment.pairs
    claimed = _words_before((item for item, _ in pairs), PRONOUNS)
    return claimed == _words_before((other for _, other in pairs), PRONOUNS)


def _same_subject(alignment: Alignment) -> bool:
    first, clause = alignment.places[0], alignment.clause
    if first <= clause.subject_end:
        # Of a subject that the title names, the claim may leave out the first words or the last,
        # but something of it must be there.
        return first < max(clause.subject_end, 1)
    # "In May 1990, the mayor resigned": what comes before the subject ends with a comma.
    introduction = clause.items[:first]
    return (
        clause.subject_end == 0
        and "," in clause.items[first].before
        and bool(introduction[0].preposition)
    )


def _same_roles(alignment: Alignment) -> bool:
    claim, clause, places = alignment.claim.items, alignment.clause.items, alignment.places
    for number in range(1, len(places)):
        item, place, previous = claim[number], places[number], places[number - 1]
        if place < alignment.clause.subject_end:
            continue
        between = clause[max(previous + 1, alignment.clause.subject_end) : place]
        first = clause[previous + 1]
        if between and not first.before and not _is_apart(claim[number], first, clause[previous]):
            return False  # "a film critic" is no film
        if any("'s" in other.before for other in between):
            return False  # "the king's brother" is not the king
        if item.preposition in _CHAINED and any(
            other.preposition == item.preposition for other in between
        ):
            return False  # "the source of the river" is not the river
        if not _same_preposition(item, clause, place, previous):
            return False
        after_subject = number == 1 or previous < alignment.clause.subject_end
        if not _is_one_statement(item, between, clause[place], after_subject=after_subject):
            return False
    last = places[-1] + 1
    ends_with_noun = last < len(clause) and clause[places[-1]].value is clause[last].value is None
    return not (ends_with_noun and not clause[last].before and not _is_adverb(clause[last]))


def _is_apart(item: Item, inserted: Item, previous: Item) -> bool:
    return not item.before or _is_adverb(inserted) or previous.value is not None


def _is_adverb(item: Item) -> bool:
    return item.norm.endswith("ly") or item.norm in ("worldwide", "together")


def _same_preposition(item: Item, clause: Sequence[Item], place: int, previous: int) -> bool:
    claimed, stated = item.preposition, _preposition(clause, place, previous)
    if claimed == stated:
        return True
    value, other = item.value, clause[place].value
    if value is not None and other is not None and value.kind == "date":
        # "Born May 5", "born on 5 May"; a bound has taken its preposition.
        return {claimed, stated} <= {"", "in"}
    has, having = {"has", "have", "had"} & {*item.before}, {"with"}
    return claimed == "" and bool(has) and stated in having


def _preposition(items: Sequence[Item], place: int, previous: int) -> str:
    """Return the preposition of an item, which may stand before the words that describe it."""
    for at in range(place, previous, -1):
        if items[at].before:
            return items[at].preposition
    return ""


def _is_one_statement(
    item: Item, between: Sequence[Item], aligned: Item, *, after_subject: bool
) -> bool:
    passed = {word for other in (*between, aligned) for word in other.before} & _BOUNDARIES
    passed -= set(item.before)
    if not passed:
        return True
    if not after_subject or aligned.value is not None or aligned.is_name:
        return False
    # "Ada was born in London and died", "Ada is a painter who won"
    leading = aligned.before[:1]
    names = any(other.is_name for other in between)
    if passed <= {"and"}:
        return leading == ("and",)
    relative = {"who", "which", "that"}
    return passed <= relative and not names and relative.issuperset(leading) and bool(leading)
