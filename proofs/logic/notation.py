r"""The written form of proofs: ``{ claim span } [ evidence span ] OP``, repeated.

Brackets, braces and backslashes inside a span are written with a backslash before them, line breaks
as ``\n`` and ``\r``, so that a proof of any text fits on one line and reads back unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proofs.logic.operators import NatOp

_ESCAPES = {**{c: "\\" + c for c in "\\{}[]"}, "\n": "\\n", "\r": "\\r"}
_WRITE = str.maketrans(_ESCAPES)
_READ = {written[1]: char for char, written in _ESCAPES.items()}
_OPERATORS = {operator.value: operator for operator in NatOp}


class ProofError(ValueError):
    """A proof that breaks the rules of the notation or does not fit its claim and evidence."""


class ProofSyntaxError(ProofError):
    """A text that is not a proof: the `problem` and where it is, counted from 1."""

    def __init__(self, problem: str, text: str, offset: int) -> None:
        self.problem, self.offset = problem, offset
        self.line = text.count("\n", 0, offset) + 1
        self.column = offset - (text.rfind("\n", 0, offset) + 1) + 1
        super().__init__(f"line {self.line}, column {self.column}: {problem}")


def write(steps: Iterable[tuple[str, str, NatOp]]) -> str:
    """Return the notation of (claim span, evidence span, operator) triples."""
    parts = []
    for claim, evidence, operator in steps:
        quoted = f"[ {evidence.translate(_WRITE)} ]" if evidence else "[ ]"
        parts.append(f"{{ {claim.translate(_WRITE)} }} {quoted} {operator.value}")
    return " ".join(parts)


def read(text: str) -> Iterator[tuple[str, str, NatOp]]:
    """Yield the (claim span, evidence span, operator) triples of a proof's notation.

    Raises
    ------
    ProofSyntaxError
        Where the text departs from the notation.
    """
    offset = _skip(text, 0)
    while offset < len(text):
        claim, after_claim = _span(text, offset, "{", "}")
        if not claim:
            raise ProofSyntaxError("the claim span is empty", text, offset)
        start = _skip(text, after_claim)
        evidence, after_evidence = _span(text, start, "[", "]")
        at = _skip(text, after_evidence)
        operator = _OPERATORS.get(text[at : at + 1])
        if operator is None:
            found = repr(text[at]) if at < len(text) else "the end"
            names = " ".join(_OPERATORS)
            raise ProofSyntaxError(f"expected an operator ({names}), found {found}", text, at)
        if not evidence and operator is not NatOp.INDEPENDENCE:
            raise ProofSyntaxError(f"operator {operator.value} with empty evidence", text, at)
        yield claim, evidence, operator
        offset = _skip(text, at + 1)


def _span(text: str, offset: int, opening: str, closing: str) -> tuple[str, int]:
    """Return the unescaped content of a bracketed span and the offset behind it."""
    if text[offset : offset + 1] != opening:
        found = repr(text[offset]) if offset < len(text) else "the end"
        raise ProofSyntaxError(f"expected {opening!r}, found {found}", text, offset)
    content: list[str] = []
    at = offset + 1
    while at < len(text):
        char = text[at]
        if char == closing:
            return "".join(content).strip(), at + 1
        if char in "{}[]":
            raise ProofSyntaxError(f"expected {closing!r}, found {char!r}", text, at)
        if char == "\\":
            at += 1
            if at == len(text):
                break
            if text[at] not in _READ:
                raise ProofSyntaxError(f"unknown escape '\\{text[at]}'", text, at)
            char = _READ[text[at]]
        content.append(char)
        at += 1
    raise ProofSyntaxError(f"{opening!r} is never closed", text, offset)


def _skip(text: str, offset: int) -> int:
    while offset < len(text) and text[offset].isspace():
        offset += 1
    return offset
