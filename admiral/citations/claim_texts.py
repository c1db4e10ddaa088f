"""The text of a claim that is judged, and its context.

A reference mark covers the text since the mark before it. Such a part often lacks its subject or
its verb ("and was opened in 1931"), without which nothing can support it. What it lacks is taken
from the sentence, by word order and word lists alone:

| part | claim |
|---|---|
| has a subject and a verb | the part |
| begins with a verb: "and was opened in 1931" | the subject of the sentence, and the part |
| begins with a relative pronoun: "who was born in Rome" | the name before it, and the part |
| is an item of a list: "London and" | the sentence up to the first item, and the part |
| is the subject: "The towns of A" | the part, and the rest of the sentence from its verb on |
| is a participle: "Born in Leeds" | the subject of the sentence, "was", and the part |

Where none of them is recognised, the claim is the sentence up to the end of the part.

The context is cut as in SIDE (Petroni et al., 2023). Only where the whole is too long, the title
and the section are cut at their end, to a fifth of the limit each, and then the sentences before
the claim at their beginning, so that what is next to the claim stays. The claim is cut last, at its
beginning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from admiral.citations.citation_records import CitedClaim
from admiral.io.sentence_splitter import split_sentences
from proofs.logic.words import ADVERBS, PARTICIPLES, VERBS, to_sentence, word_list
from proofs.verifier.statements import PREPOSITIONS

_FINITE = VERBS | word_list(
    "be been being do does did will would can could may might must shall should have has had "
    "said says called became won lost wrote made led sang took held grew rose fell built sold "
    "went came gave left met found set put cut let kept sent paid brought bought caught thought "
    "chose broke spoke drove flew knew threw saw sat stood understood won began ran swam sank"
)
# Ends of words that end as a past tense does and are none.
_NOT_PAST = word_list(
    "hundred seed need speed indeed bed red shed breed feed deed weed exceed proceed succeed naked "
    "sacred hatred wicked rugged united unlimited limited"
)
_WORD = re.compile(r"[^\W_](?:[\w'’.&-]*\w)?")
_JOINT = re.compile(
    r"[\s,;:–—-]*(?:(?:and|but|or|nor|yet|then|while|whereas|although|though|because|since|as well "
    r"as|before|after)\b\s*(?:then\s+|also\s+|later\s+)?)?",
    re.IGNORECASE,
)
_LOOSE_END = re.compile(r"[\s,;:–—-]+(?:and|or|but)?[\s,;:–—-]*$|\s+(?:and|or|but)\s*$")
_RELATIVE = re.compile(r"(?:who|which|that)\b\s*", re.IGNORECASE)
_NAME = re.compile(r"(?:[A-Z0-9][\w'’.&-]*(?:\s+(?:of|the|de|von|van)(?=\s+[A-Z]))?\s*)+$")
_SUBJECTS = word_list("he she it they we i you")
_DETERMINERS = word_list("the a an his her its their this these those")


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a text with their offsets, and which of them is the first finite verb."""

    spans: tuple[tuple[int, int], ...]
    verb: int | None
    is_predicate: bool  # whether nothing but adverbs stands before that verb

    @classmethod
    def of(cls, text: str) -> _Words:
        spans = tuple(match.span() for match in _WORD.finditer(text))
        words = [text[start:end] for start, end in spans]
        verb = next((at for at in range(len(words)) if _is_verb(words, at)), None)
        lead = [word.lower() for word in words[:verb]]
        is_led = all(map(_is_adverb, lead))
        return cls(spans, verb, verb is not None and is_led)


def covered_claim(claim: CitedClaim) -> CitedClaim:
    """Return the claim that the mark covers; the claim itself if that is the whole sentence.

    The result has no span: all of it is covered.
    """
    if claim.span is None:
        return claim
    start, end = claim.span
    if not _WORD.search(claim.claim[:start]) and not _WORD.search(claim.claim, end):
        return replace(claim, span=None)
    return replace(claim, claim=covered_text(claim.claim, start, end), span=None)


def covered_text(sentence: str, start: int, end: int) -> str:
    """Return a part of a sentence, given by its offsets, as a sentence of its own."""
    joint = _JOINT.match(sentence, start, end)
    begin = joint.end() if joint else start
    part = _LOOSE_END.sub("", sentence[begin:end]).strip()
    if not _WORD.search(part):
        return to_sentence(sentence[:end])
    own = _Words.of(part)
    if not sentence[:begin].strip(" ,;:"):
        return _first_part(sentence, part, own, end)
    before = sentence[:start].rstrip(" ,;:")
    if relative := _RELATIVE.match(part):
        name = _NAME.search(before)
        subject = name.group().strip() if name else _subject(before)
        return to_sentence(f"{subject} {part[relative.end() :]}")
    if part.split(" ", 1)[0].endswith("ing"):
        return to_sentence(f"{_subject(before)} {part}")
    if own.verb is None:
        return _list_item(before, part)
    if own.is_predicate:
        if _Words.of(before).verb is None and begin > start:  # its verb is not known
            return to_sentence(sentence[:end])
        return to_sentence(f"{_subject(before)} {part}")
    return to_sentence(part)


