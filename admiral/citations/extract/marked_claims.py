"""Claims in context from marked blocks: each cluster of marks with the sentence in front of it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from admiral.citations.citation_records import Citation, CitedClaim, Kind
from admiral.citations.extract.marked_blocks import (
    PROSE,
    Block,
    Mark,
    MarkedPage,
    Reference,
    is_sentence,
)
from admiral.io.sentence_splitter import sentence_spans

#: Number of characters of the page that are kept on either side of a claim.
CONTEXT_CHARACTERS = 1500
#: A tag that asks for a source stands alone, where there is no reference.
UNSOURCED = "citation-needed"
_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class _Cluster:
    """Marks that stand together, and the sentence in front of them."""

    offset: int
    sentence: tuple[int, int]
    references: tuple[str, ...]
    tags: tuple[str, ...]
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class MarkedClaim:
    """A claim with its marks, those of its sources and of its tags."""

    claim: CitedClaim
    marks: tuple[Mark, ...]


def marked_claims(page: MarkedPage, *, lists: bool = True) -> list[MarkedClaim]:
    """Return the claims of a page with their marks, in the order of reading.

    Marks between which there is no word stand together and make one claim. The claim is the
    sentence in front of the mark. Marks that no text precedes belong to the last sentence before
    them in the same section, or else to the one after them.
    """
    blocks = _with_orphans_moved(page.blocks)
    spans = [_spans(block) for block in blocks]
    context = _Context(blocks, spans)
    slug = re.sub(r"\s+", "_", page.title)
    claims = []
    numbers: Counter[str] = Counter()  # of the blocks of a kind; those of prose are counted as one
    for number, block in enumerate(blocks, 1):
        name = "" if block.kind in PROSE else block.kind
        numbers[name] += 1
        if block.kind == "list" and not is_sentence(block.text) and not lists:
            continue
        is_prose = block.kind in PROSE and is_sentence(block.text)
        kind: Kind = "sentence" if is_prose else block.kind
        for count, cluster in enumerate(_clusters(block, spans[number - 1], page), 1):
            start, end = cluster.sentence
            citations, tags = _cited(cluster, page)
            claim = CitedClaim(
                id=f"{slug}:{name}{numbers[name]}:{count}",
                claim=block.text[start:end],
                page=page.title,
                section=block.section,
                before=context.before(number - 1, start),
                after=context.after(number - 1, start),
                span=_span(block, cluster, page),
                kind=kind,
                tags=tags,
                citations=citations,
            )
            claims.append(MarkedClaim(claim, cluster.marks))
    return claims


def _spans(block: Block) -> list[tuple[int, int]]:
    return [(0, len(block.text))] if block.is_whole and block.text else sentence_spans(block.text)


def _with_orphans_moved(blocks: Sequence[Block]) -> list[Block]:
    """Move marks of blocks that have no text in front of them to the sentence that they follow."""
    moved: list[Block] = []
    last: int | None = None  # where the last paragraph or item of a list is
    waiting: list[Mark] = []  # marks that no text of the section precedes

    def add_to_last(marks: Sequence[Mark]) -> None:
        assert last is not None
        block = moved[last]
        ends = [replace(mark, offset=len(block.text)) for mark in marks]
        moved[last] = replace(block, marks=(*block.marks, *ends))

    for block in blocks:
        orphans = [mark for mark in block.marks if not block.text[: mark.offset].strip()]
        others = [mark for mark in block.marks if mark not in orphans]
        if block.kind in PROSE:
            follows = last is not None and moved[last].section == block.section
            if waiting and not follows:
                orphans, waiting = [*waiting, *orphans], []
            if orphans and follows:
                add_to_last(orphans)
                orphans = []
        if not block.text:
            waiting += orphans
            continue
        spans = _spans(block) if orphans else []
        first = spans[0][1] if spans else 0
        ends = [replace(mark, offset=first) for mark in orphans]
        marks = sorted([*ends, *others], key=lambda mark: mark.offset)
        if block.kind in PROSE:
            last = len(moved)
        moved.append(replace(block, marks=tuple(marks)))
    if waiting and last is not None:
        add_to_last(waiting)
    return moved


def _clusters(
    block: Block, spans: Sequence[tuple[int, int]], page: MarkedPage
) -> Iterator[_Cluster]:
    """Yield the clusters of a block that have a source, or ask for one."""
    groups: list[list[Mark]] = []
    for mark in block.marks:
        if groups and not _WORD.search(block.text, groups[-1][-1].offset, mark.offset):
            groups[-1].append(mark)
        else:
            groups.append([mark])
    for group in groups:
        offset = group[0].offset
        keys = dict.fromkeys(mark.reference for mark in group if mark.reference)
        sources = tuple(key for key in keys if not _reference(page, key).is_note)
        tags = tuple(dict.fromkeys(mark.tag for mark in group if mark.tag))
        sentence = next((span for span in reversed(spans) if span[0] < offset), None)
        if sentence is not None and (sources or UNSOURCED in tags):
            yield _Cluster(
                offset,
                sentence,
                sources,
                tags,
                tuple(mark for mark in group if mark.tag or mark.reference in sources),
            )


def _cited(cluster: _Cluster, page: MarkedPage) -> tuple[tuple[Citation, ...], tuple[str, ...]]:
    references = [_reference(page, key) for key in cluster.references]
    citations = dict.fromkeys(each for reference in references for each in reference.citations)
    tags = dict.fromkeys([*cluster.tags, *(tag for each in references for tag in each.tags)])
    return tuple(citations), tuple(tags)


def _reference(page: MarkedPage, key: str) -> Reference:
    return page.references.get(key) or Reference()


def _span(block: Block, cluster: _Cluster, page: MarkedPage) -> tuple[int, int]:
    """Return the part of the claim from the mark before, if any, to the cluster."""
    start, end = cluster.sentence
    until = min(cluster.offset, end)
    marks = [mark for mark in block.marks if mark.reference and start < mark.offset < until]
    sources = [mark.offset for mark in marks if not _reference(page, mark.reference).is_note]
    since = max(sources, default=start)
    text = block.text
    while since < until and not (text[since].isalnum() or text[since] in "\"'“‘(["):
        since += 1
    if not _WORD.search(text, since, until):  # nothing but punctuation between two marks
        since = start
    while until > since and text[until - 1].isspace():
        until -= 1
    return since - start, until - start


class _Context:
    """The sentences of running text on either side of a claim."""

    def __init__(self, blocks: Sequence[Block], spans: Sequence[Sequence[tuple[int, int]]]) -> None:
        self._blocks = blocks
        self._places = [
            (number, start, end)
            for number, row in enumerate(spans)
            if blocks[number].kind in PROSE
            for start, end in row
        ]

    def before(self, number: int, start: int) -> str:
        """Return the sentences before that of a block which begins at an offset."""
        last = first = bisect_left(self._places, (number, start, 0))
        length = 0
        while first > 0 and (length := length + self._length(first - 1)) <= CONTEXT_CHARACTERS:
            first -= 1
        return self._text(first, last)

    def after(self, number: int, start: int) -> str:
        """Return the sentences after that of a block which begins at an offset."""
        first = last = bisect_left(self._places, (number, start + 1, 0))
        length = 0
        while (
            last < len(self._places)
            and (length := length + self._length(last)) <= CONTEXT_CHARACTERS
        ):
            last += 1
        return self._text(first, last)

    def _length(self, index: int) -> int:
        _, start, end = self._places[index]
        return end - start + 1

    def _text(self, first: int, last: int) -> str:
        """Return sentences of the page; those of different blocks are on lines of their own."""
        lines: dict[int, tuple[int, int]] = {}
        for number, start, end in self._places[first:last]:
            lines[number] = (lines.get(number, (start, end))[0], end)
        return "\n".join(self._blocks[at].text[start:end] for at, (start, end) in lines.items())
