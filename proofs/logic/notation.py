r"""The written form of proofs: ``{ claim span } [ evidence span ] OP``, repeated.

Inside a span, brackets, braces and backslashes are escaped with a backslash, and line breaks are
written as ``\n`` and ``\r``. Every proof therefore fits on one line and reads back unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proofs.logic.operators import NatOp

_ESCAPES = {**{c: "\\" + c for c in "\\{}[]"}, "\n": "\\n", "\r": "\\r"}
_ESCAPE_TABLE = str.maketrans(_ESCAPES)
_UNESCAPED = {escape[1]: char for char, escape in _ESCAPES.items()}
_OPERATORS = {operator.value: operator for operator in NatOp}


class ProofError(ValueError):
    """A proof that breaks the rules of the notation or does not fit its claim and evidence."""


class ProofSyntaxError(ProofError):
    """A text that is not a proof.

    Attributes
    ----------
    problem
        What is wrong.
    offset
        The character at which it is wrong, from 0.
    line, column
        The same place, from 1.
    """

    def __init__(self, problem: str, text: str, offset: int) -> None:
        self.problem, self.offset = problem, offset
        self.line = text.count("\n", 0, offset) + 1
        self.column = offset - (text.rfind("\n", 0, offset) + 1) + 1
        super().__init__(f"line {self.line}, column {self.column}: {problem}")


def format_steps(steps: Iterable[tuple[str, str, NatOp]]) -> str:
    """Return the notation of (claim span, evidence span, operator) triples."""
    parts = []
    for claim, evidence, operator in steps:
        quoted = f"[ {evidence.translate(_ESCAPE_TABLE)} ]" if evidence else "[ ]"
        parts.append(f"{{ {claim.translate(_ESCAPE_TABLE)} }} {quoted} {operator.value}")
    return " ".join(parts)


def parse_steps(text: str) -> Iterator[tuple[str, str, NatOp]]:
    """Yield the (claim span, evidence span, operator) triples of a proof's notation.

    Raises
    ------
    ProofSyntaxError
        At the first departure from the notation.
    """
    offset = _skip_spaces(text, 0)
    while offset < len(text):
        claim, claim_end = _parse_span(text, offset, "{", "}")
        if not claim:
            raise ProofSyntaxError("the claim span is empty", text, offset)
        evidence_start = _skip_spaces(text, claim_end)
        evidence, evidence_end = _parse_span(text, evidence_start, "[", "]")
        at = _skip_spaces(text, evidence_end)
        operator = _OPERATORS.get(text[at : at + 1])
        if operator is None:
            symbols = " ".join(_OPERATORS)
            problem = f"expected an operator ({symbols}), found {_describe(text, at)}"
            raise ProofSyntaxError(problem, text, at)
        if not evidence and operator is not NatOp.INDEPENDENCE:
            raise ProofSyntaxError(f"operator {operator.value} with empty evidence", text, at)
        yield claim, evidence, operator
        offset = _skip_spaces(text, at + 1)


def _parse_span(text: str, offset: int, opening: str, closing: str) -> tuple[str, int]:
    """Return the unescaped content of a bracketed span and the offset after it."""
    if text[offset : offset + 1] != opening:
        problem = f"expected {opening!r}, found {_describe(text, offset)}"
        raise ProofSyntaxError(problem, text, offset)
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
            if text[at] not in _UNESCAPED:
                raise ProofSyntaxError(f"unknown escape '\\{text[at]}'", text, at)
            char = _UNESCAPED[text[at]]
        content.append(char)
        at += 1
    raise ProofSyntaxError(f"{opening!r} is never closed", text, offset)


def _describe(text: str, offset: int) -> str:
    return repr(text[offset]) if offset < len(text) else "the end"


def _skip_spaces(text: str, offset: int) -> int:
    while offset < len(text) and text[offset].isspace():
        offset += 1
    return offset
