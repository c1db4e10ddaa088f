"""The grammar of proofs, compiled into the decoder.

``{ claim span } [ evidence span ] OP`` is repeated until the claim is used up. Every sequence that
the grammar accepts parses, covers the claim and quotes the evidence. Spans end where both words and
tokens of the original texts end, so a decoded proof quotes the original wording and case whatever
the tokenizer does to them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from proofs.generation.quotations import Quotations, claim_units
from proofs.logic.operators import SUFFICIENCY_OPERATORS, NatOp
from proofs.logic.proof import MAX_STEPS, Proof, ProofError, ProofStep
from proofs.logic.words import locate_spans
from trie import (
    Alternatives,
    Automaton,
    BoundedTrieSequence,
    Deferred,
    FixedTokens,
    Grammar,
    GrammarConstraint,
    SafeTokenizer,
    SpanFrom,
    TokenSet,
)

#: Default for the most words of a claim span.
MAX_CLAIM_WORDS = 12

# The marks around claim spans and quotations.
_BRACKETS = "{}[]"
# The shortest step is `{ claim } [ ] #`: five tokens besides those of the claim.
_STEP_MARKS = 5


def missing_proof_marks(
    tokens: SafeTokenizer, operators: Iterable[NatOp] = tuple(NatOp)
) -> list[str]:
    """Return the marks of proofs that a vocabulary has no token for, such as ``{`` in T5's."""
    missing = []
    for mark in (*_BRACKETS, *(operator.value for operator in operators)):
        try:
            tokens.single_token(mark)
        except ValueError:
            missing.append(mark)
    return missing


class StepSpan(NamedTuple):
    """The position of a step: its units of the claim and its tokens in the proof."""

    first: int  # the claim's units ``[first, end)``
    end: int
    quotation: int  # position of the bracket that opens the quotation
    operator: int  # position of the operator


class ProofGrammar(GrammarConstraint):
    """A `trie.Constraint` that accepts the proofs of one claim over the given evidence.

    Parameters
    ----------
    max_length
        Most tokens of a proof, including the end token. When they run short, the grammar forces the
        proof to end with the rest of the claim as one uncovered span.
    max_steps
        Most steps; the last one takes the rest of the claim.
    max_claim_words
        Longest claim span except the last. Raised for claims that it could not cover.
    operators
        The operators to allow; must include independence.
    stop_at_independence
        Whether the proof ends at the first independent step: for use when only the sufficiency of
        the evidence is of interest.
    quote_always
        Whether every step quotes the evidence, as far as there is any and the tokens suffice.

    Attributes
    ----------
    units
        The claim's tokens, divided into units at which spans begin and end.
    characters
        The characters ``[start, end)`` of each unit of the claim.

    Raises
    ------
    ProofError
        If the claim has no words or does not fit into `max_length` tokens.
    ValueError
        If `max_steps` is less than 1 or independence is not an allowed operator.
    """

    def __init__(
        self,
        tokens: SafeTokenizer,
        claim: str,
        evidence: Sequence[tuple[str, str]],
        *,
        max_length: int,
        max_steps: int = MAX_STEPS,
        max_claim_words: int = MAX_CLAIM_WORDS,
        operators: Sequence[NatOp] = SUFFICIENCY_OPERATORS,
        stop_at_independence: bool = False,
        quote_always: bool = False,
    ) -> None:
        if max_steps < 1 or NatOp.INDEPENDENCE not in operators:
            raise ValueError("a proof needs a step and the operator '#'")
        self._claim, self.max_length, self._max_steps = claim, max_length, max_steps
        self._stop_at_independence, self._quote_always = stop_at_independence, quote_always
        self._marks = {mark: tokens.single_token(mark) for mark in _BRACKETS}
        self._operators = {tokens.single_token(op.value): op for op in operators}
        self._independence = tokens.single_token(NatOp.INDEPENDENCE.value)
        self.units, self.characters = claim_units(tokens, claim, self._marks["}"])
        if not self.characters:
            raise ProofError("a claim without words has no proof")
        self._claim_length = len(self.units.ids)
        self._unit_at = {cut: unit for unit, cut in enumerate(self.units.cuts)}
        if self._claim_length + _STEP_MARKS + 1 > max_length:
            raise ProofError(
                f"the proof of a claim of {self._claim_length} tokens does not fit into "
                f"{max_length}"
            )
        # Joining chunks down to max_steps makes none longer than twice the average.
        self._max_units = max(max_claim_words, -(-2 * len(self.characters) // max_steps))
        self.quotations = Quotations(tokens, evidence, self._marks["]"])
        spare = max_length - self._claim_length - _STEP_MARKS - 1
        super().__init__(self._steps_from(spare, 0, 0), Automaton(tokens.eos))

    def proof(self, tokens: Sequence[int]) -> Proof:
        """Return the proof of decoded tokens, in the wording of the original texts.

        If the sequence stopped at independence, the proof has the steps up to there.

        Raises
        ------
        ProofError
            If the grammar does not accept the sequence up to its end token.
        """
        try:
            state = self.walk(tokens)
        except ValueError as error:
            raise ProofError(f"not a proof of the claim: {error}") from None
        if not self.automaton.values(state):
            raise ProofError("the proof is not complete")
        steps = []
        for span in self.spans(tokens):
            begin, stop = self.characters[span.first][0], self.characters[span.end - 1][1]
            quoted = tokens[span.quotation + 1 : span.operator - 1]
            steps.append(
                ProofStep(
                    self._claim[begin:stop],
                    self.quotations.text(quoted) if quoted else "",
                    self._operators[tokens[span.operator]],
                )
            )
        return Proof(tuple(steps))

    def spans(self, tokens: Sequence[int]) -> list[StepSpan]:
        """Return where the steps of a decoded proof are."""
        spans: list[StepSpan] = []
        place = at = first = 0  # positions in the proof, in the claim's tokens and in its units
        while tokens[place] == self._marks["{"]:
            place += 1
            # No unit begins with the closing mark, so at a unit border it ends the span.
            while (unit := self._unit_at.get(at, 0)) <= first or tokens[place] != self._marks["}"]:
                place, at = place + 1, at + 1
            end = tokens.index(self._marks["]"], place)
            spans.append(StepSpan(first, unit, place + 1, end + 1))
            place, first = end + 2, unit
        return spans

    # The grammar's productions. `spare` is the number of tokens left beyond the shortest completion
    # of the proof, the rest of the claim as one uncovered span. A step that ends before the claim
    # takes the marks of another step from it, and a quotation takes its own tokens.

    def _steps_from(self, spare: int, step: int, at: int) -> Grammar:
        """Declare the rest of the proof: step number `step` begins at the claim's token `at`."""
        unit = self._unit_at[at] if at else 0
        ends = self.units.cuts[unit + 1 : unit + 1 + self._max_units]
        if step + 1 == self._max_steps or spare < _STEP_MARKS:
            ends = self.units.cuts[-1:]
        claim_span = SpanFrom(self.units.ids, at, ends)
        return self._mark("{"), claim_span, Deferred(self._after_claim_span, (spare, step + 1))

    def _after_claim_span(self, spare: int, step: int, at: int) -> Grammar:
        spare -= _STEP_MARKS if at < self._claim_length else 0
        alternatives: list[Grammar] = []
        quotable = self.quotations.segment
        if quotable is not None and quotable.shortest <= spare:
            rest = Deferred(self._after_quotation, (quotable, spare, step, at))
            alternatives.append((quotable.within(spare), self._mark("]"), rest))
        if not (alternatives and self._quote_always):
            uncovered = self._one_operator([self._independence], spare, step, at)
            alternatives.append((self._mark("]"), *uncovered))
        return self._mark("}"), self._mark("["), Alternatives(*alternatives)

    def _after_quotation(
        self, spans: BoundedTrieSequence, spare: int, step: int, at: int, node: int
    ) -> Grammar:
        return self._one_operator(self._operators, spare - spans.trie.depth(node), step, at)

    def _one_operator(self, operators: Collection[int], spare: int, step: int, at: int) -> Grammar:
        return TokenSet(operators), Deferred(self._after_operator, (spare, step, at))

    def _after_operator(self, spare: int, step: int, at: int, operator: int) -> Grammar:
        independent = self._operators[operator] is NatOp.INDEPENDENCE
        ends = at == self._claim_length or (independent and self._stop_at_independence)
        return () if ends else self._steps_from(spare, step, at)

    def _mark(self, mark: str) -> FixedTokens:
        return FixedTokens((self._marks[mark],))


def target_ids(
    tokens: SafeTokenizer,
    proof: Proof,
    claim: str,
    evidence: Sequence[tuple[str, str]],
    *,
    max_length: int = 512,
) -> list[int]:
    """Return the tokens of a proof, with the end token and without a start token.

    Spans are cut only at token borders: a step whose claim span ends inside a token is extended to
    the end of the token, and a step without a token of its own is merged with the previous step,
    which is independent if either is.

    Parameters
    ----------
    proof, claim, evidence
        A proof that is valid for the claim and the evidence, pairs of title and sentence.
    max_length
        Most tokens that the model decodes.

    Raises
    ------
    ProofError
        If the proof does not fit the claim, the evidence or `max_length`.
    """
    proof.validate(claim, evidence)
    grammar = ProofGrammar(tokens, claim, evidence, max_length=max_length, operators=tuple(NatOp))
    marks = {symbol: tokens.single_token(symbol) for symbol in "{}[]"}
    cuts = grammar.units.cuts
    ids: list[int] = []
    for begin, end, step in _align_to_units(proof, claim, grammar):
        claim_span = grammar.units.ids[cuts[begin] : cuts[end]]
        ids += [marks["{"], *claim_span, marks["}"], marks["["]]
        quoted = grammar.quotations.token_ids(step.evidence) if step.evidence else []
        if not quoted and step.operator is not NatOp.INDEPENDENCE:
            raise ProofError(f"nothing in the evidence can be quoted for {step.claim!r}")
        ids += [*quoted, marks["]"], tokens.single_token(step.operator.value)]
    ids.append(tokens.eos)
    grammar.proof(ids)  # raises if a limit of the grammar is exceeded
    return ids


def _align_to_units(
    proof: Proof, claim: str, grammar: ProofGrammar
) -> list[tuple[int, int, ProofStep]]:
    aligned: list[tuple[int, int, ProofStep]] = []
    spans = locate_spans(claim, (step.claim for step in proof.steps))
    for step, (_, span_end) in zip(proof.steps, spans, strict=True):
        end = 1 + next(u for u, (_, stop) in enumerate(grammar.characters) if stop >= span_end)
        begin = aligned[-1][1] if aligned else 0
        if end > begin:
            aligned.append((begin, end, step))
        else:
            first, last, previous = aligned[-1]
            aligned[-1] = first, last, _merge_steps(previous, step)
    return aligned


def _merge_steps(previous: ProofStep, step: ProofStep) -> ProofStep:
    if NatOp.INDEPENDENCE in (previous.operator, step.operator):
        return ProofStep(previous.claim, "", NatOp.INDEPENDENCE)
    return step if previous.operator is NatOp.EQUIVALENCE else previous