def _first_part(sentence: str, part: str, own: _Words, end: int) -> str:
    """Return a part at the beginning of a sentence, with the sentence's verb if it has none."""
    rest = _Words.of(sentence[end:])
    joint = _JOINT.match(sentence, end)
    is_joined = joint is not None and _WORD.search(joint[0]) is not None
    if (
        own.verb is not None
        or rest.verb is None
        # "The line dates back to 1932, and is still used": a verb that is not known.
        or (is_joined and joint and _Words.of(sentence[joint.end() :]).is_predicate)
    ):
        return to_sentence(part)
    verb = end + rest.spans[rest.verb][0]
    first = part.split(" ", 1)[0].lower()
    if rest.verb and (first in PARTICIPLES or first.endswith("ed")):
        # "Born in Leeds, Carter studied law."
        subject = sentence[end:verb].strip(" ,")
        return to_sentence(f"{subject} was {part[:1].lower()}{part[1:]}")
    return to_sentence(f"{part} {sentence[verb:]}")


def _subject(before: str) -> str:
    """Return what stands before the first verb of a text, up to a comma."""
    words = _Words.of(before)
    if not words.verb:
        return before
    subject = before[: words.spans[words.verb][0]].rstrip()
    # "In 1931, the bridge": what precedes the comma is no subject.
    lead, comma, rest = subject.partition(",")
    first = _WORD.search(lead)
    if comma and rest.strip() and first and first.group().lower() in PREPOSITIONS:
        return rest.strip(" ,")
    return lead


def _list_item(before: str, part: str) -> str:
    """Return the text up to the first item of a list, and a later item in its place."""
    words = _Words.of(before)
    if words.verb is None:
        return to_sentence(f"{before} {part}")
    first = before.find(",", words.spans[words.verb][1])
    head = before if first < 0 else before[:first]
    cut = None
    for at in range(words.verb, len(words.spans)):
        begin, until = words.spans[at]
        if until > len(head):
            break
        word = head[begin:until].lower()
        if at == words.verb or word in PREPOSITIONS or word in _FINITE:
            cut = until
    leading = part.split(" ", 1)[0].lower()
    if leading in PREPOSITIONS and cut is not None:
        # "in Paris, in London": the item brings its own preposition.
        begin, until = next(span for span in words.spans if span[1] == cut)
        cut = begin if head[begin:until].lower() in PREPOSITIONS else len(head)
    return to_sentence(f"{head[:cut].rstrip()} {part}")


def _is_verb(words: list[str], at: int) -> bool:
    word = words[at]
    if not word.islower():
        return False
    before = words[at - 1].lower() if at else ""
    if before in _DETERMINERS or before in PREPOSITIONS:
        return False
    if word in _FINITE or (before in _SUBJECTS and not _is_adverb(word)):
        return True
    return word.endswith("ed") and len(word) > 3 and word not in _NOT_PAST


def _is_adverb(word: str) -> bool:
    return word in ADVERBS or word.endswith("ly")


#: What is read beside the claim: nothing; or the title of the page, the section, and the sentence
#: before or all of them.
ContextForm = Literal["claim", "sentence", "all"]
#: Longest text of a claim in context, in tokens of the model that reads it.
MAX_CONTEXT_TOKENS = 128
# Share of the limit that the title and the section keep of a text that is too long.
_SHARE = 5

#: Number of tokens of a word.
WordCost = Callable[[str], int]


def claim_in_context(
    claim: CitedClaim,
    form: ContextForm,
    *,
    max_tokens: int = MAX_CONTEXT_TOKENS,
    cost: WordCost = lambda word: 1,
) -> str:
    """Return the text of a claim in context.

    `max_tokens`: longest text, in tokens; the last word of the claim is always kept, even if it is
    longer by itself. `cost`: number of tokens of a word.
    """
    title, section, before, words = [], [], [], claim.claim.split()
    if form != "claim":
        sentences = split_sentences(claim.before)
        title, section = claim.page.split(), " ".join(claim.section).split()
        before = " ".join(sentences if form == "all" else sentences[-1:]).split()
    if sum(map(cost, [*title, *section, *before, *words])) > max_tokens:
        words = _fitting(reversed(words), max_tokens, cost)[::-1] or words[-1:]
        room = max_tokens - sum(map(cost, words))
        title = _fitting(title, min(max_tokens // _SHARE, room), cost)
        room -= sum(map(cost, title))
        section = _fitting(section, min(max_tokens // _SHARE, room), cost)
        room -= sum(map(cost, section))
        before = _fitting(reversed(before), room, cost)[::-1]
    # A colon ends a title or a heading, as in the texts that sentence encoders see elsewhere.
    heads = [f"{' '.join(head)}:" for head in (title, section) if head]
    return " ".join([*heads, *before, *words])


def _fitting(words: Iterable[str], limit: int, cost: WordCost) -> list[str]:
    kept: list[str] = []
    for word in words:
        limit -= cost(word)
        if limit < 0:
            break
        kept.append(word)
    return kept
