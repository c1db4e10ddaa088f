"""Fetch the sources that pages cite: an archived copy first, then the page, then an archive."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from admiral.download.fetched_pages import FetchedPages
from admiral.download.page_fetch import FetchedPage, FetchError, PageFetcher

# Copies without the bar that the archive adds.
_COPY = re.compile(r"(https?://web\.archive\.org/web/\d{4,14})/")
_ENOUGH_OFFLINE = 5  # addresses of hosts that are not known, after which no others are tried


@dataclass(frozen=True, slots=True)
class WantedSource:
    """A source to fetch."""

    url: str
    archive_url: str = ""  # of the copy that a reference links to
    date: str = ""  # of the copy that is wanted of an archive, as YYYYMMDD


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of fetching a source."""

    source: WantedSource
    page: FetchedPage | None  # None if it was not fetched
    error: FetchError | None  # why not: of the page itself, or of the last attempt


def candidates(source: WantedSource, archive: str = "") -> list[str]:
    """Return the addresses at which a source is looked for, in this order, each once.

    `archive`: address of an archive with ``{url}`` and, if wanted, ``{date}``.
    """
    copy = _COPY.sub(r"\1id_/", source.archive_url, count=1)
    wanted = [copy, source.url]
    if archive:
        wanted.append(archive.replace("{date}", source.date or "2").replace("{url}", source.url))
    return list(dict.fromkeys(filter(None, wanted)))


async def fetch_sources(
    sources: Sequence[WantedSource],
    fetcher: PageFetcher,
    pages: FetchedPages,
    *,
    archive: str = "",
    jobs: int = 4,
    report: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """Fetch sources, save their pages, and return the outcome of each.

    If this machine is offline, the rest is not tried, and has no outcome. `archive`: see
    `candidates`. `jobs`: number of hosts that are asked at once. `report`: called with each
    outcome.
    """
    outcomes: list[Outcome] = []
    waiting = iter(sources)
    offline: set[str] = set()  # hosts that are not known, while nothing else answered
    answered = False

    async def work() -> None:
        nonlocal answered
        for source in waiting:
            if not answered and len(offline) >= _ENOUGH_OFFLINE:
                return
            outcome = await _fetch_one(source, fetcher, archive)
            if outcome.error is not None and outcome.error.problem == "offline":
                offline.add(source.url)
            else:
                answered = True
            if outcome.page is not None:
                pages.save(source.url, outcome.page)
            elif outcome.error is not None:
                pages.note(source.url, outcome.error)
            outcomes.append(outcome)
            report(outcome)

    await asyncio.gather(*(work() for _ in range(jobs)))
    return outcomes


async def _fetch_one(source: WantedSource, fetcher: PageFetcher, archive: str) -> Outcome:
    errors: dict[str, FetchError] = {}
    for url in candidates(source, archive):
        try:
            return Outcome(source, await fetcher.fetch(url), None)
        except FetchError as error:
            errors[url] = error
    last = next(reversed(errors.values()), FetchError("not_a_page", f"{source.url}: is no address"))
    return Outcome(source, None, errors.get(source.url, last))
