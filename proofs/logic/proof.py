r"""Proofs: natural-logic relations between the spans of a claim and spans of the evidence.

A proof is written as ``{ claim span } [ evidence span ] OP``, repeated. Inside a span, brackets,
braces and backslashes are escaped with a backslash, and line breaks are written as ``\n`` and
``\r``. Every proof therefore fits on one line and reads back unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import model_serializer, model_validator

from proofs.logic import NatOp, Verdict, is_sufficient, verdict
from proofs.logic.wording import cited_steps, proof_table, question, steps_in_words
from proofs.logic.words import Quotation, Word, has_content, locate_spans, split_words, word_spans

_ESCAPES = {**{c: "\\" + c for c in "\\{}[]"}, "\n": "\\n", "\r": "\\r"}
_ESCAPE_TABLE = str.maketrans(_ESCAPES)
_UNESCAPED = {escape[1]: char for char, escape in _ESCAPES.items()}
_OPERATORS = {operator.value: operator for operator in NatOp}


class ProofError(ValueError):
    """A proof that breaks the rules of the notation or does not fit its claim and evidence."""


class ProofSyntaxError(ProofError):
    """A text that is not a proof; `offset` is the character at which it is wrong, from 0."""

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

    Raises ProofSyntaxError at the first departure from the notation.
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


#: Most words of an evidence span (paper, section 3.2).
MAX_EVIDENCE_WORDS = 7
#: Default for the most steps of a proof; it bounds decoding and is not in the paper.
MAX_STEPS = 16


class ProofFileError(ProofError):
    """A line of a file that is not a proof; `line` and `column` count from 1."""

    def __init__(self, path: Path, line: int, column: int, problem: str) -> None:
        self.path, self.line, self.column = path, line, column
        super().__init__(f"{path}: line {line}, column {column}: {problem}")


@dataclass(frozen=True, slots=True)
class ProofStep:
    """One mutation of a proof: a claim span becomes an evidence span.

    Spans have no outer white space.

    Attributes
    ----------
    evidence
        The evidence span; may be empty only if the operator is independence.
    claim_start, claim_end
        The characters of the claim span in the claim; None before `Proof.located`.
    title, sentence_id, evidence_start, evidence_end, in_title
        Where the evidence span stands, as in `Quotation`; None if that is not known, or if there is
        none.

    Raises
    ------
    ProofError
        If a span breaks these rules.
    """

    claim: str
    evidence: str
    operator: NatOp
    claim_start: int | None = field(default=None, compare=False)
    claim_end: int | None = field(default=None, compare=False)
    title: str | None = field(default=None, compare=False)
    sentence_id: int | None = field(default=None, compare=False)
    evidence_start: int | None = field(default=None, compare=False)
    evidence_end: int | None = field(default=None, compare=False)
    in_title: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if not self.claim or self.claim != self.claim.strip():
            raise ProofError(f"claim span {self.claim!r} is empty or has outer white space")
        if self.evidence != self.evidence.strip():
            raise ProofError(f"evidence span {self.evidence!r} has outer white space")
        if not self.evidence and self.operator is not NatOp.INDEPENDENCE:
            raise ProofError(
                f"the step of {self.claim!r} has operator {self.operator.value} and no evidence"
            )

    @property
    def quotation(self) -> Quotation | None:
        """The place of the evidence span; None if it is not known."""
        title, number, start, end = (
            *(self.title, self.sentence_id),
            *(self.evidence_start, self.evidence_end),
        )
        if title is None or number is None or start is None or end is None:
            return None
        return Quotation(title, number, start, end, self.in_title)

    def quoted_at(self, place: Quotation) -> ProofStep:
        """Return the step with the place of its evidence span."""
        return replace(
            self,
            title=place.title,
            sentence_id=place.sentence_id,
            evidence_start=place.start,
            evidence_end=place.end,
            in_title=place.in_title,
        )


@dataclass(frozen=True, slots=True)
class Proof:
    """A natural-logic proof: at least one step, in the order of the claim; in JSON, their list."""

    steps: tuple[ProofStep, ...]

    @model_validator(mode="before")
    @classmethod
    def _read(cls, steps: Any) -> Any:
        return {"steps": steps} if isinstance(steps, list) else steps

    @model_serializer
    def _written(self) -> tuple[ProofStep, ...]:
        return self.steps

    def __post_init__(self) -> None:
        if not self.steps:
            raise ProofError("a proof needs at least one step")

    @property
    def operators(self) -> tuple[NatOp, ...]:
        """The operators of the steps."""
        return tuple(step.operator for step in self.steps)

    @property
    def sufficient(self) -> bool:
        """Whether no step is independent of the evidence (paper, section 3.2)."""
        return is_sufficient(self.operators)

    @property
    def missing(self) -> tuple[str, ...]:
        """The claim spans that the evidence does not cover."""
        return tuple(s.claim for s in self.steps if s.operator is NatOp.INDEPENDENCE)

    def questions(self) -> list[tuple[str, str | None]]:
        """Return each span of `missing` with a question that asks for it, or None without one."""
        asked = []
        for at, step in enumerate(self.steps):
            if step.operator is NatOp.INDEPENDENCE:
                before = " ".join(earlier.claim for earlier in self.steps[:at])
                asked.append((step.claim, question(before, step.claim)))
        return asked

    def verdict(self) -> Verdict:
        """Return the final state of the verdict automaton."""
        return verdict(self.operators)

    def in_words(self, evidence: Sequence[tuple[str, str]] = ()) -> list[str]:
        """Return one sentence for each step, such as ``"born in 1973" says the same as "..."``.

        `evidence`: the proof's pairs of title and sentence; without them, no titles are named.
        """
        return list(steps_in_words(self.steps, evidence))

    def to_html(self, evidence: Sequence[tuple[str, str]] = (), *, styled: bool = True) -> str:
        """Return an HTML table of the steps in words; see `proofs.logic.wording.proof_table`.

        `evidence`: the proof's pairs of title and sentence; without them no titles are shown.
        `styled`: whether to include the style sheet, `proofs.logic.wording.STYLE`.
        """
        return proof_table(self.steps, evidence, styled)

    def located(
        self, claim: str, evidence: Sequence[tuple[str, str]], numbers: Sequence[int] = ()
    ) -> Proof:
        """Return the proof with the places of its spans in the claim and in the evidence.

        Places of quotations that are known already are kept.

        `evidence`: the proof's pairs of title and sentence. `numbers`: for each sentence, its
        number in its document, in place of that in `evidence`.

        Raises ValueError if the claim does not contain the spans of the steps.
        """
        starts = [start for start, _ in locate_spans(claim, (step.claim for step in self.steps))]
        steps = []
        for (step, place), start in zip(cited_steps(self.steps, evidence), starts, strict=True):
            step = replace(step, claim_start=start, claim_end=start + len(step.claim))
            if place is not None:
                number = numbers[place.sentence_id] if numbers else place.sentence_id
                step = step.quoted_at(replace(place, sentence_id=number))
            steps.append(step)
        return Proof(tuple(steps))

    def to_text(self) -> str:
        """Return ``{ claim span } [ evidence span ] OP ...``, which `parse` reads back."""
        return format_steps(self._triples())

    def _triples(self) -> Iterable[tuple[str, str, NatOp]]:
        return ((s.claim, s.evidence, s.operator) for s in self.steps)

    @classmethod
    def parse(cls, text: str) -> Proof:
        """Read a proof from its notation.

        Raises ProofSyntaxError with the line and column of the first error.
        """
        steps = tuple(ProofStep(*triple) for triple in parse_steps(text))
        if not steps:
            raise ProofSyntaxError("expected '{', found the end", text, len(text))
        return cls(steps)

    def validate(self, claim: str, evidence: Sequence[tuple[str, str]]) -> None:
        """Check that the proof covers the claim and quotes the evidence.

        `evidence`: pairs of title and sentence.

        Raises ProofError if the claim spans do not partition the claim at word boundaries from left
        to right, or an evidence span is not quoted from one sentence or title, is longer than seven
        words, or consists of stop words alone.
        """
        _check_partition([step.claim for step in self.steps], claim)
        texts = [text for pair in evidence for text in pair]
        for step in self.steps:
            if not step.evidence:
                continue
            if not any(step.evidence in text for text in texts):
                raise ProofError(f"{step.evidence!r} is not quoted from the evidence")
            if len(word_spans(step.evidence)) > MAX_EVIDENCE_WORDS:
                raise ProofError(f"{step.evidence!r} has more than {MAX_EVIDENCE_WORDS} words")
            if not has_content(step.evidence):
                raise ProofError(f"{step.evidence!r} holds stop words alone")


def read_proofs(path: str | Path) -> Iterator[Proof]:
    """Yield the proofs of a UTF-8 file with one proof in its written form per line.

    Empty lines are skipped.

    Raises ProofFileError at the first line that is not a proof, with the file, the line and the
    column (of the byte, if the line is not UTF-8). Raises OSError if the file cannot be read.
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


