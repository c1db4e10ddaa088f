"""The paper's baseline without a proof: a linear classifier on encoder states."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from proofs.drafting.contextual_similarity import encode_batches
from proofs.generation.source_input import encode_source
from proofs.judges.judgement import Evidence, Judgement
from trie import SafeTokenizer, Seq2Seq


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

    Parameters
    ----------
    model
        A seq2seq model.
    claims
        The claims; at least one.

    Returns
    -------
    Tensor
        float32, (claims, 2 * width), on the CPU.
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
