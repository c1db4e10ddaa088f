"""Resumable downloads of the public data sets from their official addresses."""

from __future__ import annotations

import hashlib
import ssl
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import httpx
import yaml
from pydantic import BaseModel

import admiral
from admiral.errors import AdmiralError, first_line
from admiral.storage.atomic_files import explain_write_errors, publish_file


class RemoteFile(BaseModel):
    """A file to download, with its length in bytes and its MD5 checksum if they are published."""

    url: str
    size: int | None = None
    md5: str | None = None

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.url.rpartition("/")[2]


class DataSet(BaseModel):
    """A data set: the page with its addresses, its files, and what to do with these."""

    page: str
    files: tuple[RemoteFile, ...]
    next_step: str


def data_set(name: str) -> DataSet:
    """Return a data set of ``data_sets.yaml``."""
    text = (files("admiral.download") / "data_sets.yaml").read_text("utf-8")
    return DataSet(**yaml.safe_load(text)[name])


_MAX_WAIT = 60.0
# Too many requests, and temporary server errors.
_RETRIED_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})


def fetch(
    file: RemoteFile,
    target: Path,
    report: Callable[[int, int | None], None] = lambda done, total: None,
    attempts: int = 6,
    wait: float = 1.0,
) -> bool:
    """Download a file unless it exists, and return whether it was downloaded.

    The received part is kept in ``target.partial``, after which another attempt and the next call
    resume. The file is renamed to `target` once its length and checksum are verified.

    - `report`: called with the number of bytes received and the total, None if it is not known.
    - `attempts`: maximum number of consecutive attempts that receive nothing new.
    - `wait`: seconds before the second attempt; doubled for each further attempt, up to a minute.
    """
    if target.exists():
        if mismatch := _mismatch(file, target):
            remedy = "Move it away to download it again"
            raise AdmiralError(f"{target}: exists, but {mismatch}. {remedy}")
        return False
    partial = target.with_name(target.name + ".partial")
    # The certificates of the operating system, as of other programs, instead of httpx's own list;
    # byte ranges are of the file itself.
    client = httpx.Client(
        headers={"User-Agent": f"admiral/{admiral.__version__}", "Accept-Encoding": "identity"},
        follow_redirects=True,
        timeout=60.0,
        verify=ssl.create_default_context(),
    )
    with explain_write_errors(target), client:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.touch()
        failures, furthest = 0, partial.stat().st_size
        while True:
            try:
                _receive(client, file.url, partial, report)
                break
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                size = partial.stat().st_size
                failures = 0 if size > furthest else failures + 1
                furthest = max(size, furthest)
                if failures >= attempts or not _is_transient(error):
                    raise AdmiralError(
                        f"{file.url}: {first_line(error)}. This machine may be offline, or the "
                        "file may have moved. Run the same command again to resume, give another "
                        f"folder with --base, or put the file there by other means as {target.name}"
                    ) from error
            time.sleep(min(wait * 2 ** max(failures - 1, 0), _MAX_WAIT))
        if mismatch := _mismatch(file, partial):
            partial.unlink()
            remedy = "it was deleted. Try again later"
            raise AdmiralError(f"{file.url}: the download {mismatch}; {remedy}")
        publish_file(partial, target)
    return True


def _receive(
    client: httpx.Client, url: str, partial: Path, report: Callable[[int, int | None], None]
) -> None:
    """Append what is missing to a partial file, or start again if the server does not do ranges."""
    done = partial.stat().st_size
    with client.stream("GET", url, headers={"Range": f"bytes={done}-"} if done else {}) as response:
        content_range = response.headers.get("Content-Range", "")
        if content_range == f"bytes */{done}":  # there is nothing after the last byte
            return
        response.raise_for_status()
        if not content_range.startswith(f"bytes {done}-"):
            done = 0
        length = response.headers.get("Content-Length")
        total = None if length is None else done + int(length)
        with partial.open("ab") as out:
            out.truncate(done)
            for chunk in response.iter_raw():
                out.write(chunk)
                done += len(chunk)
                report(done, total)


def _is_transient(error: Exception) -> bool:
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in _RETRIED_STATUSES
    return isinstance(error, httpx.TransportError) and not isinstance(
        error, httpx.UnsupportedProtocol
    )


def _mismatch(file: RemoteFile, path: Path) -> str | None:
    """Return how a complete file differs from what was published; None if it does not."""
    size = path.stat().st_size
    if file.size is not None and size != file.size:
        return f"has {size} bytes, not the published {file.size}"
    if file.md5 is not None:
        with path.open("rb") as content:
            md5 = hashlib.file_digest(content, "md5").hexdigest()
        if md5 != file.md5:
            return f"has the MD5 checksum {md5}, not the published {file.md5}"
    return None
