"""Real result records for the tests of what is done with them."""

import copy
import math
from dataclasses import replace

from admiral.records import DocumentSet, Hop, RankedDocument, RetrievalResult, Sentence
from proofs import Judgement, NatOp, Proof, ProofStep, Verdict
from proofs.logic.words import Quotation
from proofs.verifier import Comparison

#: Probabilities that contradict the proofs of `result`.
VERDICTS = {Verdict.SUPPORTS: 0.25, Verdict.REFUTES: 0.625, Verdict.NOT_ENOUGH_INFO: 0.125}
#: Probabilities of which the threshold 0.75 makes NOT ENOUGH INFO, although it is not the highest.
OPEN_VERDICTS = {Verdict.SUPPORTS: 0.5, Verdict.REFUTES: 0.125, Verdict.NOT_ENOUGH_INFO: 0.375}
#: What decided instead of the verifier.
COMPARED = (
    Comparison(
        *("contradiction", "five", "six", 0, "Five is not six."),
        claim_span=(4, 8),
        quotation=Quotation("Ada Lovelace", 0, 4, 7),
    ),
)


def result(claim, *, title="Ada Lovelace", seconds=0.25):
    sentence = Sentence(title, 1, "She wrote the first program.", 3.25)
    open_proof = Proof(
        (ProofStep("Ada", "", NatOp.INDEPENDENCE), ProofStep("wrote", "wrote", NatOp.EQUIVALENCE))
    )
    full_proof = Proof((ProofStep("Ada wrote", "She wrote", NatOp.EQUIVALENCE),))
    hops = (
        Hop(
            *(False, open_proof),
            number=1,
            document_sets=(DocumentSet((title,), 9.5),),
            evidence=(sentence,),
            seconds=seconds,
        ),
        Hop(
            *(True, full_proof),
            number=2,
            document_sets=(DocumentSet((title, "Analytical Engine"), -0.7),),
            evidence=(sentence, Sentence("Analytical Engine", 0, "It is a machine.", -1.0)),
            seconds=seconds * 2,
        ),
    )
    documents = (
        RankedDocument(title, -0.7, 2),
        RankedDocument("Analytical Engine", -0.7, 2),
        RankedDocument("", 4.0, 0),
    )
    return RetrievalResult(claim.id, claim.text, documents, hops[-1].evidence, hops, "sufficient")


def verified_result(claim):
    """Return a result with the probabilities of a verifier."""
    plain = result(claim)
    hops = tuple(
        hop.judged(Judgement.decided(verdicts, 0.75, hop.proof, compared))
        for hop, verdicts, compared in zip(
            plain.hops, (OPEN_VERDICTS, VERDICTS), ((), COMPARED), strict=True
        )
    )
    return replace(plain, hops=hops, scored_verdict=None)


def without_timings(record):
    """Return `record` without the only values that two equal runs may disagree on."""
    record = copy.deepcopy(record)
    for hop in record["hops"]:
        del hop["seconds"]
    return record


def assert_close(got, want, tolerance=5e-3):
    """Compare values of JSON whose scores may differ in their last digits.

    Some processors sum products in an order that depends on the batch, which shows in bfloat16.
    """
    if isinstance(want, float):
        assert math.isclose(got, want, rel_tol=0, abs_tol=tolerance), (got, want)
    elif isinstance(want, dict):
        assert got.keys() == want.keys()
        for key, value in want.items():
            assert_close(got[key], value, tolerance)
    elif isinstance(want, list):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            assert_close(one, other, tolerance)
    else:
        assert got == want
