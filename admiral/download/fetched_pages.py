"""Keep fetched pages in web archives, and a log of all addresses, so that a run can resume.

A folder holds an archive (WARC) for each run and ``outcomes.jsonl``, of which a line is about an
address, or about an archive whose pages were added to the library. A page is on the disk before its
line is written.
"""

from __future__ import annotations

import io
import json
import re
import time
from pathlib import Path

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from admiral.download.page_fetch import TRANSIENT, FetchedPage, FetchError
from admiral.library.canonical_urls import canonical
from admiral.library.readers.warc_files import COPY_OF
from admiral.storage.atomic_files import (
    WriterLock,
    encode_record,
    explain_write_errors,
    sync_path,
)

_CAPTURED = re.compile(r"https?://web\.archive\.org/web/(\d{4})(\d{2})(\d{2})")


class FetchedPages:
    """The folder of fetched pages of a library; use it as a context manager.

    Raises AdmiralError if another process fetches into the folder, or it cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._outcomes = folder / "outcomes.jsonl"
        self._lock = WriterLock(folder / "fetch.lock", folder, "fetching pages")
        self._failed: dict[str, str] = {}
        self._added: set[str] = set()
        self._archive: Path | None = None

    def __enter__(self) -> FetchedPages:
        with explain_write_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        self._read()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def problem(self, url: str) -> str:
        """Return why a page could not be fetched before; empty if another attempt may succeed."""
        return self._failed.get(canonical(url), "")

    def save(self, url: str, page: FetchedPage) -> None:
        """Save a page under the address that is cited."""
        if self._archive is None:
            self._archive = self.folder / f"pages-{len(self.archives()) + 1}.warc.gz"
        headers = {"WARC-Date": _date(page.url)}
        if canonical(page.url) != canonical(url) or page.url != url:
            headers[COPY_OF] = page.url
        with explain_write_errors(self._archive), self._archive.open("ab") as file:
            writer = WARCWriter(file, gzip=True)
            record = writer.create_warc_record(
                url,
                "response",
                payload=io.BytesIO(page.content),
                length=len(page.content),
                http_headers=StatusAndHeaders(
                    "200 OK", [("Content-Type", page.content_type)], protocol="HTTP/1.1"
                ),
                warc_headers_dict=headers,
            )
            writer.write_record(record)
            file.flush()
        sync_path(self._archive)
        self._write({"url": url, "outcome": "fetched", "from": page.url})

    def note(self, url: str, error: FetchError) -> None:
        """Note why a page could not be fetched."""
        self._write({"url": url, "outcome": error.problem, "message": str(error)})

    def archives(self) -> list[Path]:
        """Return the archives of all runs, the oldest first."""
        return sorted(self.folder.glob("pages-*.warc.gz"), key=_number)

    def not_added(self) -> list[Path]:
        """Return the archives whose pages were not added to the library."""
        return [path for path in self.archives() if path.name not in self._added]

    def note_added(self) -> None:
        """Note that the pages of all archives were added to the library."""
        for path in self.not_added():
            self._added.add(path.name)
            self._write({"added": path.name})
        self._archive = None

    def _read(self) -> None:
        if not self._outcomes.exists():
            return
        data = self._outcomes.read_bytes()
        if data and not data.endswith(b"\n"):  # of a run that was killed
            with self._outcomes.open("ab") as file:
                file.write(b"\n")
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

    def _write(self, record: dict[str, str]) -> None:
        with explain_write_errors(self._outcomes), self._outcomes.open("ab") as file:
            file.write(encode_record(record))
            file.flush()


def _number(path: Path) -> int:
    digits = path.name.removeprefix("pages-").partition(".")[0]
    return int(digits) if digits.isdecimal() else 0


def _date(url: str) -> str:
    """Return when a page was captured: that of an archived copy is in its address."""
    if match := _CAPTURED.match(url):
        return f"{'-'.join(match.groups())}T00:00:00Z"
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
