"""Splitting of English sentences into clauses whose removal leaves a complete, true sentence."""

from __future__ import annotations

import re
from functools import lru_cache


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Verbs that a predicate may begin with, in addition to regular past tenses.
VERBS = _words(
    """
    is was are were has had became won wrote made led ran sang played plays stars features contains
    includes lies stands took takes held holds grew rose fell built drew met began begins spent left
    taught fought broke gave came went sold owns lives works serves hosts runs leads forms belongs
    covers borders connects appears focuses follows tells consists comprises received
    deals shares represents provides operates produces offers broadcasts competes remains writes
    """
)
#: Adverbs that may precede the verb.
ADVERBS = _words(
    "later currently originally first subsequently previously now once still primarily mainly "
    "formerly eventually soon initially best also then officially usually often mostly"
)
PERSONS = _words(
    """
    actor actress artist author baron bishop boxer businessman businesswoman chef coach comedian
    composer cricketer critic cyclist dancer designer director diplomat economist editor emperor
    engineer entrepreneur explorer filmmaker footballer general goalkeeper golfer guitarist
    historian inventor journalist judge king lawyer mathematician model musician nobleman
    novelist nurse officer painter philanthropist philosopher photographer physician physicist
    pianist pilot player poet politician president presenter priest princess prince producer
    professor queen rapper saint scientist screenwriter sculptor singer skater soldier
    songwriter sprinter statesman swimmer theologian violinist wrestler writer drummer bassist
    chemist biologist botanist architect activist athlete broadcaster lawyer aviator astronaut
    astronomer surgeon monk nun scholar host personality businessperson playwright umpire driver
    rider jockey manager bassist
    """
)
PLACES = _words(
    """
    area arrondissement bay borough building campus canton capital castle center centre church city
    commune community constituency continent country county department district division dukedom
    emirate empire estate hamlet hospital hotel island kingdom lake locality municipality museum
    nation neighborhood neighbourhood palace parish park place port prefecture principality province
    region republic resort river school settlement state stadium arena venue suburb territory town
    township theatre theater university valley village voivodeship area town city-state
    """
)
#: Head nouns that do not say what the subject is: "one of the largest cities".
EMPTY_NOUNS = _words("one part name form type kind member set group number series use")
#: Things that are referred to as "she".
SHIPS = _words(
    "ship ships liner steamer steamship vessel boat frigate destroyer cruiser submarine battleship "
    "schooner yacht warship ferry tanker freighter gunboat brig barque carrier tug trawler"
)
WORKS = _words(
    "album ballet book comedy documentary drama film game magazine musical newspaper novel opera "
    "play poem program programme record serial series show single sitcom song story symphony"
)
#: Nouns that can replace each other within a group: people, works, places, organisations.
SIBLING_GROUPS = tuple(
    tuple(group.split())
    for group in (
        "actor comedian novelist painter footballer composer politician lawyer singer journalist "
        "poet architect photographer physicist chemist sprinter swimmer historian",
        "film novel album song opera magazine musical documentary sitcom",
        "city village river island lake mountain",
        "school hospital museum church castle theatre",
        "company charity university newspaper club orchestra",
        "guitarist drummer bassist pianist violinist",
        "brother cousin nephew uncle",
        "sister niece aunt",
    )
)
#: A word and a word that contradicts it.
OPPOSITES = {
    one: other
    for pair in _words(
        """
        before/after first/last northern/southern eastern/western north/south east/west won/lost
        largest/smallest oldest/youngest older/younger mother/sister father/brother son/grandson
        daughter/granddaughter opened/closed male/female winter/summer directed/composed
        written/illustrated wrote/illustrated produced/edited founded/dissolved married/divorced
        highest/lowest longest/shortest
        """
    )
    for first, second in [pair.split("/")]
    for one, other in ((first, second), (second, first))
}
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
#: Participles that may follow a noun: "a film directed by ...".
PARTICIPLES = _words(
    """
    based located situated directed written produced published released founded developed created
    born held played known recorded built set composed performed hosted led owned operated named
    shot drawn written established designed edited distributed broadcast starring featuring
    appearing playing
    """
)
PREPOSITIONS = _words(
    "in on at by from with for during after before since until near alongside under about"
)
#: Words that cannot end a clause.
DANGLING = (
    _words(
        """
    year years day days month months week weeks time kilometres kilometers miles metres
    a an the of and or but with to in on at by from for as is was are were be been has had not
    best most more very well also its his her their than that which who whose where when known
    both either such between into under over about one two three part member series number only
    any some every each other another same including like called named titled no current first
    second third often usually not if there
    """
    )
    | PARTICIPLES
    | ADVERBS
)
#: Words that do not give away a title when they occur in a claim.
STOP_WORDS = _words(
    "a an and as at by de del di du for from in is it la le los no of on or the to van von with"
)
#: Past participles whose past tense differs, with the past tense.
IRREGULAR_PASTS = {
    "written": "wrote",
    "sung": "sang",
    "drawn": "drew",
    "taken": "took",
    "begun": "began",
}
#: Participles that equal their past tense, so that "made by Y" can become "Y made".
UNCHANGED_PARTICIPLE = re.compile(r"[a-z]+ed|led|held|built|made|won|met|taught|sold")


