"""Files beside a results file: the settings of its run, and the claims that failed.

``results.jsonl.settings.json`` holds the settings that decided the results; they are compared
before more results are appended. ``results.jsonl.failed.jsonl`` has a record for each claim without
a result, with the fields ``id``, ``claim``, ``attempts`` and ``error``. It can be given as --input
to try these claims again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from admiral.errors import AdmiralError
from admiral.records import Claim
from admiral.storage.atomic_files import encode_record, explain_write_errors, write_atomically

FORMAT = 1
START_AGAIN = "Choose another output, or give --overwrite to start again"


class CompanionPaths(NamedTuple):
    """Paths of the files beside a results file.

    Attributes
    ----------
    partial
        Finished records of a run that is not complete.
    settings
        Settings of the run.
    failed
        Claims that failed.
    lock
        Held by the process that writes the results.
    """

    partial: Path
    settings: Path
    failed: Path
    lock: Path


def companion_paths(results: Path) -> CompanionPaths:
    """Return the paths of the files beside a results file."""
    suffixes = (".partial", ".settings.json", ".failed.jsonl", ".lock")
    return CompanionPaths(*(results.parent / (results.name + suffix) for suffix in suffixes))


def write_settings(path: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings of a run to their file, atomically."""
    text = json.dumps({"format": FORMAT, "settings": settings}, indent=1) + "\n"
    write_atomically(path, [text.encode()])


def check_settings(results: Path, path: Path, settings: Mapping[str, Any]) -> None:
    """Raise unless results were made with the given settings.

    Parameters
    ----------
    results
        The results, complete or partial.
    path
        File of their settings.
    settings
        Settings of the current run, as JSON returns them.

    Raises
    ------
    AdmiralError
        If there is no such file, or it holds other settings.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["format"] != FORMAT:
            raise ValueError
        previous = dict(record["settings"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        problem = f"exists, but {path.name} does not say which settings made it"
        raise AdmiralError(f"{results}: {problem}. {START_AGAIN}") from None
    keys = sorted(previous.keys() | settings.keys())
    different = [key for key in keys if previous.get(key) != settings.get(key)]
    if different:
        differences = "; ".join(
            f"{key} was {previous.get(key, 'unset')}, now {settings.get(key, 'unset')}"
            for key in different
        )
        remedy = START_AGAIN
        if different == ["precision"]:  # by default, the machine decides it
            remedy += f", or resume with --set precision={previous.get('precision')}"
        raise AdmiralError(f"{results}: was written with other settings ({differences}). {remedy}")


class FailedClaims:
    """The file of claims that failed; it exists only if there are any.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._claims: set[tuple[str, str]] = set()

    def __len__(self) -> int:
        return len(self._claims)

    def __contains__(self, claim: Claim) -> bool:
        return (claim.id, claim.text) in self._claims

    def load(self) -> None:
        """Read the claims that failed in earlier runs; remove a last line cut off by a crash."""
        if not self.path.exists():
            return
        with explain_write_errors(self.path), self.path.open("r+b") as file:
            size = 0
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break
                try:
                    record = json.loads(line)
                    self._claims.add((record["id"], record["claim"]))
                except (ValueError, KeyError, TypeError) as error:
                    remedy = "Delete the line, or give --overwrite to start again"
                    raise AdmiralError(
                        f"{self.path}:{number}: is not a record of a claim ({error!r}). {remedy}"
                    ) from error
                size += len(line)
            file.truncate(size)

    def add(self, record: Mapping[str, Any]) -> None:
        """Append a claim and flush it to the disk, before any later result is written."""
        with explain_write_errors(self.path), self.path.open("ab") as file:
            file.write(encode_record(record))
            file.flush()
            os.fsync(file.fileno())
        self._claims.add((record["id"], record["claim"]))

    def clear(self) -> None:
        """Forget all claims and remove the file."""
        self._claims.clear()
        self.path.unlink(missing_ok=True)

    def raise_if_any(self, total: int) -> None:
        """Raise `AdmiralError` if any claim failed; `total` is the number of all claims."""
        if self:
            raise AdmiralError(
                f"{self.path}: {len(self)} of {total} claims failed and have no result. The file "
                "says why; give it as --input, with another --output, to try them again"
            )
