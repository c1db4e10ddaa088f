"""The records of citation verification: claims in context and in part, citations and verdicts.

Models read a claim as title, section, sentences before it, and the claim. The order and the
truncation are those of SIDE (Petroni et al., 2023). Only where the whole is too long, the title and
the section are cut at their end, to a fifth of the limit each, and then the sentences before the
claim at their beginning, so that what is next to the claim stays. The claim is cut last, at its
beginning.

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
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, ValidationInfo

from admiral.io.sentence_splitter import split_sentences
from admiral.sources import Passage
from proofs.logic.words import ADVERBS, PARTICIPLES, VERBS, to_sentence, word_list
from proofs.verifier.statements import PREPOSITIONS

#: What became of a citation. Everything but `scored` means that the source was not checked, which
#: says nothing about whether it supports the claim.
Status = Literal[
    "scored", "not_in_library", "no_text", "too_short", "not_english", "not_web", "blocked"
]
#: What to do about a claim and its citations (see `decide`).
Decision = Literal["keep", "flag", "replace", "add", "not_checked"]
#: What a source says about a claim (see `decide`).
Finding = Literal["supported", "partly", "contradicted", "not_found"]
#: Where a claim stands on its page: in running text or, if it is no sentence of it, in an item of a
#: list, a row of a table, a box of facts, the caption of a picture, a heading, or a note.
Kind = Literal["sentence", "list", "table", "infobox", "caption", "heading", "note"]


def _written(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return text


#: A text, or null for none; a text with at least a word; an id, also as a number; texts, or one.
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
WrittenText = Annotated[str, AfterValidator(_written)]
Id = Annotated[
    str,
    BeforeValidator(lambda id: str(id) if type(id) is int else id),
    Field(min_length=1),
]
Texts = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda given: ((given,) if given else ()) if isinstance(given, str) else given),
]
# What a reference does not state is null in its record.
_Stated = Annotated[Text, PlainSerializer(lambda text: text or None, str | None)]


@dataclass(frozen=True, slots=True)
class Citation:
    """A reference of a claim to a source."""

    url: Text = ""
    name: Text = ""  # name or number of the reference on its page
    # title, archive_url, date, template, quote, access_date, work, publisher, author, isbn: as far
    # as the reference states them; empty otherwise. Archived URLs are unwrapped.
    title: _Stated = ""
    archive_url: _Stated = ""
    date: _Stated = ""
    template: _Stated = ""
    quote: _Stated = ""
    access_date: _Stated = ""
    work: _Stated = ""
    publisher: _Stated = ""
    author: _Stated = ""  # "Last, First", several separated by semicolons
    isbn: _Stated = ""


def _within_claim(span: tuple[int, int] | None, others: ValidationInfo) -> tuple[int, int] | None:
    if span is not None and not 0 <= span[0] <= span[1] <= len(others.data.get("claim", "")):
        raise ValueError(f"{list(span)} is not within the claim")
    return span


@dataclass(frozen=True, slots=True)
class CitedClaim:
    """A sentence of a page with its context and its references."""

    id: Id
    claim: WrittenText  # the whole sentence, or the row of a table, without reference marks
    page: str = ""
    section: Texts = ()  # headings above the claim, outermost first
    before: str = ""  # before, after: text of the page before and after the claim
    after: str = ""
    # offsets in `claim` of the part up to the reference mark
    span: Annotated[tuple[int, int] | None, AfterValidator(_within_claim)] = None
    kind: Kind = "sentence"  # where the claim stands
    # maintenance tags after the reference, such as ``failed-verification``
    tags: Texts = ()
    citations: tuple[Citation, ...] = ()  # the references that stand together after the claim


#: A score; records round it to 6 digits.
Score = Annotated[float, PlainSerializer(lambda score: round(score, 6), float)]


@dataclass(frozen=True, slots=True)
class ScoredPart:
    """A part of a claim, the best passage for it (None if there is none) and its score."""

    text: str
    score: Score
    passage: int | None


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """A sentence of a passage and the share of the claim's words in it."""

    text: str
    score: Score


def _passage_record(passage: Passage) -> dict[str, Any]:
    return {name: getattr(passage, name) for name in ("number", "start", "end", "text")}