_PARENTHESIS = re.compile(r"\s*\([^()]*\)|\s*\[[^\[\]]*\]")
_SPACE = re.compile(r"\s+")
_BEFORE_MARK = re.compile(r"\s+([,.;:])")
_DOUBLED = re.compile(r",(?:\s*,)+")
LONGEST_SENTENCE = 500  # characters

_VERB = "|".join(sorted(VERBS))
_BOUNDARY = re.compile(
    r", (?!\d|(?:Jr|Sr|Inc|Ltd)\b)|;|$"
    rf"| (?:and|but) (?=(?:{_VERB}|[a-z]+ed)\b)"
    r"| (?:who|which|that|whose|where|when|while)\b"
    rf"| (?:{'|'.join(sorted(PREPOSITIONS | PARTICIPLES))})\b"
)
# Wiki markup, quotations and interrupted clauses such as "the state that, with ...".
_UNREADABLE = re.compile(r'[()\[\]{}|:“”„]|""|\.\.|,\.')
_BEFORE_COMMA = re.compile(r"([a-z]+),")
_INCOMPLETE_END = re.compile(r"\b(?:that|who|which) [\w-]+$")
_RELATIVE_WORDS = frozenset({"who", "which", "that", "whose", "where", "when", "while"})


def strip_parentheses(text: str) -> str:
    """Return `text` on one line without parentheses, brackets and the punctuation they leave."""
    for _ in range(3):
        text, count = _PARENTHESIS.subn("", text)
        if not count:
            break
    text = _BEFORE_MARK.sub(r"\1", _SPACE.sub(" ", text))
    return _DOUBLED.sub(",", text).strip()


def is_parsable(text: str) -> bool:
    """Return whether a sentence without parentheses has a shape that the rules can parse."""
    return (
        len(text) <= LONGEST_SENTENCE
        and text.count('"') % 2 == 0
        and not _UNREADABLE.search(text)
        and DANGLING.isdisjoint(_BEFORE_COMMA.findall(text))
    )


@lru_cache(4096)
def clause_ends(text: str, start: int = 0) -> tuple[int, ...]:
    """Return the offsets from `start` on at which `text` may be cut, in ascending order.

    A cut may be before a comma, a relative clause, a second verb, a preposition or a participle,
    and at the end of the text, if the last word can end a clause and no quotation is open.
    """
    return tuple(
        boundary.start()
        for boundary in _BOUNDARY.finditer(text, start)
        if boundary.start() and _can_end(text[: boundary.start()], boundary.group().strip())
    )


def _can_end(piece: str, boundary: str) -> bool:
    last = piece.rsplit(" ", 1)[-1].strip('"')
    if last.lower() in DANGLING or _INCOMPLETE_END.search(piece) or not last[-1:].isalnum():
        return False
    if piece.count('"') % 2:
        return False
    if boundary == "that" and not piece.startswith(("a ", "an ", "the ", "one ")):
        return False  # "showed in 1897 | that": the object would be missing
    if boundary in PREPOSITIONS or boundary in _RELATIVE_WORDS:
        # "was released | in", "began | with": the verb needs its complement.
        return not last.endswith(("ed", "ing", "ly")) and last not in VERBS
    if boundary in PARTICIPLES:
        return last not in VERBS and not last.endswith("ly")
    return True


def word_count(text: str) -> int:
    """Return the number of words."""
    return text.count(" ") + 1 if text else 0


def join_parts(*parts: str) -> str:
    """Join the parts with single spaces, without spaces before punctuation or doubled commas."""
    text = _SPACE.sub(" ", " ".join(part for part in parts if part))
    return _DOUBLED.sub(",", _BEFORE_MARK.sub(r"\1", text)).strip()


def to_sentence(text: str) -> str:
    """Return a clause as a sentence, with an initial capital and a full stop."""
    text = text.rstrip(" ,;.")
    mark = "" if text.endswith(("?", "!")) else "."
    return text[:1].upper() + text[1:] + mark
