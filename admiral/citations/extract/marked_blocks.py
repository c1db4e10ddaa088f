"""A page as the readers of wikitext and HTML return it: text with marks, and references."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from admiral.citations.citation_records import Citation, Kind

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