def _check_partition(spans: Sequence[str], claim: str) -> None:
    boundaries = {end for _, end in word_spans(claim)}
    at = 0
    for span in spans:
        while at < len(claim) and claim[at].isspace():
            at += 1
        if not claim.startswith(span, at) or at + len(span) not in boundaries:
            raise ProofError(f"claim span {span!r} does not continue the claim at character {at}")
        at += len(span)
    if claim[at:].strip():
        raise ProofError(f"the proof ends before the claim does, at character {at}")


# Limits for input that is not a sentence; no model reads that far.
_MAX_CHARACTERS = 8192
_MAX_WORDS = 512
_MAX_SPAN_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class QuotableText:
    """A title or sentence of the evidence."""

    text: str  # the text, cut at white space if it is too long to be a sentence
    title: str  # the title of the document that the text belongs to
    words: tuple[Word, ...]

    @classmethod
    def from_text(cls, text: str, title: str) -> QuotableText:
        """Split a text into words, and cut it if it is too long."""
        if len(text) > _MAX_CHARACTERS:
            text = text[:_MAX_CHARACTERS]
            text = text[: max((i for i, c in enumerate(text) if c.isspace()), default=0)]
        words = split_words(text)
        if len(words) > _MAX_WORDS:
            # Do not cut between a word and the punctuation around it.
            words = [w for w in words if w.index < words[_MAX_WORDS].index]
            text = text[: words[-1].end] if words else ""
        return cls(text, title, tuple(words))

    def span_ends(self, first: int) -> Iterator[int]:
        """Yield every `last` such that words `first` to `last` (inclusive) may be quoted."""
        begin, has_content = self.words[first], False
        if not begin.norm:
            return  # a quotation may end with punctuation, but not begin with it
        for last in range(first, len(self.words)):
            word = self.words[last]
            if (
                word.index - begin.index >= MAX_EVIDENCE_WORDS
                or word.end - begin.start > _MAX_SPAN_CHARACTERS
                or "]" in self.text[word.start : word.end]
            ):
                return
            has_content |= word.is_content
            if has_content:
                yield last

    def quote(self, first: int, last: int) -> str:
        """Return the original text of words `first` to `last` (inclusive)."""
        return self.text[self.words[first].start : self.words[last].end]


def quotable_texts(evidence: Iterable[tuple[str, str]]) -> list[QuotableText]:
    """Return the distinct texts of the evidence, each title before its document's sentences."""
    titles: dict[str, str] = {}
    for title, sentence in evidence:
        titles.setdefault(title, title)
        titles.setdefault(sentence, title)
    return [QuotableText.from_text(text, title) for text, title in titles.items()]
