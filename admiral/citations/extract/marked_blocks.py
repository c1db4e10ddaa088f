"""A page as the readers of wikitext and HTML return it: text with marks, and references.

Each cluster of marks, with the sentence in front of it, is a claim in context.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TypeAlias

from admiral.citations.citation_records import Citation, CitedClaim, Kind
from admiral.io.sentence_splitter import sentence_spans

#: Offsets in the text of a page at which something begins and ends.
Place: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Mark:
    """A reference mark or a maintenance tag at a place of a text."""

    offset: int  # number of characters of the text before the mark
    reference: str = ""  # key of the reference in `MarkedPage.references`; empty for a tag
    tag: str = ""
    # offsets in the text of the page at which it begins and ends; None where that is not known
    place: Place | None = None


#: Kinds of blocks that are read one after another, and so are context of each other.
PROSE: tuple[Kind, ...] = ("sentence", "list")


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, an item of a list or another piece of text, without its marks."""

    text: str  # plain text on one line; empty for marks that follow a table or a picture
    marks: tuple[Mark, ...] = ()
    section: tuple[str, ...] = ()  # headings above the block, outermost first
    kind: Kind = "sentence"
    is_whole: bool = False  # whether the text is one statement, whatever its punctuation


def joined(blocks: Iterable[Block], section: tuple[str, ...] = (), joint: str = " ") -> Block:
    """Return blocks as one, with their texts separated by a joint."""
    text, marks = "", []
    for block in blocks:
        if text and block.text:
            text += joint
        marks += [replace(mark, offset=len(text) + mark.offset) for mark in block.marks]
        text += block.text
    return Block(text, tuple(marks), section, "list")


_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]]*$")
# Fewest words of a list item or table cell that counts as a sentence; it must also end like one.
_SENTENCE_WORDS = 4


def is_sentence(text: str) -> bool:
    """Return whether a text that may be a fragment ends as a sentence does."""
    return bool(_SENTENCE_END.search(text)) and len(text.split()) >= _SENTENCE_WORDS


@dataclass(frozen=True, slots=True)
class Reference:
    """The target of a reference."""

    citations: tuple[Citation, ...] = ()  # the sources; a bundled reference has several
    tags: tuple[str, ...] = ()  # maintenance tags within the reference
    is_note: bool = False  # whether it is an explanatory note, which is no source


@dataclass(frozen=True, slots=True)
class NamedReference:
    """A reference of wikitext that defines a name, or uses some."""

    place: Place
    keys: tuple[str, ...]  # of references: group and name
    defines: bool = False
    listed: bool = False  # whether it stands in a list of references


@dataclass(frozen=True, slots=True)
class MarkedPage:
    """A page as marked blocks in the order of reading, with its references by key.

    `unknown` counts the templates in its text that the reader does not know, by name.
    """

    title: str
    blocks: tuple[Block, ...] = ()
    references: Mapping[str, Reference] = field(default_factory=dict)
    unknown: Mapping[str, int] = field(default_factory=dict)
    named: tuple[NamedReference, ...] = ()


#: Number of characters of the page that are kept on either side of a claim.
CONTEXT_CHARACTERS = 1500
#: A tag that asks for a source stands alone, where there is no reference.
UNSOURCED = "citation-needed"
_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class MarkedClaim:
    """A claim with its marks, those of its sources and of its tags."""

    claim: CitedClaim
    marks: tuple[Mark, ...]


#: A sentence of running text: the number of its block, and its offsets in it.
_Sentence: TypeAlias = tuple[int, int, int]


