"""A page as the readers of wikitext and HTML return it: text with marks, and references.

Each cluster of marks, with the sentence in front of it, is a claim in context.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from admiral.citations.citation_records import Citation, CitedClaim, Kind
from admiral.io.sentence_splitter import sentence_spans

# Tag -> names of its template and of the redirects to it, in lower case.
_NAMES = {
    tag: tuple(names.split(", "))
    for tag, names in {
        "failed-verification": (
            "failed verification, failed verification span, fv, nicg, not in citation, not in "
            "citation given, not in ref, not in reference, not in source, notincitation"
        ),
        "dead-link": (
            "dead link, dead links, deadlink, broken link, link broken, permanent dead link"
        ),
        "better-source-needed": (
            "better source needed, better source, bsn, better reference needed, better citation "
            "needed, primary source inline, non-primary source needed, third-party source "
            "needed"
        ),
        "citation-needed": (
            "citation needed, citation needed span, cn, fact, facts, fact or opinion, cn span, "
            "needs citation, need citation, source needed, sourceme, source?, citeneeded, cite "
            "needed, uncited, unreferenced inline, reference needed, ref needed, refneeded, "
            "citation requested"
        ),
        "unreliable-source": (
            "unreliable source, unreliable source?, unreliable source inline, unreliable "
            "inline, rs?, reliable source?, reliable?, unreliable?, unreliable medical source, "
            "medrs, self-published inline, self-published source, self-published source?, "
            "deprecated inline, user-generated inline, user-generated source"
        ),
        "verify-source": (
            "verify source, verify inline, verification needed, verify, source verify, vs, vn, "
            "check source, needs verification, verify quote, verify credibility"
        ),
        "original-research": "original research inline, or inline, original research?",
        "dubious": "dubious, dubious inline, disputed inline, disputed-inline",
        "page-needed": "page needed, page number needed, pn, page?",
    }.items()
}
#: The tags that readers know.
TAGS = tuple(_NAMES)
_TAG_OF = {name: tag for tag, names in _NAMES.items() for name in names}


def tag_of(name: str) -> str:
    """Return the tag that a template, or the text of a mark, stands for; empty for others.

    `name`: name or text in any case, with spaces, hyphens or underscores between words.
    """
    words = " ".join(re.sub(r"[\s_]+", " ", name).casefold().split())
    return _TAG_OF.get(words) or _TAG_OF.get(words.replace("-", " "), "")


# Groups of footnotes that explain; all others, such as "web", hold sources.
_NOTE_GROUP = re.compile(
    r"(note|fn|footnote|nb|n|nota|explanatory note|annotation)s?\.?"
    r"|(lower|upper)-(alpha|roman|greek)|(?![brsw])[a-z]",  # b, r, s, w: books, sources, the web
    re.IGNORECASE,
)


def is_note_group(group: str) -> bool:
    """Return whether a group of references holds explanatory notes, by its name."""
    return bool(_NOTE_GROUP.fullmatch(group.strip()))


@dataclass(frozen=True, slots=True)
class Mark:
    """A reference mark or a maintenance tag at a place of a text."""

    offset: int  # number of characters of the text before the mark
    reference: str = ""  # key of the reference in `MarkedPage.references`; empty for a tag
    tag: str = ""
    # offsets in the text of the page at which it begins and ends; None where that is not known
    place: tuple[int, int] | None = None


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


def joined(blocks: Iterable[Block], section: tuple[str, ...] = (), kind: Kind = "list") -> Block:
    """Return blocks as one, with their texts separated by spaces."""
    text, marks = "", []
    for block in blocks:
        if text and block.text:
            text += " "
        marks += [replace(mark, offset=len(text) + mark.offset) for mark in block.marks]
        text += block.text
    return Block(text, tuple(marks), section, kind)


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
class MarkedPage:
    """A page as marked blocks in the order of reading, with its references by key.

    `unknown` counts the templates in its text that the reader does not know, by name.
    """

    title: str
    blocks: tuple[Block, ...] = ()
    references: Mapping[str, Reference] = field(default_factory=dict)
    unknown: Mapping[str, int] = field(default_factory=dict)


class BlockBuilder:
    """Collects text and marks piece by piece; white space is collapsed."""

    def __init__(self, section: tuple[str, ...] = (), kind: Kind = "sentence") -> None:
        self.section, self.kind = section, kind
        self._pieces: list[str] = []
        self._length = 0
        self._last = " "  # the last character
        self._marks: list[Mark] = []
        self._gap = False  # something was left out after the last character

    @property
    def tail(self) -> str:
        """The last characters of the text so far."""
        return "".join(self._pieces[-4:])[-40:]

    @property
    def is_empty(self) -> bool:
        """Whether there is no text so far."""
        return not self._length

    def add_text(self, text: str) -> None:
        """Append text."""
        if self._gap and text.strip():
            text = self._without_remains(text)
        words = text.split()
        if not words:
            if text and self._last != " ":
                self._append(" ")
            return
        # A mark is often the only thing between two sentences.
        marked = bool(self._marks) and self._marks[-1].offset == self._length
        if self._last != " " and (
            text[0].isspace() or (marked and self._last in ".!?\"'”’)" and words[0][0].isalnum())
        ):
            self._append(" ")
        self._append(" ".join(words))
        if text[-1].isspace():
            self._append(" ")

    def leave_out(self) -> None:
        """Note that something is left out here, so that punctuation around it is removed."""
        self._gap = True

    def _without_remains(self, text: str) -> str:
        self._gap = False
        before = "".join(self._pieces).rstrip()
        if not before.endswith("("):
            return text
        rest = text.lstrip(" ,;:\n")
        is_marked = bool(self._marks) and self._marks[-1].offset >= len(before)
        if rest.startswith(")") and not is_marked:
            before = before[:-1].rstrip()
            rest = rest[1:]
        self._pieces, self._length = [before] if before else [], len(before)
        self._last = before[-1:] or " "
        return rest

    def add_mark(
        self, reference: str = "", tag: str = "", place: tuple[int, int] | None = None
    ) -> None:
        """Append a mark."""
        self._marks.append(Mark(self._length, reference, tag, place))

    def build(self) -> Block | None:
        """Return the block, or None if it has neither text nor marks."""
        text = "".join(self._pieces).rstrip()
        if not text and not self._marks:
            return None
        marks = tuple(replace(mark, offset=min(mark.offset, len(text))) for mark in self._marks)
        return Block(text, marks, self.section, self.kind)

    def _append(self, piece: str) -> None:
        self._pieces.append(piece)
        self._length += len(piece)
        self._last = piece[-1]


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
