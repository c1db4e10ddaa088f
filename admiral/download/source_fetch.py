"""Fetch the sources that pages cite, and keep their pages and why others could not be fetched.

A folder has ``pages-1.warc.gz`` and so on, an archive for each run that fetched something, of the
cited addresses, and ``outcomes.jsonl``, of which a line is about an address, or about an archive
whose pages were added to the knowledge base. A page is on the disk before its line is written, so
that a run can resume.
"""

from __future__ import annotations

import asyncio
import io
import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from admiral.download.page_fetch import TRANSIENT, FetchedPage, FetchError, PageFetcher
from admiral.sources.canonical_urls import canonical
from admiral.sources.page_reading import COPY_OF
from admiral.storage.atomic_files import encode_record, explain_write_errors, sync_path

_ARCHIVE = r"https?://web\.archive\.org/web/"
_COPY = re.compile(rf"({_ARCHIVE}\d{{4,14}})/")
_CAPTURED = re.compile(rf"{_ARCHIVE}(\d{{4}})(\d{{2}})(\d{{2}})")
_ENOUGH_OFFLINE = 5  # addresses of hosts that are not known, after which no others are tried


@dataclass(frozen=True, slots=True)
class WantedSource:
    """A source to fetch."""

    url: str
    archive_url: str = ""  # of the copy that a reference links to
    date: str = ""  # of the copy that is wanted of an archive, as YYYYMMDD


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of fetching a source: its page, or why there is none."""

    source: WantedSource
    page: FetchedPage | None
    error: FetchError | None  # of the page itself, or else of the last attempt


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

    def is_offline() -> bool:
        problems = [each.error.problem if each.error else "" for each in outcomes]
        return len(problems) >= _ENOUGH_OFFLINE and set(problems) == {"offline"}

    async def work() -> None:
        for source in waiting:
            if is_offline():
                return
            outcome = await _fetch_one(source, fetcher, archive)
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
    return Outcome(source, None, errors.get(source.url) or list(errors.values())[-1])


def candidates(source: WantedSource, archive: str = "") -> list[str]:
    """Return the addresses at which a source is looked for, in this order, each once.

    `archive`: address of an archive with ``{url}`` and, if wanted, ``{date}``.
    """
    copy = _COPY.sub(r"\1id_/", source.archive_url, count=1)  # without the bar of the archive
    latest = archive.replace("{date}", source.date or "2").replace("{url}", source.url)
    return list(dict.fromkeys(filter(None, (copy, source.url, latest))))


class FetchedPages:
    """The folder of fetched pages of a knowledge base."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._outcomes = folder / "outcomes.jsonl"
        self._failed: dict[str, str] = {}
        self._added: set[str] = set()
        with explain_write_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._outcomes.touch()
        self._archive = folder / f"pages-{len(self.archives()) + 1}.warc.gz"
        data = self._outcomes.read_bytes()
        if data and not data.endswith(b"\n"):  # of a run that was killed
            self._outcomes.write_bytes(data + b"\n")
        for line in data.splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if "added" in record:
                self._added.add(record["added"])
            elif record["outcome"] == "fetched":
                self._failed.pop(canonical(record["url"]), None)
            elif record["outcome"] not in TRANSIENT:
                self._failed[canonical(record["url"])] = record["message"]

    def problem(self, url: str) -> str:
        """Return why a page could not be fetched before; empty if another attempt may succeed."""
        return self._failed.get(canonical(url), "")

    def save(self, url: str, page: FetchedPage) -> None:
        """Save a page under the address that is cited."""
        captured = _CAPTURED.match(page.url)
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        headers = {"WARC-Date": f"{'-'.join(captured.groups())}T00:00:00Z" if captured else now}
        if page.url != url:
            headers[COPY_OF] = page.url
        content_type = [("Content-Type", page.content_type)]
        with explain_write_errors(self._archive), self._archive.open("ab") as file:
            writer = WARCWriter(file, gzip=True)
            record = writer.create_warc_record(
                url,
                "response",
                payload=io.BytesIO(page.content),
                length=len(page.content),
                http_headers=StatusAndHeaders("200 OK", content_type, protocol="HTTP/1.1"),
                warc_headers_dict=headers,
            )
            writer.write_record(record)
        sync_path(self._archive)
        self._append({"url": url, "outcome": "fetched", "from": page.url})

    def note(self, url: str, error: FetchError) -> None:
        """Note why a page could not be fetched."""
        self._append({"url": url, "outcome": error.problem, "message": str(error)})

    def archives(self) -> list[Path]:
        """Return the archives of all runs, the oldest first."""
        paths = self.folder.glob("pages-*.warc.gz")
        return sorted(paths, key=lambda path: (len(path.name), path.name))

    def not_added(self) -> list[Path]:
        """Return the archives whose pages were not added to the knowledge base."""
        return [path for path in self.archives() if path.name not in self._added]

    def note_added(self) -> None:
        """Note that the pages of all archives were added to the knowledge base."""
        for path in self.not_added():
            self._added.add(path.name)
            self._append({"added": path.name})
        self._archive = self.folder / f"pages-{len(self.archives()) + 1}.warc.gz"

    def _append(self, record: dict[str, str]) -> None:
        with explain_write_errors(self._outcomes), self._outcomes.open("ab") as file:
            file.write(encode_record(record))
