"""The proof notation of one claim and its evidence as a decoding constraint.

``{ claim span } [ evidence span ] OP`` until the claim is used up: every sequence that the grammar
lets through parses, covers the claim and quotes the evidence. Its states carry positions in the
original texts, so a decoded proof quotes their wording and case whatever the tokenizer does to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from proofs.notation import ProofError
from proofs.operators import SUFFICIENCY_OPERATORS, NatOp
from proofs.proof import MAX_STEPS, Proof, ProofStep
from proofs.quoting import Quotations, Starts
from proofs.units import claim_units
from trie import Tokens, Transitions
from trie.constraint import one_by_one

MAX_CLAIM_WORDS = 12

# The shortest step is `{ claim } [ ] #`: five tokens beside the claim's own.
_STEP_MARKS = 5


class _State(NamedTuple):
    """A state of the automaton.

    `phase` is what is read next: ``{``, ``claim``, ``[``, ``evidence``, ``operator``, ``eos`` or
    ``end``. `unit` counts the claim's units behind the last complete span, `at` its tokens read;
    `step` the steps begun and `used` all tokens so far. `starts` are the places in the evidence
    where the span that is being read may have begun, `length` its tokens so far.
    """

    phase: str
    unit: int = 0
    at: int = 0
    step: int = 0
    used: int = 0
    length: int = 0
    starts: Starts = ()


class ProofGrammar:
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
        tokens: Tokens,
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
        self._marks = {mark: tokens.symbol(mark) for mark in "{}[]"}
        self._operators = {tokens.symbol(op.value): op for op in operators}
        self._eos = tokens.eos
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
        self._numbers: dict[_State, int] = {}
        self._states: list[_State] = []
        self._next: dict[int, dict[int, _State]] = {}
        self._allowed: dict[int, npt.NDArray[np.int64]] = {}
        self.start = self._number(_State("{"))

    def allowed(self, state: int) -> npt.NDArray[np.int64]:
        """Return the token ids that may follow, ascending; none behind the end token."""
        found = self._allowed.get(state)
        if found is None:
            found = self._allowed[state] = np.array(sorted(self._successors(state)), dtype=np.int64)
        return found

    def advance(self, state: int, token: int) -> int:
        """Return the state behind `token`.

        Raises
        ------
        ValueError
            If `token` is not allowed in `state`.
        """
        following = self._successors(state).get(int(token))
        if following is None:
            raise ValueError(f"token {token} is not allowed in state {state}")
        return self._number(following)

    def transitions(self, states: npt.NDArray[np.int64]) -> Transitions:
        """Return what may follow each of `states`."""
        return one_by_one(states, self.allowed, self.advance)

    def proof(self, tokens: Sequence[int]) -> Proof:
        """Rebuild the proof from decoded tokens, in the wording of the original texts.

        Of a sequence that stopped at independence, the steps so far.

        Raises
        ------
        ProofError
            If the sequence is not one that the grammar lets through to its end token.
        """
        steps: list[ProofStep] = []
        number, first, quoted = self.start, 0, ""
        for token in tokens:
            state = self._states[number]
            try:
                number = self.advance(number, token)
            except ValueError as error:
                raise ProofError(f"not a proof of the claim: {error}") from None
            phase = self._states[number].phase
            if state.phase == "evidence" and phase == "operator":
                quoted = self.quotations.text(state.starts, state.length) if state.length else ""
            elif state.phase == "operator":
                begin, end = self.characters[first][0], self.characters[state.unit - 1][1]
                steps.append(ProofStep(self._claim[begin:end], quoted, self._operators[token]))
                first = state.unit
        if self._states[number].phase != "end":
            raise ProofError("the proof is not complete")
        return Proof(tuple(steps))

    def _number(self, state: _State) -> int:
        number = self._numbers.setdefault(state, len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number

    def _successors(self, number: int) -> dict[int, _State]:
        found = self._next.get(number)
        if found is None:
            state = self._states[number]
            found = self._next[number] = dict(_PHASES[state.phase](self, state))
        return found

    def _rest(self, at: int) -> int:
        """Return the fewest tokens that complete a proof behind a step that ends at token `at`."""
        rest = self._tokens - at
        return rest + _STEP_MARKS + 1 if rest else 1

    def _open(self, state: _State) -> dict[int, _State]:
        following = state._replace(phase="claim", step=state.step + 1, used=state.used + 1)
        return {self._marks["{"]: following}

    def _in_claim(self, state: _State) -> dict[int, _State]:
        at = state.at
        done = at == self._tokens
        found: dict[int, _State] = {}
        # The unit that begins here, 0 in the middle of one. A claim without tokens has one unit.
        unit = 1 if not self._tokens else self._unit_at.get(at, 0)
        # Room for `} [ ] #` and whatever the rest needs.
        fits = state.used + _STEP_MARKS - 1 + self._rest(at) <= self.max_length
        may_close = unit > state.unit and (done or (state.step < self._max_steps and fits))
        if may_close:
            found[self._marks["}"]] = state._replace(phase="[", unit=unit, used=state.used + 1)
        full = may_close and unit - state.unit >= self._max_units
        if not done and not full:
            found[self.units.ids[at]] = state._replace(at=at + 1, used=state.used + 1)
        return found

    def _bracket(self, state: _State) -> dict[int, _State]:
        return {self._marks["["]: state._replace(phase="evidence", used=state.used + 1)}

    def _in_evidence(self, state: _State) -> dict[int, _State]:
        # What is left for the span, with room for `] OP` and the rest.
        room = self.max_length - state.used - 2 - self._rest(state.at)
        following = self.quotations.following(state.starts, state.length, room)
        found = {
            token: state._replace(length=state.length + 1, starts=starts, used=state.used + 1)
            for token, starts in following.items()
        }
        if state.length == 0 or self.quotations.complete(state.starts, state.length):
            # The span's length tells the operator whether the span was empty.
            closed = state._replace(phase="operator", starts=(), used=state.used + 1)
            found[self._marks["]"]] = closed
        return found

    def _operator(self, state: _State) -> dict[int, _State]:
        found = {}
        for token, operator in self._operators.items():
            independent = operator is NatOp.INDEPENDENCE
            if state.length == 0 and not independent:
                continue
            ends = state.at == self._tokens or (independent and self._stop_at_independence)
            following = state._replace(length=0, used=state.used + 1)
            found[token] = _State("eos") if ends else following._replace(phase="{")
        return found

    def _end(self, state: _State) -> dict[int, _State]:
        return {self._eos: _State("end")} if state.phase == "eos" else {}


_PHASES = {
    "{": ProofGrammar._open,
    "claim": ProofGrammar._in_claim,
    "[": ProofGrammar._bracket,
    "evidence": ProofGrammar._in_evidence,
    "operator": ProofGrammar._operator,
    "eos": ProofGrammar._end,
    "end": ProofGrammar._end,
}
