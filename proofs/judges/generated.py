"""The judges that run the trained model: `generated` reads its proofs, `classifier` its states.

The most probable proof decides (paper, section 3.2). The paper's baseline without a proof is a
linear classifier on encoder states.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from proofs.drafting.contextual_similarity import encode_batches
from proofs.generation import ProofGenerator
from proofs.generation.proof_grammar import encode_source
from proofs.judges.claim_form import form_warning
from proofs.judges.judgement import Evidence, Judgement, uncovered
from proofs.logic.proof import Proof
from trie import SafeTokenizer
from trie.seq2seq import Seq2Seq


class GeneratedProofJudge:
    """Judges by a proof that a trained model generates.

    Evidence for a claim too long for the model to decode a proof of is insufficient, without proof.
    If `generator` stops at independence, all judgements of insufficient evidence have no proof,
    since the generated steps do not cover the claim.
    """

    def __init__(self, generator: ProofGenerator) -> None:
        self._generator = generator
        self.max_evidence = generator.max_evidence

    def judge(self, claims: Sequence[str], evidence: Sequence[Evidence]) -> list[Judgement]:
        """Return the proof of each claim and the decision that follows from it."""
        judgements = [uncovered(claim) for claim, _ in zip(claims, evidence, strict=True)]
        provable = [at for at, texts in enumerate(evidence) if texts and claims[at].split()]
        proofs = self._generator.generate(
            [claims[at] for at in provable], [evidence[at] for at in provable]
        )
        for at, candidates in zip(provable, proofs, strict=True):
            judgements[at] = Judgement(False, None)
            if candidates:
                judgements[at] = self._judgement(claims[at], candidates[0].proof)
        return judgements

    def _judgement(self, claim: str, proof: Proof) -> Judgement:
        is_partial = self._generator.stop_at_independence and not proof.sufficient
        is_unfit = is_partial or form_warning(claim) is not None
        return Judgement(proof.sufficient, None if is_unfit else proof)


class ClassifierJudge:
    """Judges by a linear head on the encoder's states, without a proof.

    `weight`, `bias`: the head, of shape (2 * width,) and (). Evidence is sufficient if the logit is
    positive.
    """

    def __init__(
        self, model: Seq2Seq, tokens: SafeTokenizer, weight: torch.Tensor, bias: torch.Tensor
    ) -> None:
        self._model, self._tokens = model, tokens
        self.max_evidence = tokens.max_identifiers
        self._weight, self._bias = weight.float().cpu(), bias.float().cpu()

    def judge(self, claims: Sequence[str], evidence: Sequence[Evidence]) -> list[Judgement]:
        """Return a judgement without a proof for each claim."""
        sufficient = [False for _ in zip(claims, evidence, strict=True)]
        scored = [at for at, texts in enumerate(evidence) if texts and claims[at].split()]
        if not scored:
            return [Judgement(False, None) for _ in sufficient]
        states = pooled_states(
            self._model,
            self._tokens,
            [claims[at] for at in scored],
            [evidence[at] for at in scored],
        )
        logits = (states @ self._weight + self._bias).tolist()
        for at, logit in zip(scored, logits, strict=True):
            sufficient[at] = logit > 0
        return [Judgement(decision, None) for decision in sufficient]


def pooled_states(
    model: Seq2Seq, tokens: SafeTokenizer, claims: Sequence[str], evidence: Sequence[Evidence]
) -> torch.Tensor:
    """Return the mean and the first encoder state of each claim with its evidence.

    `model`: a seq2seq model. `claims`: the claims; at least one.

    The result is float32, (claims, 2 * width), on the CPU.
    """
    inputs = [
        encode_source(tokens, "prove", claim, texts, model.max_source).ids
        for claim, texts in zip(claims, evidence, strict=True)
    ]
    rows: dict[int, torch.Tensor] = {}
    for positions, hidden, mask in encode_batches(model, inputs):
        weights = mask.unsqueeze(-1)
        mean = (hidden.float() * weights).sum(1) / weights.sum(1)
        pooled = torch.cat([mean, hidden[:, 0].float()], dim=-1).cpu()
        rows.update(zip(positions, pooled, strict=True))
    return torch.stack([rows[at] for at in range(len(inputs))])
