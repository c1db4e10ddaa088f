"""Basic sufficiency judges (paper, table 6): the two trivial ones, and lexical proofs.

Every judge has the method ``judge``, which takes a batch of claims with their evidence. Without
evidence, every judge decides that it is insufficient and runs no model.
"""

from __future__ import annotations

from collections.abc import Sequence

from proofs.drafting.drafts import lexical_proof
from proofs.judges.judgement import Evidence, Judgement, uncovered
from proofs.lexicons.lexicon import SpanLexicon, default_lexicon


class NeverSufficient:
    """Judges all evidence insufficient, so that retrieval runs its full number of hops."""

    def judge(self, claims: Sequence[str], evidence: Sequence[Evidence]) -> list[Judgement]:
        """Return an insufficient judgement without a proof for each claim."""
        return [Judgement(False, None) for _ in zip(claims, evidence, strict=True)]


class AlwaysSufficient:
    """Judges any evidence sufficient, so that retrieval stops after the fewest hops."""

    def judge(self, claims: Sequence[str], evidence: Sequence[Evidence]) -> list[Judgement]:
        """Return a judgement without a proof for each claim, sufficient if there is evidence."""
        return [Judgement(bool(texts), None) for _, texts in zip(claims, evidence, strict=True)]


class LexicalJudge:
    """Judges by the proof that chunks, alignment and a lexicon suggest, without a model.

    Parameters
    ----------
    lexicon
        Relates words and spans; the built-in lexicon by default.
    """

    def __init__(self, lexicon: SpanLexicon | None = None) -> None:
        self._lexicon = lexicon or default_lexicon()

    def judge(self, claims: Sequence[str], evidence: Sequence[Evidence]) -> list[Judgement]:
        """Return the lexical proof of each claim and the decision that follows from it."""
        return [self._judge(c, texts) for c, texts in zip(claims, evidence, strict=True)]

    def _judge(self, claim: str, evidence: Evidence) -> Judgement:
        if not claim.split() or not evidence:
            return uncovered(claim)
        proof = lexical_proof(claim, evidence, lexicon=self._lexicon)
        return Judgement(proof.sufficient, proof)
