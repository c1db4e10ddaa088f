"""Resumable downloads of the public data sets from their official addresses."""

from __future__ import annotations

import hashlib
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx

import admiral
from admiral.errors import AdmiralError, first_line
from admiral.storage.atomic_files import explain_write_errors, publish_file


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file to download."""

    name: str
    url: str
    size: int | None = None  # published length in bytes; None if it is not published
    md5: str | None = None  # published MD5 checksum in hexadecimal; None if it is not published


@dataclass(frozen=True, slots=True)
class DataSet:
    """The files of a data set."""

    page: str  # page on which the authors publish the addresses
    files: tuple[RemoteFile, ...]
    next_step: str  # what to do with the files; ``{out}`` stands for their folder


_FEVER = "https://fever.ai/download/fever"
# FEVEROUS's page gives the DOI of this record, 10.5281/zenodo.4911508; Zenodo has the checksums.
_FEVEROUS = "https://zenodo.org/records/4911508/files"
# Repository of HoVer's authors, from which their script downloads everything but the corpus.
_HOVER = "https://raw.githubusercontent.com/hover-nlp/hover/main/data/hover"
_ABSTRACTS = "enwiki-20171001-pages-meta-current-withlinks-abstracts"

DATA_SETS = {
    "fever": DataSet(
        "https://fever.ai/dataset/fever.html",
        (
            RemoteFile("train.jsonl", f"{_FEVER}/train.jsonl"),
            RemoteFile("shared_task_dev.jsonl", f"{_FEVER}/shared_task_dev.jsonl"),
            RemoteFile("shared_task_test.jsonl", f"{_FEVER}/shared_task_test.jsonl"),
            # The adversarial claims of FEVER 2.0: https://fever.ai/dataset/adversarial.html
            RemoteFile(
                "fever2-fixers-dev.jsonl",
                "https://fever.ai/download/fever2.0/fever2-fixers-dev.jsonl",
            ),
            RemoteFile("wiki-pages.zip", f"{_FEVER}/wiki-pages.zip"),
        ),
        "Unpack wiki-pages.zip, then: admiral index {out}/wiki-pages --kb KB",
    ),
    "hover": DataSet(
        "https://github.com/hover-nlp/hover",
        tuple(
            RemoteFile(name, f"{_HOVER}/{name}")
            for name in (
                "hover_train_release_v1.1.json",
                "hover_dev_release_v1.1.json",
                "hover_test_release_v1.1.json",
            )
        ),
        "The corpus of these claims is: admiral download hotpotqa-abstracts",
    ),
    "feverous": DataSet(
        "https://fever.ai/dataset/feverous.html",
        (
            RemoteFile(
                "train.jsonl",
                f"{_FEVEROUS}/train.jsonl",
                175_493_294,
                "d8d4634760dad714b4cc30e43d25e589",
            ),
            RemoteFile(
                "dev.jsonl", f"{_FEVEROUS}/dev.jsonl", md5="56150713a60ecf3ea0f32f42561e1082"
            ),
            RemoteFile(
                "feverous-wiki-pages-db.zip",
                f"{_FEVEROUS}/feverous-wiki-pages-db.zip",
                md5="b01271df477efdfca99441c7dc6fe859",
            ),
        ),
        "Unpack feverous-wiki-pages-db.zip, then: admiral index {out}/feverous_wikiv1.db --kb KB",
    ),
    "hotpotqa-abstracts": DataSet(
        "https://hotpotqa.github.io/wiki-readme.html",
        (
            RemoteFile(
                f"{_ABSTRACTS}.tar.bz2",
                f"https://nlp.stanford.edu/projects/hotpotqa/{_ABSTRACTS}.tar.bz2",
                1_553_565_403,
                "01edf64cd120ecc03a2745352779514c",
            ),
        ),
        f"Unpack it with tar -xjf, then: admiral index {{out}}/{_ABSTRACTS} --kb KB",
    ),
}


_MAX_WAIT = 60.0
# Too many requests, and temporary server errors.
_RETRIED_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})


def fetch(
    file: RemoteFile,
    target: Path,
    *,
    attempts: int = 6,
    wait: float = 1.0,
    timeout: float = 60.0,
    report: Callable[[int, int | None], None] = lambda done, total: None,
) -> bool:
    """Download a file unless it exists, and return whether it was downloaded.

    The received part is kept in ``target.partial``, after which another attempt and the next call
    resume. The file is renamed to `target` once its length and checksum are verified.

    - `attempts`: maximum number of consecutive attempts that receive nothing new.
    - `wait`: seconds before the second attempt; doubled for each further attempt, up to a minute.
    - `timeout`: seconds without a byte after which a connection counts as broken.
    - `report`: called with the number of bytes received and the total, None if it is not known.
    """
    if target.exists():
        if mismatch := _mismatch(file, target):
            raise AdmiralError(
                f"{target}: exists, but {mismatch}. Move it away to download it again"
            )
        return False
    partial = target.with_name(target.name + ".partial")
    # The certificates of the operating system, as of other programs, instead of httpx's own list;
    # byte ranges are of the file itself.
    client = httpx.Client(
        headers={"User-Agent": f"admiral/{admiral.__version__}", "Accept-Encoding": "identity"},
        follow_redirects=True,
        timeout=timeout,
        verify=ssl.create_default_context(),
    )
    with explain_write_errors(target), client:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.touch()
        # A server that ignores ranges starts again each time: only bytes further into the file
        # than ever before count as progress.
        failures, furthest = 0, partial.stat().st_size
        while True:
            try:
                _receive(client, file.url, partial, report)
                break
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                failures = 0 if partial.stat().st_size > furthest else failures + 1
                furthest = max(furthest, partial.stat().st_size)
                if failures >= attempts or not _is_transient(error):
                    raise AdmiralError(
                        f"{file.url}: {first_line(error)}. This machine may be offline, or the "
                        "file may have moved. Run the same command again to resume, give another "
                        f"folder with --base, or put the file there by other means as {target.name}"
                    ) from error
            time.sleep(min(wait * 2 ** max(failures - 1, 0), _MAX_WAIT))
        if mismatch := _mismatch(file, partial):
            partial.unlink()
            raise AdmiralError(
                f"{file.url}: the download {mismatch}; it was deleted. Try again later"
            )
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
        if response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            partial.write_bytes(b"")
            raise httpx.ReadError(f"the server has nothing after byte {done}")
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
