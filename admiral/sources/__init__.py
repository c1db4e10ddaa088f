"""Sources that can be cited: documents that have a URL, found by it and searched by passages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """A page that can be cited."""

    # as given; two sources are the same page if their canonical URLs are equal. For a file without
    # one, its absolute path
    url: str
    title: str
    text: str  # plain text of the page; empty if nothing could be read
    # site, date, language, archive_url: further metadata; empty if unknown. `date` is ISO 8601.
    site: str = ""
    date: str = ""
    language: str = ""
    archive_url: str = ""

    @property
    def is_file(self) -> bool:
        """Whether it is a file without a URL."""
        return self.url.startswith("/")

    @property
    def states_english(self) -> bool:
        """Whether its metadata name a kind of English, such as ``en-GB``, as its language."""
        return self.language.lower().startswith("en")


@dataclass(frozen=True, slots=True)
class Passage:
    """A window of a source's text."""

    url: str
    title: str
    number: int  # position among the passages of the source, from 0
    start: int  # start, end: character offsets in the text of the source
    end: int
    text: str  # ``source.text[start:end]``


@dataclass(frozen=True, slots=True)
class ScoredPassage:
    """A passage found by a search; a higher score is better."""

    passage: Passage
    score: float