def marked_claims(page: MarkedPage, *, lists: bool = True) -> list[MarkedClaim]:
    """Return the claims of a page with their marks, in the order of reading.

    Marks between which there is no word stand together and make one claim. The claim is the
    sentence in front of the mark. Marks that no text precedes belong to the last sentence before
    them in the same section, or else to the one after them.
    """
    notes = {key for key, reference in page.references.items() if reference.is_note}
    blocks = _with_orphans_moved(page.blocks)
    spans = list(map(_spans, blocks))
    prose = [
        (number, *span)
        for number, block in enumerate(blocks)
        if block.kind in PROSE
        for span in spans[number]
    ]
    slug = re.sub(r"\s+", "_", page.title)
    claims = []
    numbers: Counter[str] = Counter()  # of the blocks of a kind; those of prose are counted as one
    for number, block in enumerate(blocks):
        name = "" if block.kind in PROSE else block.kind
        numbers[name] += 1
        count = 0
        is_prose = block.kind in PROSE and is_sentence(block.text)
        if block.kind == "list" and not is_prose and not lists:
            continue
        for group in _clusters(block):
            marks = tuple(mark for mark in group if mark.reference not in notes)
            references = [page.references[mark.reference] for mark in marks if mark.reference]
            tags = [mark.tag for mark in marks if mark.tag]
            sentences = [span for span in spans[number] if span[0] < group[0].offset]
            if not sentences or not (references or UNSOURCED in tags):
                continue
            count += 1
            start, end = sentences[-1]
            until = min(group[0].offset, end)
            others = [m for m in block.marks if m.reference and m.reference not in notes]
            since = max((m.offset for m in others if start < m.offset < until), default=start)
            covered = _trimmed(block.text, start, since, until)
            at = bisect_left(prose, (number, start, 0))
            after = bisect_left(prose, (number, start + 1, 0))
            claim = CitedClaim(
                id=f"{slug}:{name}{numbers[name]}:{count}",
                claim=block.text[start:end],
                page=page.title,
                section=block.section,
                before=_context(blocks, (prose[each] for each in range(at - 1, -1, -1))),
                after=_context(blocks, (prose[each] for each in range(after, len(prose)))),
                span=(covered[0] - start, covered[1] - start),
                kind="sentence" if is_prose else block.kind,
                tags=tuple(dict.fromkeys([*tags, *chain(*(each.tags for each in references))])),
                citations=tuple(dict.fromkeys(chain(*(each.citations for each in references)))),
            )
            claims.append(MarkedClaim(claim, marks))
    return claims


def _spans(block: Block) -> list[tuple[int, int]]:
    return [(0, len(block.text))] if block.is_whole and block.text else sentence_spans(block.text)


def _clusters(block: Block) -> list[list[Mark]]:
    groups: list[list[Mark]] = []
    for mark in block.marks:
        if groups and not _WORD.search(block.text, groups[-1][-1].offset, mark.offset):
            groups[-1].append(mark)
        else:
            groups.append([mark])
    return groups


def _with_orphans_moved(blocks: Sequence[Block]) -> list[Block]:
    """Move marks of blocks that have no text in front of them to the sentence that they follow."""
    moved: list[Block] = []
    last: int | None = None  # where the last paragraph or item of a list is
    waiting: list[Mark] = []  # marks that no text of the section precedes

    def follow(block: Block, marks: Sequence[Mark]) -> Block:
        ends = [replace(mark, offset=len(block.text)) for mark in marks]
        return replace(block, marks=(*block.marks, *ends))

    for block in blocks:
        orphans = [mark for mark in block.marks if not block.text[: mark.offset].strip()]
        others = [mark for mark in block.marks if mark not in orphans]
        if block.kind in PROSE:
            if last is None or moved[last].section != block.section:
                orphans, waiting = [*waiting, *orphans], []
            else:
                moved[last] = follow(moved[last], orphans)
                orphans = []
        if not block.text:
            waiting += orphans
            continue
        if block.kind in PROSE:
            last = len(moved)
        spans = _spans(block) if orphans else []
        first = spans[0][1] if spans else 0
        marks = [*(replace(mark, offset=first) for mark in orphans), *others]
        marks.sort(key=lambda mark: mark.offset)
        moved.append(replace(block, marks=tuple(marks)))
    if waiting and last is not None:
        moved[last] = follow(moved[last], waiting)
    return moved


def _trimmed(text: str, start: int, since: int, until: int) -> tuple[int, int]:
    """Return the part of the claim from the mark before, if any, to the cluster."""
    while since < until and not (text[since].isalnum() or text[since] in "\"'“‘(["):
        since += 1
    if not _WORD.search(text, since, until):  # nothing but punctuation between two marks
        since = start
    while until > since and text[until - 1].isspace():
        until -= 1
    return since, until


def _context(blocks: Sequence[Block], sentences: Iterable[_Sentence]) -> str:
    """Return sentences of running text up to a length; those of each block on a line of its own."""
    left = CONTEXT_CHARACTERS
    kept: list[_Sentence] = []
    for number, start, end in sentences:
        left -= end - start + 1
        if left < 0:
            break
        kept.append((number, start, end))
    lines: dict[int, tuple[int, int]] = {}
    for number, start, end in sorted(kept):
        lines[number] = (lines.get(number, (start, end))[0], end)
    return "\n".join(blocks[at].text[start:end] for at, (start, end) in lines.items())