@dataclass(frozen=True, slots=True)
class ScoredSource:
    """A source judged for a claim."""

    url: str  # url, title: of the source, or of the citation if there is none
    title: str
    status: Status  # whether the source was scored, and otherwise why not
    finding: Finding | None = field(default=None, kw_only=True)  # None unless scored
    # score, probability, percentile: unbounded score, calibrated probability of support, and the
    # share (0 to 100) of reference citations with a lower score; None unless scored
    score: Score | None = None
    probability: Score | None = None
    percentile: Annotated[float, PlainSerializer(lambda rank: round(rank, 1), float)] | None = None
    # probability that the source denies the claim, and the sentence that does, which is empty if
    # the finding is another; None if the verifier does not tell
    denial: Score | None = field(default=None, kw_only=True)
    denied_by: str = field(default="", kw_only=True)
    # the best passage; None unless scored
    passage: Annotated[Passage, PlainSerializer(_passage_record)] | None = None
    # the sentences of the passage that say most of the claim, in the order of the text
    sentences: tuple[ScoredSentence, ...] = ()
    parts: tuple[ScoredPart, ...] = ()  # the parts of the claim with their own best passages
    # parts of the claim that nothing in the source covers; empty where this is not sure
    missing: tuple[str, ...] = ()
    # of a suggestion: the reference to paste; empty if it is not on the web
    wikitext: Annotated[str, Field(exclude=True)] = ""

    @property
    def supports(self) -> bool:
        """Whether it was found to support the claim."""
        return self.finding == "supported"


@dataclass(frozen=True, slots=True)
class RankedSource:
    """A source that the search has found, as it ranks among the others."""

    url: str
    score: Score | None  # None unless it was verified


@dataclass(frozen=True, slots=True)
class CitationVerdict:
    """The verdict on a claim's citations."""

    claim: CitedClaim
    decision: Decision
    # the sources that the claim cites, in the order of its references
    existing: tuple[ScoredSource, ...]
    suggestions: tuple[ScoredSource, ...]  # other sources, best first
    # what the reader should know, such as sources that could not be read
    warnings: tuple[str, ...] = ()
    query: str = ""  # what was searched for; empty if nothing was
    seconds: float = 0.0
    # the existing sources as one, if several were scored. They may support together what none
    # supports alone.
    together: ScoredSource | None = None
    # names of other references of the same sentence that support the claim, where its own do not
    supported_beside: tuple[str, ...] = ()
    # found, ranking: with the setting `ranked`, the URLs of the search, best first, and these
    # sources as they rank after verification; those that were not verified come last
    found: tuple[str, ...] = ()
    ranking: tuple[RankedSource, ...] = ()

    @property
    def best(self) -> ScoredSource | None:
        """The source that the decision is based on; None if none was read."""
        return best_source(self.existing, self.together)

    @property
    def existing_score(self) -> float | None:
        """The score that the decision is based on: of the best existing source, or of all."""
        return None if self.best is None else self.best.score

    @property
    def finding(self) -> Finding | None:
        """The finding on all sources (see `joint_finding`)."""
        return joint_finding(self.existing, self.together)

    @property
    def missing(self) -> tuple[str, ...]:
        """The parts of the claim that no source covers, where part of it is supported."""
        best = self.best
        return best.missing if best is not None and best.finding == "partly" else ()

    @property
    def flagged(self) -> bool:
        """Whether an existing source was checked and found wanting."""
        return self.decision in ("flag", "replace")


def best_source(
    existing: Iterable[ScoredSource], together: ScoredSource | None
) -> ScoredSource | None:
    """Return the source with the highest score, or all as one if that is higher; None without one.

    `together`: all sources as one; None unless there are several.
    """
    read = [one for one in (*existing, together) if one is not None and one.score is not None]
    return max(read, key=lambda one: one.score or 0.0, default=None)


def joint_finding(
    existing: Sequence[ScoredSource], together: ScoredSource | None
) -> Finding | None:
    """Return the finding on the sources of a claim; None if none was read.

    A source that contradicts the claim outweighs the others. `together`: see `best_source`.
    """
    if any(one.finding == "contradicted" for one in existing):
        return "contradicted"
    best = best_source(existing, together)
    return None if best is None else best.finding


#: What is read beside the claim: nothing; or the title of the page, the section, and the sentence
#: before or all of them.
ContextForm = Literal["claim", "sentence", "all"]
#: Longest text of a claim in context, in tokens of the model that reads it.
MAX_CONTEXT_TOKENS = 128
# Share of the limit that the title and the section keep of a text that is too long.
_SHARE = 5

#: Number of tokens of a word.
WordCost = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class ContextPieces:
    """The pieces of a claim in context; empty where they are not read or unknown."""

    title: str
    section: str
    before: str
    claim: str


def context_pieces(claim: CitedClaim, form: ContextForm) -> ContextPieces:
    """Return the pieces of a claim that a form of the context reads, with single spaces."""
    if form == "claim":
        return ContextPieces("", "", "", _one_line(claim.claim))
    sentences = split_sentences(claim.before)
    return ContextPieces(
        _one_line(claim.page),
        _one_line(" ".join(claim.section)),
        _one_line(" ".join(sentences if form == "all" else sentences[-1:])),
        _one_line(claim.claim),
    )


