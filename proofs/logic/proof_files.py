"""Files of proofs: one proof a line in its written form, in UTF-8."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from proofs.logic.notation import ProofError, ProofSyntaxError
from proofs.logic.proof import Proof


class ProofFileError(ProofError):
    """A line of a file that is not a proof; `line` and `column` count from 1."""

    def __init__(self, path: Path, line: int, column: int, problem: str) -> None:
        self.path, self.line, self.column = path, line, column
        super().__init__(f"{path}: line {line}, column {column}: {problem}")


def read_proofs(path: str | Path) -> Iterator[Proof]:
    """Yield the proofs of a file; empty lines are passed over.

    Raises
    ------
    ProofFileError
        At the first line that is not a proof, with the file, the line and the column (of the
        byte, where the line is not UTF-8).
    OSError
        If the file cannot be read.
    """
    path = Path(path)
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                problem = f"not UTF-8 ({error.reason})"
                raise ProofFileError(path, number, error.start + 1, problem) from None
            if not line.strip():
                continue
            try:
                yield Proof.parse(line)
            except ProofSyntaxError as error:
                raise ProofFileError(path, number, error.offset + 1, error.problem) from None
