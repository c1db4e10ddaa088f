"""Real result records for the tests of what is done with them."""

from __future__ import annotations

import copy
from typing import Any

from admiral.records import (
    Claim,
    DocumentSet,
    Hop,
    RankedDocument,
    RetrievalResult,
    Sentence,
)
from proofs import NatOp, Proof, ProofStep


def result(claim: Claim, *, title: str = "Ada Lovelace", seconds: float = 0.25) -> RetrievalResult:
    sentence = Sentence(title, 1, "She wrote the first program.", 3.25)
    open_proof = Proof(
        (
            ProofStep("Ada", "", NatOp.INDEPENDENCE),
            ProofStep("wrote", "wrote", NatOp.EQUIVALENCE),
        )
    )
    full_proof = Proof((ProofStep("Ada wrote", "She wrote", NatOp.EQUIVALENCE),))
    hops = (
        Hop(1, (DocumentSet((title,), 9.5),), (sentence,), open_proof, False, seconds),
        Hop(
            2,
            (DocumentSet((title, "Analytical Engine"), -0.7),),
            (sentence, Sentence("Analytical Engine", 0, "It is a machine.", -1.0)),
            full_proof,
            True,
            seconds * 2,
        ),
    )
    documents = (
        RankedDocument(title, -0.7, 2),
        RankedDocument("Analytical Engine", -0.7, 2),
        RankedDocument("", 4.0, 0),
    )
    return RetrievalResult(claim, documents, hops[-1].evidence, hops, "sufficient")


def without_timings(record: dict[str, Any]) -> dict[str, Any]:
    """Return `record` without the only values that two equal runs may disagree on."""
    record = copy.deepcopy(record)
    for hop in record["hops"]:
        del hop["seconds"]
    return record
