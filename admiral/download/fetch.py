"""Fetching one file over HTTP: taken up where it stopped, checked, and put in place whole."""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from filelock import FileLock

import admiral
from admiral.download.addresses import Source
from admiral.download.response import Body, opened
from admiral.errors import AdmiralError
from admiral.storage.atomic_files import explained
from admiral.storage.atomic_replace import sync_file
from admiral.storage.locks import acquire

Report = Callable[[int, int | None], None]
_CHUNK = 2**18
_LONGEST_WAIT = 60.0
# Worth another try: too many requests, and faults of the server that pass.
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})


def fetch(
    source: Source,
    target: Path,
    *,
    attempts: int = 6,
    wait: float = 1.0,
    timeout: float = 60.0,
    report: Report = lambda done, total: None,
) -> bool:
    """Fetch a file, and return False if it was there already.

    What has been read is kept in ``target.partial``; a broken connection, or the next call, goes on
    behind it where the server can, and from the beginning where not. The file is renamed into place
    when it has the length and checksum that are known of it.

    Parameters
    ----------
    attempts
        Tries in a row that bring nothing before it is given up.
    wait
        Seconds before the second try; they double with every further one, up to a minute.
    timeout
        Seconds without a byte after which a connection counts as broken.
    report
        Told the bytes that are there and the bytes that there will be, if that is known.

    Raises
    ------
    AdmiralError
        If it cannot be fetched, or is not what was published; the message says what to do.
    """
    if target.exists():
        _check(source, target, target)
        return False
    partial = target.with_name(target.name + ".partial")
    lock = FileLock(target.with_name(target.name + ".lock"), timeout=0)
    with explained(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        acquire(lock, target, "fetching this file")
        try:
            _complete(source, partial, attempts, wait, timeout, report)
            _check(source, partial, target)
            partial.replace(target)
            _validator(partial).unlink(missing_ok=True)
            sync_file(target.parent)
        finally:
            lock.release()
    return True


def _complete(
    source: Source, partial: Path, attempts: int, wait: float, timeout: float, report: Report
) -> None:
    """Try until the partial file is complete, or nothing has come for `attempts` times."""
    failures, most = 0, _size(partial)
    while (problem := _attempt(source, partial, timeout, report)) is not None:
        # Only what never came before counts: a server may begin anew and break off for ever.
        failures = 0 if _size(partial) > most else failures + 1
        most = max(most, _size(partial))
        if failures >= attempts:
            name = partial.name.removesuffix(".partial")
            raise AdmiralError(
                f"{source.url}: {problem}. Run the same command again, which goes on from what has "
                f"come, or put the file there by other means as {name}"
            )
        time.sleep(min(wait * 2 ** max(failures - 1, 0), _LONGEST_WAIT))


def _attempt(source: Source, partial: Path, timeout: float, report: Report) -> str | None:
    """Read on; return None when everything is there, or else what went wrong."""
    headers = {"User-Agent": f"admiral/{admiral.__version__}"}
    have = _size(partial)
    if have:
        headers["Range"] = f"bytes={have}-"
        validator = _validator(partial)
        if validator.exists():
            headers["If-Range"] = validator.read_text(encoding="latin-1")
    try:
        with opened(urllib.request.Request(source.url, headers=headers), timeout) as body:
            return _append(body, partial, report)
    except (ValueError, http.client.InvalidURL) as error:  # also of where a server points to
        raise AdmiralError(
            f"{source.url}: is no address that can be asked, or leads to one ({error}). Give "
            "--base a folder such as https://example.org/data"
        ) from error
    except urllib.error.HTTPError as error:
        with error:
            return _refused(source, error, partial)
    except urllib.error.URLError as error:
        host = urlsplit(source.url).hostname
        return f"no connection to {host} ({error.reason}); this machine may be offline"
    except (TimeoutError, ConnectionError, http.client.HTTPException) as error:
        return f"the connection broke ({str(error) or type(error).__name__})"


def _append(body: Body, partial: Path, report: Report) -> str | None:
    """Write what comes behind what is there, or over it if the server begins anew."""
    have = _size(partial)
    if body.start not in (0, have):
        partial.unlink(missing_ok=True)  # a part may come though nothing is there
        return f"the server went on at byte {body.start} where {have} was asked for"
    if body.start == 0 or not have:
        _keep_validator(partial, body.validator)
    free = shutil.disk_usage(partial.parent).free
    if body.total is not None and body.total - have > free:
        needed, room = (body.total - have) / 1e9, free / 1e9
        raise AdmiralError(f"{partial}: {needed:.1f} GB are missing, {room:.1f} GB are free")
    with partial.open("ab") as file:
        file.truncate(body.start)
        done = body.start
        while chunk := body.read(_CHUNK):
            file.write(chunk)
            done += len(chunk)
            report(done, body.total)
        file.flush()
        os.fsync(file.fileno())
    if body.total is not None and done != body.total:
        return f"the connection ended at byte {done} of {body.total}"
    return None


def _refused(source: Source, error: urllib.error.HTTPError, partial: Path) -> str | None:
    if error.code == 416:  # nothing is behind what we have
        have = _size(partial)
        if have and error.headers.get("Content-Range") == f"bytes */{have}":
            return None
        partial.unlink(missing_ok=True)
        return f"the server has nothing behind byte {have}, which is not the end of its file"
    if error.code in _PASSING:
        return f"the server answers {error.code} {error.reason}"
    raise AdmiralError(
        f"{source.url}: the server answers {error.code} {error.reason}. The file may have moved: "
        "look for it on the page of the data set (--list), and give its folder with --base"
    )


def _check(source: Source, path: Path, target: Path) -> None:
    """Compare a whole file with what was published of it; a partial one that differs is deleted."""
    problem = None
    if source.bytes is not None and path.stat().st_size != source.bytes:
        problem = f"has {path.stat().st_size} bytes, published are {source.bytes}"
    elif source.md5 is not None:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "md5").hexdigest()
        if found != source.md5:
            problem = f"has the MD5 checksum {found}, published is {source.md5}"
    if problem is None:
        return
    if path == target:
        raise AdmiralError(f"{target}: is there, but {problem}. Move it away to fetch it again")
    path.unlink()
    raise AdmiralError(f"{source.url}: what came {problem}; it was deleted. Fetch it again later")


def _keep_validator(partial: Path, validator: str | None) -> None:
    """Keep what tells the server's file from a later one, so that two are never joined."""
    path = _validator(partial)
    if validator is None:
        path.unlink(missing_ok=True)
    else:
        path.write_text(validator, encoding="latin-1")


def _validator(partial: Path) -> Path:
    return partial.with_name(partial.name + ".version")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
