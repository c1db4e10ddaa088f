"""Claims of the command line, of a file or of standard input."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admiral.cli.options import checked_text
from admiral.errors import AdmiralError, RecordError

if TYPE_CHECKING:
    from admiral.records import Claim

ClaimSource = Callable[[], Iterable["Claim"]]
_BAD_CLAIMS_SHOWN = 20


class SkippedClaims:
    """Report bad claims, each place once, though a file is read more than once."""

    def __init__(self) -> None:
        self.places: set[str] = set()

    def __call__(self, error: RecordError) -> None:
        """Report the error of a claim that is left out."""
        from admiral.io.text_rendering import printable

        if error.where not in self.places and len(self.places) < _BAD_CLAIMS_SHOWN:
            click.echo(f"skipped: {printable(str(error))}", err=True)
        self.places.add(error.where)


def claim_source(
    claim: str | None, input_path: Path | None, skip: SkippedClaims | None, *, reread: bool
) -> ClaimSource:
    """Return a function that returns the claims.

    `claim`, `input_path`: the claim, or ``-`` for standard input; or the file, for which ``-``
    means the same. `skip`: receives the errors of bad claims; None raises the first. `reread`:
    whether the function may be called more than once. Claims that can be read only once are then
    kept in memory.
    """
    from admiral.io.claims import prefetch_claims, read_claims, stream_claims
    from admiral.records import Claim

    if (claim is None) == (input_path is None):
        raise click.UsageError("Give either a claim, '-' for standard input, or --input FILE.")
    if "-" in (claim, str(input_path)):
        if sys.stdin is None:
            raise AdmiralError("standard input: is closed. Give the claims by --input FILE")
        if reread:
            claims = list(stream_claims(sys.stdin.buffer, skip=skip))
            return lambda: claims
        return lambda: prefetch_claims(sys.stdin.fileno(), skip=skip)
    if claim is not None:
        single = Claim("1", checked_text(claim, "the claim"))
        return lambda: [single]
    path = input_path
    assert path is not None
    if path.exists() and not path.is_file():  # a pipe, which can be read only once
        claims = list(read_claims(path, skip))
        return lambda: claims
    for _ in read_claims(path, skip):  # reports a bad line now instead of hours later
        pass
    return lambda: read_claims(path, skip)
