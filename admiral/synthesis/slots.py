"""Mentions that a noun phrase can replace, selected by the words around them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from admiral.records import Document
from admiral.retrieval.mentions import Mention, Titles, base_title, find_mentions
from admiral.synthesis.english_words import MONTHS, PARTICIPLES, PERSONS, PREPOSITIONS, VERBS, WORKS

Kind = Literal["person", "place", "thing", "any"]

_ARTICLES = frozenset({"a", "an", "the"})
_NOUNS = PERSONS | WORKS
_MAX_MODIFIERS = 5
_VERB_FORM = re.compile(
    r"[a-z]+ed|starring|featuring|including|playing|portraying|defeating|replacing|succeeding|joining"
    r"|leaving|representing|supporting|covering|bordering|overlooking|marrying|visiting"
)
# The name is part of a longer noun phrase ("the armored Athena", "the dancer and actor Gene
# Kelly"), or the text gives the name ("called Athena").
_MODIFIER = re.compile(
    r"\b(?:called|named|titled|entitled|nicknamed|renamed|dubbed) $|"
    rf"\b(?:an?|the|his|her|its) [a-z]+ed $|\b(?:{'|'.join(sorted(_NOUNS))}) (?:and|or) $"
)
# Pages on days and years, which have no distinctive description.
_CALENDAR = re.compile(
    rf"(?:{'|'.join(MONTHS)})(?: \d+)?$|\d+(?:s|st|nd|rd|th)?(?: century)?(?: BC)?$"
)
# Maximum characters of a predicate that are searched, and of the context before a mention.
_MAX_SEARCHED, _MAX_CONTEXT = 240, 60
_ARTICLE = re.compile(r"(?:^|(?<=\s))(?:an?|the) $", re.IGNORECASE)
_BEFORE = PREPOSITIONS | set(
    re.findall(
        r"\w+",
        """
        of to as and or between against into within than via including except beside beyond towards
        toward across alongside featuring starring is was are were the
        """,
    )
)
_WORD_BEFORE = re.compile(r"(?<![\w'’-])([\w'’-]+) $")
_JOINED_BEFORE = re.compile(r"[A-Z0-9][\w'’.-]* (?:and|of|&) $")
_JOINED_AFTER = re.compile(r" (?:and|&|or) [A-Z]")
# In "the city of Paris", city and name denote the same thing.
_SAME_REFERENT = re.compile(
    r"\b(?:state|city|town|village|province|district|county|community|kingdom|republic|island|region"
    r"|municipality|parish|borough|suburb|name|title|role|part|character|duchy|commune|port"
    r"|neighborhood|neighbourhood|territory|department|nation|country) of (?:the )?$"
    r"|\b(?:known|titled|entitled|named|called|nicknamed|renamed|credited|billed|styled)"
    r"(?: [a-z]+)? as $"
)
_AFTER = re.compile(
    r"$|[,;]|\.$| (?:and|or|but|to|as|who|which|that|where|when|while"
    rf"|{'|'.join(sorted(PREPOSITIONS | PARTICIPLES))})\b"
)
_APPOSITION = re.compile(
    r", (?:(?:an?|the|his|her|its|who|whose|which|where) |(?:Jr|Sr|Inc)\b|[A-Z0-9])"
)
_PLACE = re.compile(
    r"\b(?:born|located|situated|died|raised|lives?|lived|lies|resid\w+|based) (?:\w+ )?"
    r"(?:in|at|near) $"
)
_PERSON = re.compile(
    r"\b(?:(?:directed|written|composed|painted|sung|portrayed|played|edited|sculpted|succeeded"
    r"|narrated|illustrated|choreographed|stars?) by|married(?: to)?|(?:son|daughter|wife|husband"
    r"|brother|sister|father|mother|widow|student|pupil) of|starring) $"
)
_INSIDE = re.compile(r"\b(?:in|at|near|into|within|on|during|throughout) $")


@dataclass(frozen=True, slots=True)
class Slot:
    """A replaceable mention in a predicate."""

    start: int  # start, end: offsets of the mention, including its article
    end: int
    title: str
    kind: Kind  # kind of document that the context requires
    # whether an apposition or relative clause about the mention follows, so that a claim must end
    # after it
    has_apposition: bool


def find_slots(
    titles: Titles, document: Document, index: int, text: str, *, anywhere: bool = False
) -> Iterator[Slot]:
    """Yield the replaceable mentions of other documents in `text`, from left to right.

    `document`: the document that the text belongs to; if it has hyperlinks, only these are
    mentions. `anywhere`: accept mentions in any context, for languages other than English.
    """
    text = text[:_MAX_SEARCHED]
    mentions = (
        _hyperlink_mentions(titles, document, index, text)
        if document.links
        else _title_mentions(titles, document, text)
    )
    own = base_title(document.title)
    for mention in mentions:
        title = mention.titles[0]
        if base_title(title) == own or is_list_page(title) or _CALENDAR.match(title):
            continue
        if anywhere:
            yield Slot(mention.start, mention.end, title, "any", has_apposition=False)
            continue
        slot = _slot_at(text, mention.start, mention.end, title)
        if slot is not None:
            yield slot


def is_list_page(title: str) -> bool:
    """Return whether a page is a list of others, which has no subject of its own."""
    return title.startswith(("List of ", "Lists of "))


def _hyperlink_mentions(
    titles: Titles, document: Document, index: int, text: str
) -> Iterator[Mention]:
    mentions = []
    for title in dict.fromkeys(document.links[index]):
        name = base_title(title)
        match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) if name else None
        if match is not None and titles.row(title) is not None:
            mentions.append(Mention(match.start(), match.end(), (title,)))
    end = 0
    for mention in sorted(mentions, key=lambda m: (m.start, -m.end)):
        if mention.start >= end:
            yield mention
            end = mention.end


def _title_mentions(titles: Titles, document: Document, text: str) -> Iterator[Mention]:
    """Yield the unambiguous mentions of titles.

    A title with a parenthesis counts only if the document contains the word in the parenthesis, as
    in "his novel Dune" for "Dune (novel)".
    """
    own = " ".join(document.sentences).casefold()
    for mention in find_mentions(titles, text):
        title = mention.titles[0]
        if base_title(title) == title:
            yield mention
        elif len(mention.titles) == 1:
            kind = title[len(base_title(title)) :].strip(" ()").rsplit(" ", 1)[-1]
            if re.search(rf"\b{re.escape(kind.casefold())}s?\b", own):
                yield mention


def _slot_at(text: str, start: int, end: int, title: str) -> Slot | None:
    if text[start - 1 : start] == text[end : end + 1] == '"':
        start, end = start - 1, end + 1
    if text.count('"', 0, start) % 2 or not _AFTER.match(text, end):
        return None
    one_word = " " not in text[start:end]
    if one_word and _JOINED_AFTER.match(text, end):
        return None
    bare = start
    start = _phrase_start(text, start)
    before = text[max(start - _MAX_CONTEXT, 0) : start]
    word = _WORD_BEFORE.search(before)
    if word is None or not _can_precede(word.group(1)) or _SAME_REFERENT.search(before):
        return None
    if _MODIFIER.search(before):
        return None
    if one_word and start == bare and _JOINED_BEFORE.search(before):
        return None
    kind: Kind = "any"
    if _PLACE.search(before):
        kind = "place"
    elif _PERSON.search(before):
        kind = "person"
    elif _INSIDE.search(before):
        kind = "thing"
    return Slot(start, end, title, kind, _APPOSITION.match(text, end) is not None)


def _can_precede(word: str) -> bool:
    return word in _BEFORE or word in VERBS or bool(_VERB_FORM.fullmatch(word))


def _phrase_start(text: str, start: int) -> int:
    """Return the start of the noun phrase that ends with a name: "the Danish writer Ada Brook"."""
    phrase_start = start
    before = _WORD_BEFORE.search(text, 0, phrase_start)
    if before is not None and before.group(1) in _NOUNS:
        for _ in range(_MAX_MODIFIERS):
            phrase_start = before.start(1)
            before = _WORD_BEFORE.search(text, 0, phrase_start)
            if before is None:
                return start
            if _can_precede(before.group(1)) or before.group(1).lower() in _ARTICLES:
                break
        else:
            return start
    article = _ARTICLE.search(text, 0, phrase_start)
    return phrase_start if article is None else article.start()
