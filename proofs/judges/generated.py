"""The judges that run the trained model: `generated` reads its proofs, `classifier` its states.

In the paper (section 3.2), the most probable proof decides. Empty quotations win in it, since every
token of a quotation costs probability. A fitted checkpoint decides otherwise: the model writes a
proof whose steps all quote the evidence (`proofs.generation.CoveringProof`), and a
logistic regression over the probabilities of its steps says whether the evidence is sufficient. The
fit belongs to the checkpoint, which holds it in the file `STEP_DECISION`. The paper's baseline
without a proof is a linear classifier on encoder states.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from proofs.drafting.contextual_similarity import encode_batches
from proofs.generation import CoveringProof, ProofGenerator
from proofs.generation.proof_grammar import encode_source
from proofs.judges.fitted_weights import (
    LinearScore,
    bad_field,
    log_odds,
    number,
    read_weights,
    sigmoid,
)
from proofs.judges.judgement import Evidence, Judgement, uncovered
from proofs.logic import NatOp
from proofs.logic.proof import Proof, ProofStep
from trie import SafeTokenizer, Seq2Seq

#: Name of the file in a checkpoint.
STEP_DECISION = "step_decision.json"
#: Features of the decision. Log-odds that a step is independent: the highest and the mean; log-odds
#: that a step quotes nothing: the highest and the mean; mean log probability of the tokens of a
#: quotation: the lowest and the mean; number of steps.
STEP_DECISION_FEATURES = (
    *("independent", "mean_independent"),
    *("unquoted", "mean_unquoted"),
    *("quoted", "mean_quoted"),
    "steps",
)


@dataclass(frozen=True, slots=True)
class StepDecision:
    """The probability that evidence is sufficient, and from which one it counts as such."""

    log_odds: LinearScore  # the log-odds of sufficiency, from `STEP_DECISION_FEATURES`
    threshold: float  # evidence counts as sufficient from this probability on

    @classmethod
    def read(cls, path: Path) -> StepDecision:
        """Read a file that `to_json` wrote.

        Raises `ValueError` if a field is missing, unknown or not a number, with the file and the
        field.
        """
        record = read_weights(path, ("log_odds", "threshold"))
        threshold = number(path, "threshold", record["threshold"])
        if not 0 <= threshold <= 1:
            raise bad_field(path, "threshold", "expected a probability")
        log_odds = LinearScore.parse(path, "log_odds", record["log_odds"], STEP_DECISION_FEATURES)
        return cls(log_odds, threshold)

    def to_json(self) -> str:
        """Return the text of a file that `read` reads."""
        record = {"log_odds": self.log_odds.to_json(), "threshold": self.threshold}
        return json.dumps(record, indent=1) + "\n"

    def judgement(self, covering: CoveringProof) -> Judgement:
        """Return the decision, and the proof with an independent step if and only if it needs one.

        If the evidence is insufficient, the step that is most probably independent is, and every
        other one that is more probably independent than not.
        """
        probability = sigmoid(self.log_odds(step_decision_features(covering)))
        sufficient = probability >= self.threshold
        highest = max(covering.independent)
        steps = []
        for step, independent in zip(covering.proof.steps, covering.independent, strict=True):
            if not step.evidence:
                sufficient = False  # there was nothing to quote
            if not step.evidence or (
                not sufficient and (independent > 0.5 or independent == highest)
            ):
                step = ProofStep(step.claim, "", NatOp.INDEPENDENCE)
            elif step.operator is NatOp.INDEPENDENCE:
                step = replace(step, operator=NatOp.EQUIVALENCE)
            steps.append(step)
        return Judgement(sufficient, Proof(tuple(steps)), probability)


def step_decision_features(covering: CoveringProof) -> Mapping[str, float]:
    """Return the values of `STEP_DECISION_FEATURES`."""
    independent = [log_odds(value) for value in covering.independent]
    unquoted = [log_odds(value) for value in covering.unquoted]
    count = len(independent)
    return {
        "independent": max(independent),
        "mean_independent": sum(independent) / count,
        "unquoted": max(unquoted),
        "mean_unquoted": sum(unquoted) / count,
        "quoted": min(covering.quoted),
        "mean_quoted": sum(covering.quoted) / count,
        "steps": float(count),
    }


class GeneratedProofJudge:
    """Judges by a proof that a trained model generates.

    Evidence for a claim too long for the model to decode a proof of is insufficient, without proof.

    Parameters
    ----------
    generator
        Generates the proofs. If it stops at independence, judgements of insufficient evidence by
        the most probable proof have no proof, since the generated steps do not cover the claim.
    decision
        Decides by the steps of a proof that quotes the evidence throughout; None to decide by the
        most probable proof.

    Attributes
    ----------
    max_evidence
        Most sentences of evidence that the model can read.
    """

    def __init__(self, generator: ProofGenerator, decision: StepDecision | None = None) -> None:
        self._generator, self._decision = generator, decision
        self.max_evidence = generator.max_evidence

    def judge(self, claims: Sequence[str], evidence: Sequence[Evidence]) -> list[Judgement]:
        """Return the proof of each claim and the decision that follows from it."""
        judgements = [uncovered(claim) for claim, _ in zip(claims, evidence, strict=True)]
        provable = [at for at, texts in enumerate(evidence) if texts and claims[at].split()]
        own_claims, own_evidence = (
            [claims[at] for at in provable],
            [evidence[at] for at in provable],
        )
        if self._decision is not None:
            for at, covering in zip(
                provable, self._generator.cover(own_claims, own_evidence), strict=True
            ):
                judgements[at] = Judgement(False, None)
                if covering is not None:
                    judgements[at] = self._decision.judgement(covering)
            return judgements
        proofs = self._generator.generate(own_claims, own_evidence)
        for at, candidates in zip(provable, proofs, strict=True):
            judgements[at] = Judgement(False, None)
            if candidates:
                judgements[at] = self._judgement(candidates[0].proof)
        return judgements

    def _judgement(self, proof: Proof) -> Judgement:
        is_partial = self._generator.stop_at_independence and not proof.sufficient
        return Judgement(proof.sufficient, None if is_partial else proof)


class ClassifierJudge:
    """Judges by a linear head on the encoder's states, without a proof.

    Parameters
    ----------
    model
        A seq2seq model, whose encoder is used.
    weight, bias
        The head: tensors of shape (2 * width,) and (). Evidence is sufficient if the logit is
        positive.

    Attributes
    ----------
    max_evidence
        Most sentences of evidence that the tokenizer has identifiers for.
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
