"""Split English prose into sentences by rules, in time linear in the length of the text.

A sentence ends at ``.``, ``!``, ``?`` or an ellipsis, including closing quotes, brackets and note
marks (``[1]``), if white space and a possible start of a sentence follow. It also ends at the full
stops of East Asia and India, and at a blank line.

What follows decides whether a full stop ends an abbreviation or a sentence. After ``Dr.`` or
``e.g.`` it never ends one, after ``Fig.`` or ``pop.`` not
before a number, and after an initial, an
acronym or a suffix (``J.``, ``U.S.``, ``Inc.``) only before a common first word of a sentence.
Words such as ``art``, ``sat`` and ``fig`` in lower case are words.

Sentences that a corpus gives keep their numbers, since gold evidence refers to them, unless they
are too long to be read by a model.

A sentence has at most `LONGEST_SENTENCE` characters: longer ones, which are tables, lists or data
rather than prose, are split at white space. Otherwise a single one could fill the memory of the
models that read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from admiral.records import Document
from proofs.logic.words import word_list

# No sentence ends after these.
NEVER = word_list("vs viz a.k.a aka eg e.g ie i.e cf messrs mme mlle mmes mlles msgr")
# With a capital, these precede a name.
BEFORE_NAME = word_list(
    "mr mrs ms mx dr drs prof profs rev revs hon gov govs sen sens rep reps pres gen gens col cols "
    "maj capt cpt cmdr cdr comdr lt lieut sgt ssgt cpl pvt pfc adm brig cmdt insp det supt amb "
    "atty treas fr ven rt ste mt mts ft pte flt wg sqn const sra srta dra dn frs"
)
# These precede a number, a numeral or a letter; with a capital, also a name.
BEFORE_NUMBER = word_list(
    "no nos nr vol vols pp fig figs eq eqs eqn sec secs sect ch chs chap art arts op pt pts ep "
    "eps fl pop tel fax ext approx ca max min avg cat inv par para paras pl pls tab ser iss bk "
    "bks ver app cl rm apt ste ref refs est alt elev lat lon ff ed"
)
# With a capital, these are months and days.
DATES = word_list(
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun"
)
# Between two numbers: "5 ft. 6 in."
UNITS = word_list("ft in lb lbs oz hr hrs min mins sec secs mi yd yds st deg h m s")
# These occur both at the end of a sentence and within one.
EITHER = word_list(
    "st sts sq inc ltd co corp bros plc llc jr sr esq al dept univ assn ave blvd rd hwy ph.d m.d "
    "b.a m.a b.s m.s d.c u.s u.k u.n e.u b.c a.d eds trans intl natl govt dist div gmbh mfg"
)
# In lower case these are words or units, which end sentences as others do.
WORDS = word_list("ms rep reps ft st cat tab par app alt art")
# After a time of day, these go on: "5 p.m. Monday".
CLOCK = word_list("a.m p.m")
AFTER_CLOCK = word_list(
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May "
    "June July August September October November December Eastern Central Pacific Mountain "
    "Greenwich Atlantic EST EDT CST CDT PST PDT MST MDT GMT UTC BST CET CEST IST JST AEST ET PT"
)
COMPANY_SUFFIXES = word_list("Inc Ltd Co Corp LLC Plc PLC GmbH AG SA")
# Common first words of sentences.
STARTERS = word_list(
    "a after although an and as at before both but by during each for from he her his however i if "
    "in it its later many most no of on one other our she since so some such that the their then "
    "there these they this those though to two under until we what when where while who with you "
    "your"
)
# What a numeral or a letter follows: "World War I", "vitamin C".
NUMBERED_THINGS = word_list(
    "war part act chapter book volume type class phase division level stage grade title schedule "
    "group section article appendix table figure mark series category tier zone region army corps "
    "vitamin plan hepatitis option team item point exhibit size letter block gate terminal channel "
    "model vessel unit area serie league variant column row panel annex step line"
)
RULERS = word_list(
    "Henry Charles George Louis Elizabeth Edward William Richard James Philip Peter Alexander "
    "Nicholas Frederick Francis Ferdinand Gustav Gustavus Christian Leopold Albert Alfonso Baldwin "
    "Catherine Mary Napoleon Otto Pius Paul Gregory Clement Innocent Urban Benedict Leo Boniface "
    "Ramesses Ptolemy Cleopatra Darius Xerxes Justinian Constantine Theodosius Umberto Carol "
    "Michael Pedro Joseph Maximilian Rudolf Robert David Malcolm Stephen John Harald Olaf Canute"
)
# Kinds of things whose name may end in an exclamation mark: "the musical Oliver! Tickets".
TYPES_OF_NAMES = word_list(
    "firm company brand chain shop store show series film movie musical play opera song single "
    "album band group duo game magazine newspaper website site book novel programme program app "
    "label channel network franchise party festival restaurant project"
)
NAMED_WITH_MARK = word_list(
    "Yahoo Jeopardy Oklahoma Wham Airplane Oliver Hello Ahoy Mia Panic Joomla"
)
# After a question or an exclamation in quotes and a name.
SAYING = word_list(
    "asked said cried replied answered shouted exclaimed whispered called added wondered yelled "
    "screamed demanded inquired enquired asks says cries replies shouts remarked muttered begged"
)
GERMAN_MONTHS = word_list(
    "Januar Jänner Februar März April Mai Juni Juli August September Oktober November Dezember"
)


LONGEST_GIVEN_SENTENCE = 10_000  # characters


def split_long_sentences(document: Document) -> tuple[Document, int]:
    """Split the sentences longer than `LONGEST_GIVEN_SENTENCE` at white space.

    The links of a sentence stay with its first part. Returns the same document if no sentence is
    too long. Returns number of sentences that were split.
    """
    split = sum(len(sentence) > LONGEST_GIVEN_SENTENCE for sentence in document.sentences)
    if not split:
        return document, 0
    parts = [
        (number, start, end)
        for number, sentence in enumerate(document.sentences)
        for start, end in bounded_spans(sentence, 0, len(sentence), LONGEST_GIVEN_SENTENCE)
    ]
    changed = replace(
        document,
        sentences=tuple(document.sentences[number][start:end] for number, start, end in parts),
        links=tuple(document.links[n] if not start else () for n, start, _ in parts)
        if document.links
        else (),
        sections=tuple(document.sections[n] for n, *_ in parts) if document.sections else (),
        offsets=tuple(document.offsets[n] + start for n, start, _ in parts)
        if document.offsets
        else (),
    )
    return changed, split


_NOTE_MARK = r"\[(?:\d{1,3}|[a-z]|(?:note|nb) \d{1,3}|[a-z ]{0,20}needed)\]"
_END = re.compile(
    rf"[.!?…]++[\"'”’“‘»«›‹)\]]*+(?P<note>(?:{_NOTE_MARK})++|[⁰¹²³⁴-⁹]++)?+"
    r"|[。！？।॥۔؟።။។]++[」』”’）]*+|\n[^\S\n]*+\n\s*+"
)
_WORD_BEFORE = re.compile(r"[^\s\"'“‘„«(\[/–—-]+$")
_WORD_AFTER = re.compile(r"[\"'“‘„«(\[]*([^\W_]+)?")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]", re.UNICODE)
# The number of an item: "1. Wash the pan. 2. Dry it."
_ITEM_NUMBER = re.compile(r"\s*\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})")
_BRAND = re.compile(r"[a-z]{1,5}[A-Z]")  # iPod, eBook, mRNA
_LIKE_NUMBER = re.compile(r"\d|[IVXLC]+$|[A-Z]\d*$")
_BEFORE_LETTER = re.compile(r"([^\W\d_]+) ([A-Z])$")
_COMMON_NOUN = re.compile(r"[A-Z][a-z]+(?:ers|ors|ists|men|ies|ings|ants|ents)$")
_NAME = r"(?:[A-Z]\.|[^\W\d_a-z][\w'’-]+)"
_SPEAKER = re.compile(rf"\s{{1,4}}{_NAME}(?: {_NAME}){{0,2}} (?:{'|'.join(sorted(SAYING))})\b")
_LONGEST_WORD = 40
_CONTEXT = 60  # characters before a mark that are looked at
LONGEST_SENTENCE = 2000  # characters


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) character offsets of each sentence, without surrounding white space.

    Spans are ascending, do not overlap, are never empty, and omit nothing but white space.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(text):
        if match.start() < start or not _is_sentence_end(text, start, match):
            continue
        _append(spans, text, start, match.end())
        start = match.end()
    _append(spans, text, start, len(text))
    return spans


def split_sentences(text: str) -> list[str]:
    """Return the sentences of `text` in order; an empty text has none."""
    return [text[start:end] for start, end in sentence_spans(text)]


def _append(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    stripped = piece.strip()
    if not stripped:
        return
    begin = start + len(piece) - len(piece.lstrip())
    spans.extend(bounded_spans(text, begin, begin + len(stripped), LONGEST_SENTENCE))


def bounded_spans(text: str, begin: int, end: int, longest: int) -> Iterator[tuple[int, int]]:
    """Split a sentence at white space into spans of at most `longest` characters.

    `begin`, `end`: offsets of the sentence, which neither begins nor ends with white space.
    `longest`: maximum number of characters. Text without white space is cut at any character.
    """
    while end - begin > longest:
        cut = _last_space(text, begin, begin + longest)
        yield begin, begin + len(text[begin:cut].rstrip())
        begin = cut
        while text[begin].isspace():
            begin += 1
    yield begin, end


def _last_space(text: str, begin: int, end: int) -> int:
    for position in range(end, (begin + end) // 2, -1):
        if text[position].isspace():
            return position
    return end


def _is_sentence_end(text: str, start: int, match: re.Match[str]) -> bool:
    mark, end = match.group(), match.end()
    if mark[0] not in ".!?…" or end >= len(text):
        return True
    if not text[end].isspace():  # decimals, host names, "U.S.-based"
        return bool(match["note"]) and text[end].isupper()
    following = _next_word(text, end)
    if following is None or (following[:1].islower() and not _BRAND.match(following)):
        return False
    before = text[max(start, match.start() - _CONTEXT) : match.start()]
    if mark[0] != "." or mark.startswith(".."):
        return not _goes_on(text, before, mark, following, end)
    return not _is_abbreviated(before, following) and not (
        match.start() - start < _LONGEST_WORD
        and _ITEM_NUMBER.fullmatch(text, start, match.start())
        and following[:1].isupper()
    )


def _goes_on(text: str, before: str, mark: str, following: str, end: int) -> bool:
    if mark[-1] in "\"”’'“»«":
        return mark[0] in "!?" and bool(_SPEAKER.match(text, end))
    if mark != "!":
        return False
    words = before.split()[-2:]
    named = len(words) == 2 and words[0] in TYPES_OF_NAMES and words[1][:1].isupper()
    if named or (words and words[-1] in NAMED_WITH_MARK):
        return following.lower() not in STARTERS
    return following in COMPANY_SUFFIXES


def _is_abbreviated(before: str, following: str) -> bool:
    match = _WORD_BEFORE.search(before[-_LONGEST_WORD:])
    if match is None:
        return False
    word, starts = match.group(), following.lower() in STARTERS
    lower, is_lower = word.lower(), word.islower()
    is_number = bool(_LIKE_NUMBER.match(following)) and not starts
    if lower in NEVER or (lower in BEFORE_NAME and not is_lower):
        return True
    if lower in UNITS and following[:1].isdigit():
        return before[: -len(word)].rstrip()[-1:].isdigit()
    if lower in WORDS and is_lower:
        return False
    if lower == "no":  # also an answer
        return is_number
    if lower in BEFORE_NUMBER:
        return is_number or not (is_lower or starts)
    if lower in DATES and not is_lower:
        return not starts
    if word.isdigit():
        return len(word) < 3 and following in GERMAN_MONTHS
    if lower in CLOCK:
        return following in AFTER_CLOCK or following[:1].isdigit()
    if lower in BEFORE_NAME or lower in EITHER:
        return not starts
    if _INITIALS.fullmatch(word):
        return not (starts or _is_label(before, following))
    return False


def _is_label(before: str, following: str) -> bool:
    match = _BEFORE_LETTER.search(before)
    if match is None:
        return False
    if match[1].lower() in NUMBERED_THINGS:
        return True
    return match[1] in RULERS and match[2] in "IVX" and bool(_COMMON_NOUN.match(following))


def _next_word(text: str, end: int) -> str | None:
    """Return the word after the white space at `end`, or "" if a punctuation mark follows.

    Return None at the end of the text, or if the mark cannot begin a sentence.
    """
    while end < len(text) and text[end].isspace():
        end += 1
    if end >= len(text) or text[end] in ",;:.)]":
        return None
    match = _WORD_AFTER.match(text, end, end + _LONGEST_WORD)
    return "" if match is None else (match.group(1) or "")