def claim_in_context(
    claim: CitedClaim,
    form: ContextForm,
    *,
    max_tokens: int = MAX_CONTEXT_TOKENS,
    cost: WordCost | None = None,
) -> str:
    """Return the text of a claim in context.

    `max_tokens`: longest text, in tokens. `cost`: number of tokens of a word; one by default.
    """
    pieces = context_pieces(claim, form)
    words = (piece.split() for piece in (pieces.title, pieces.section, pieces.before, pieces.claim))
    kept = fit_pieces(*words, limit=max_tokens, cost=cost or _one)
    # A colon ends a title or a heading, as in the texts that sentence encoders see elsewhere.
    heads = [f"{' '.join(head)}:" for head in kept[:2] if head]
    return " ".join([*heads, *kept[2], *kept[3]])


def fit_pieces(
    title: Sequence[str],
    section: Sequence[str],
    before: Sequence[str],
    claim: Sequence[str],
    *,
    limit: int,
    cost: WordCost,
) -> tuple[list[str], list[str], list[str], list[str]]:
    """Cut the words of the pieces so that they have at most `limit` tokens together.

    The last word of the claim is always kept, even if it is longer than the limit by itself.
    """
    pieces = [list(title), list(section), list(before), list(claim)]
    if sum(_cost(piece, cost) for piece in pieces) <= limit:
        return pieces[0], pieces[1], pieces[2], pieces[3]
    claim_words = _last(pieces[3], limit, cost)
    room = limit - _cost(claim_words, cost)
    share = limit // _SHARE
    title_words = _first(pieces[0], min(share, max(room, 0)), cost)
    room -= _cost(title_words, cost)
    section_words = _first(pieces[1], min(share, max(room, 0)), cost)
    room -= _cost(section_words, cost)
    before_words = _last(pieces[2], room, cost) if room > 0 else []
    if _cost(before_words, cost) > max(room, 0):  # its last word alone is too long
        before_words = []
    return title_words, section_words, before_words, claim_words


def _first(words: Sequence[str], limit: int, cost: WordCost) -> list[str]:
    kept: list[str] = []
    for word in words:
        limit -= cost(word)
        if limit < 0:
            break
        kept.append(word)
    return kept


def _last(words: Sequence[str], limit: int, cost: WordCost) -> list[str]:
    """Return as many of the last words as fit, and at least one."""
    begin = len(words)
    for at in range(len(words) - 1, -1, -1):
        limit -= cost(words[at])
        if limit < 0 and begin < len(words):
            break
        begin = at
        if limit < 0:
            break
    return list(words[begin:])


def _cost(words: Sequence[str], cost: WordCost) -> int:
    return sum(map(cost, words))


def _one(_: str) -> int:
    return 1


def _one_line(text: str) -> str:
    return " ".join(text.split())


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
_PRONOUNS = word_list("he she it they we i you this these those there")
_DETERMINERS = word_list("the a an his her its their this these those")


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a text with their offsets, and which of them is the first finite verb."""

    spans: tuple[tuple[int, int], ...]
    verb: int | None

    @classmethod
    def of(cls, text: str) -> _Words:
        spans = tuple(match.span() for match in _WORD.finditer(text))
        words = [text[start:end] for start, end in spans]
        verb = next((at for at in range(len(words)) if _is_verb(words, at)), None)
        return cls(spans, verb)


def covered_claim(claim: CitedClaim) -> CitedClaim:
    """Return the claim that the mark covers; the claim itself if that is the whole sentence.

    The result has no span: all of it is covered.
    """
    if claim.span is None:
        return claim
    start, end = claim.span
    if _covers_all(claim.claim, start, end):
        return replace(claim, span=None)
    text = covered_text(claim.claim, start, end)
    return replace(claim, claim=text, span=None)


def _covers_all(sentence: str, start: int, end: int) -> bool:
    return not _WORD.search(sentence[:start]) and not _WORD.search(sentence, end)


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
        if name := _NAME.search(before):
            return to_sentence(f"{name.group().strip()} {part[relative.end() :]}")
        return to_sentence(f"{_subject(before)} {part[relative.end() :]}")
    if part.split(" ", 1)[0].endswith("ing"):
        return to_sentence(f"{_subject(before)} {part}")
    if own.verb is None:
        return _list_item(before, part)
    lead = [part[a:b].lower() for a, b in own.spans[: own.verb]]
    if all(word in ADVERBS or word.endswith("ly") for word in lead):
        return to_sentence(f"{_subject(before)} {part}")
    return to_sentence(part)


def _first_part(sentence: str, part: str, own: _Words, end: int) -> str:
    """Return a part at the beginning of a sentence, with the sentence's verb if it has none."""
    if own.verb is not None:
        return to_sentence(part)
    rest = _Words.of(sentence[end:])
    if rest.verb is None:
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
    if word in _FINITE:
        return True
    return word.endswith("ed") and len(word) > 3 and word not in _NOT_PAST
