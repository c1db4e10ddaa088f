"""The proof notation of one claim and its evidence as a decoding constraint.

``{ claim span } [ evidence span ] OP`` until the claim is used up: every sequence that the grammar
lets through parses, covers the claim and quotes the evidence. It is divided where both words and
tokens of the original texts end, so a decoded proof quotes their wording and case whatever the
tokenizer does to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from proofs.generation.quote_states import Quotations
from proofs.generation.word_units import claim_units
from proofs.logic.notation import ProofError
from proofs.logic.operators import SUFFICIENCY_OPERATORS, NatOp
from proofs.logic.proof import MAX_STEPS, Proof, ProofStep
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

MAX_CLAIM_WORDS = 12

# The shortest step is `{ claim } [ ] #`: five tokens beside the claim's own.
_STEP_MARKS = 5


class ProofGrammar(GrammarConstraint):
    """A `trie.Constraint` that accepts the proofs of one claim over the given evidence.

    Parameters
    ----------
    tokens
        The tokenizer of the model that decodes.
    claim, evidence
        The claim and its evidence, pairs of title and sentence.
    max_length
        Most tokens of a proof, the end token included. Where it runs short the grammar leaves no
        way but to complete the proof: with the rest of the claim as one uncovered span.
    max_steps
        Most steps; the last one takes the rest of the claim.
    max_claim_words
        Longest claim span but for the last one. Raised for claims that could not be covered so.
    operators
        The operators that may be written; independence must be among them.
    stop_at_independence
        End at the first independent step, for when only the decision is wanted.

    Raises
    ------
    ProofError
        If the claim has no words or does not fit into `max_length` tokens.
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
    ) -> None:
        if max_steps < 1 or NatOp.INDEPENDENCE not in operators:
            raise ValueError("a proof needs a step and the operator '#'")
        self._claim, self.max_length, self._max_steps = claim, max_length, max_steps
        self._stop_at_independence = stop_at_independence
        self._marks = {mark: tokens.single_token(mark) for mark in "{}[]"}
        self._operators = {tokens.single_token(op.value): op for op in operators}
        self._independence = tokens.single_token(NatOp.INDEPENDENCE.value)
        self.units, self.characters = claim_units(tokens, claim, self._marks["}"])
        if not self.characters:
            raise ProofError("a claim without words has no proof")
        self._tokens = len(self.units.ids)
        self._unit_at = {cut: unit for unit, cut in enumerate(self.units.cuts)}
        if self._tokens + _STEP_MARKS + 1 > max_length:
            raise ProofError(
                f"the proof of a claim of {self._tokens} tokens does not fit into {max_length}"
            )
        # Chunks that are joined until there are max_steps of them may be twice the average.
        self._max_units = max(max_claim_words, -(-2 * len(self.characters) // max_steps))
        self.quotations = Quotations(tokens, evidence, self._marks["]"])
        spare = max_length - self._tokens - _STEP_MARKS - 1
        super().__init__(self._step(spare, 0, 0), Automaton(tokens.eos))

    def proof(self, tokens: Sequence[int]) -> Proof:
        """Rebuild the proof from decoded tokens, in the wording of the original texts.

        Of a sequence that stopped at independence, the steps so far.

        Raises
        ------
        ProofError
            If the sequence is not one that the grammar lets through to its end token.
        """
        try:
            state = self.walk(tokens)
        except ValueError as error:
            raise ProofError(f"not a proof of the claim: {error}") from None
        if not self.automaton.values(state):
            raise ProofError("the proof is not complete")
        steps: list[ProofStep] = []
        place = at = first = 0  # in the proof, the claim's tokens and its units
        while tokens[place] == self._marks["{"]:
            place += 1
            # No unit begins with the closing mark, so there it is the end of the span.
            while (unit := self._unit_at.get(at, 0)) <= first or tokens[place] != self._marks["}"]:
                place, at = place + 1, at + 1
            end = tokens.index(self._marks["]"], place)
            quoted = tokens[place + 2 : end]
            begin, stop = self.characters[first][0], self.characters[unit - 1][1]
            steps.append(
                ProofStep(
                    self._claim[begin:stop],
                    self.quotations.text(quoted) if quoted else "",
                    self._operators[tokens[end + 1]],
                )
            )
            place, first = end + 2, unit
        return Proof(tuple(steps))

    # The declaration. `spare` are the tokens that are left beyond those of the shortest way to
    # complete the proof: the rest of the claim as one uncovered span. A step that ends before the
    # claim does takes the marks of another one from them, a quotation its tokens.

    def _step(self, spare: int, step: int, at: int) -> Grammar:
        """Return the steps from the claim's token `at` on, behind so many others."""
        unit = self._unit_at[at] if at else 0
        ends = self.units.cuts[unit + 1 : unit + 1 + self._max_units]
        if step + 1 == self._max_steps or spare < _STEP_MARKS:
            ends = self.units.cuts[-1:]
        span = SpanFrom(self.units.ids, at, ends)
        return self._mark("{"), span, Deferred(self._quote, (spare, step + 1))

    def _quote(self, spare: int, step: int, at: int) -> Grammar:
        """Return what follows a claim span that ends at token `at`."""
        spare -= _STEP_MARKS if at < self._tokens else 0
        uncovered = self._operator([self._independence], spare, step, at)
        ways: list[Grammar] = [(self._mark("]"), *uncovered)]
        quotable = self.quotations.segment
        if quotable is not None and quotable.shortest <= spare:
            behind = Deferred(self._quoted, (quotable, spare, step, at))
            ways.append((quotable.within(spare), self._mark("]"), behind))
        return self._mark("}"), self._mark("["), Alternatives(*ways)

    def _quoted(
        self, spans: BoundedTrieSequence, spare: int, step: int, at: int, node: int
    ) -> Grammar:
        """Return what follows a quotation and its closing bracket."""
        return self._operator(self._operators, spare - spans.trie.depth(node), step, at)

    def _operator(self, tokens: Iterable[int], spare: int, step: int, at: int) -> Grammar:
        """Return one of some operators and what follows it."""
        return TokenSet(tokens), Deferred(self._next, (spare, step, at))

    def _next(self, spare: int, step: int, at: int, operator: int) -> Grammar:
        """Return what follows an operator: another step, or nothing."""
        independent = self._operators[operator] is NatOp.INDEPENDENCE
        ends = at == self._tokens or (independent and self._stop_at_independence)
        return () if ends else self._step(spare, step, at)

    def _mark(self, mark: str) -> FixedTokens:
        return FixedTokens((self._marks[mark],))
