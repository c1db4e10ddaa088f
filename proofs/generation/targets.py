"""Proofs as token sequences to train on, the very ones that the grammar lets through."""

from __future__ import annotations

from collections.abc import Sequence

from proofs.generation.proof_grammar import ProofGrammar
from proofs.logic.notation import ProofError
from proofs.logic.operators import NatOp
from proofs.logic.proof import Proof, ProofStep
from proofs.logic.words import located
from trie import SafeTokenizer


def target_ids(
    tokens: SafeTokenizer,
    proof: Proof,
    claim: str,
    evidence: Sequence[tuple[str, str]],
    *,
    max_length: int = 512,
) -> list[int]:
    """Return the tokens of a proof, with the end token and without a start token.

    Spans are cut where the tokenizer can cut them: a step whose claim span ends inside a token is
    extended to the token's end, and one that has no token left to itself is merged with the step
    before, which stays independent if either is.

    Parameters
    ----------
    tokens
        The tokenizer.
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
    mark = {symbol: tokens.single_token(symbol) for symbol in "{}[]"}
    ids: list[int] = []
    for begin, end, step in _snapped(proof, claim, grammar):
        cuts = grammar.units.cuts
        ids += [mark["{"], *grammar.units.ids[cuts[begin] : cuts[end]], mark["}"], mark["["]]
        quoted = grammar.quotations.find(step.evidence) if step.evidence else []
        if not quoted and step.operator is not NatOp.INDEPENDENCE:
            raise ProofError(f"nothing in the evidence can be quoted for {step.claim!r}")
        ids += [*quoted, mark["]"], tokens.single_token(step.operator.value)]
    ids.append(tokens.eos)
    grammar.proof(ids)  # raises where a limit of the grammar is exceeded
    return ids


def _snapped(proof: Proof, claim: str, grammar: ProofGrammar) -> list[tuple[int, int, ProofStep]]:
    """Return (first unit, end unit, step) for each step that has a unit to itself."""
    found: list[tuple[int, int, ProofStep]] = []
    spans = located(claim, (step.claim for step in proof.steps))
    for step, (_, at) in zip(proof.steps, spans, strict=True):
        end = 1 + next(u for u, (_, stop) in enumerate(grammar.characters) if stop >= at)
        begin = found[-1][1] if found else 0
        if end > begin:
            found.append((begin, end, step))
        else:
            first, last, before = found[-1]
            found[-1] = first, last, _merged(before, step)
    return found


def _merged(one: ProofStep, other: ProofStep) -> ProofStep:
    if NatOp.INDEPENDENCE in (one.operator, other.operator):
        return ProofStep(one.claim, "", NatOp.INDEPENDENCE)
    return other if one.operator is NatOp.EQUIVALENCE else one
