"""Training targets: proofs as the token sequences that the proof grammar accepts."""

from __future__ import annotations

from collections.abc import Sequence

from proofs.generation.proof_grammar import ProofGrammar
from proofs.logic.notation import ProofError
from proofs.logic.operators import NatOp
from proofs.logic.proof import Proof, ProofStep
from proofs.logic.words import locate_spans
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

    Spans are cut only at token borders: a step whose claim span ends inside a token is extended to
    the end of the token, and a step without a token of its own is merged with the previous step,
    which is independent if either is.

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
    """Return (first unit, end unit, step) of the steps; each has a unit of its own."""
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
