"""Verify by a verifier of claims and evidence: the bundled one or any other."""

from __future__ import annotations

from collections.abc import Sequence

from admiral.citations.citation_records import CitedClaim
from admiral.citations.claim_context import ContextForm, claim_in_context
from admiral.kb.corpus.sentence_splitter import split_sentences
from admiral.library.source_records import Passage
from proofs.judges.linear_score import log_odds
from proofs.verifier.label_names import LABELS
from proofs.verifier.reading import Verifier

_ENTAILED = LABELS.index("entailment")


class PairClassifierVerifier:
    """Score passages by the log-odds that their sentences entail the claim.

    Parameters
    ----------
    verifier
        Reads the claims with the sentences of the passages.
    context
        How much of the claim's context is read.
    """

    def __init__(self, verifier: Verifier, context: ContextForm = "claim") -> None:
        self._verifier, self._context = verifier, context

    def score(
        self, claims: Sequence[CitedClaim], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """Return the score of each passage of each claim."""
        pairs = [
            (claim_in_context(claim, self._context), _sentences(passage))
            for claim, own in zip(claims, passages, strict=True)
            for passage in own
        ]
        readings = self._verifier.read([c for c, _ in pairs], [texts for _, texts in pairs])
        scores = iter(log_odds(float(reading.labels[_ENTAILED])) for reading in readings)
        return [[next(scores) for _ in own] for own in passages]


def _sentences(passage: Passage) -> list[tuple[str, str]]:
    return [(passage.title, text) for text in split_sentences(passage.text) or [passage.text]]
