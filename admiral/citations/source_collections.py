"""Collections of sources: a library on disk, or sources in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from admiral.library import Passage, Source
from admiral.library.canonical_urls import canonical
from admiral.library.passage_windows import windows

#: Words of a passage, and from one passage to the next.
WORDS, STRIDE = 100, 50


class SourceCollection(Protocol):
    """Sources by URL, such as a library."""

    def source(self, url: str) -> Source | None:
        """Return the source with this URL, whatever its form, or None."""
        ...

    def passages(self, url: str) -> tuple[Passage, ...]:
        """Return the passages of a source in the order of its text."""
        ...


#: Returns the text of a source by its URL, or None if it is not known.
SourceText = Callable[[str], str | None]


def source_texts(sources: SourceCollection) -> SourceText:
    """Return what gives the texts of a collection."""

    def text(url: str) -> str | None:
        source = sources.source(url)
        return None if source is None else source.text

    return text


class LoadedSources:
    """Sources in memory.

    `sources`: the sources; of several with one URL, the last counts.
    """

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = {canonical(source.url): source for source in sources}

    def source(self, url: str) -> Source | None:
        """Return the source with this URL, or None."""
        return self._sources.get(canonical(url))

    def passages(self, url: str) -> tuple[Passage, ...]:
        """Return the passages of a source in the order of its text."""
        source = self.source(url)
        return () if source is None else cut_source(source)


def cut_source(source: Source, words: int = WORDS, stride: int = STRIDE) -> tuple[Passage, ...]:
    """Return the passages of a source."""
    return tuple(
        Passage(source.url, source.title, number, start, end, source.text[start:end])
        for number, (start, end) in enumerate(windows(source.text, words, stride))
    )


def passage_texts(passages: Iterable[Passage]) -> Sequence[str]:
    """Return what a passage is searched by: its title and its text."""
    return [f"{passage.title} {passage.text}" for passage in passages]
