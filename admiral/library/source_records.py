"""The records of a library: sources, their passages, and passages with scores."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """A page that can be cited.

    Attributes
    ----------
    url
        As given; two sources are the same page if their canonical URLs are equal.
    title
        Title of the page; may be empty.
    text
        Plain text of the page; empty if nothing could be read.
    site, date, language, archive_url
        Further metadata; empty if unknown. `date` is ISO 8601.
    """

    url: str
    title: str
    text: str
    site: str = ""
    date: str = ""
    language: str = ""
    archive_url: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """A window of a source's text.

    Attributes
    ----------
    url, title
        Of the source.
    number
        Position among the passages of the source, from 0.
    start, end
        Character offsets in the text of the source.
    text
        ``source.text[start:end]``.
    """

    url: str
    title: str
    number: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class ScoredPassage:
    """A passage found by a search; a higher score is better."""

    passage: Passage
    score: float
