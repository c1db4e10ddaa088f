"""The claims that a run could not answer, in a file of their own beside the results.

Each line has the fields ``id`` and ``claim``, so that the file can be given as --input to try them
again, and ``attempts`` and ``error``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.records import Claim
from admiral.storage.atomic_files import encode_record, explained


class PassedOver:
    """The file, and which claims are in it; there is no file while there are none.

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
        """Read what earlier runs noted; a last line that a crash tore is cut off."""
        if not self.path.exists():
            return
        with explained(self.path), self.path.open("r+b") as file:
            size = 0
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break
                try:
                    record = json.loads(line)
                    self._claims.add((record["id"], record["claim"]))
                except (ValueError, KeyError, TypeError) as error:
                    remedy = "Delete the line, or give --overwrite to start anew"
                    raise AdmiralError(
                        f"{self.path}:{number}: is not a record of a claim ({error!r}). {remedy}"
                    ) from error
                size += len(line)
            file.truncate(size)

    def add(self, record: Mapping[str, Any]) -> None:
        """Note a claim on the disk before anything that follows it is written."""
        with explained(self.path), self.path.open("ab") as file:
            file.write(encode_record(record))
            file.flush()
            os.fsync(file.fileno())
        self._claims.add((record["id"], record["claim"]))

    def clear(self) -> None:
        """Forget all of them, and remove the file."""
        self._claims.clear()
        self.path.unlink(missing_ok=True)

    def complain(self, total: int) -> None:
        """Raise `AdmiralError` if there are any, of so many claims in `total`."""
        if self:
            raise AdmiralError(
                f"{self.path}: {len(self)} of {total} claims could not be answered and were passed "
                "over. The file says why; give it as --input, with another --output, to try these "
                "again"
            )
