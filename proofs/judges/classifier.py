"""The paper's baseline without a proof: the encoder and a linear head say whether it is enough."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from proofs.drafting.encoder_states import encoded_batches
from proofs.generation.source_input import evidence_input
from proofs.judges.basic import Evidence
from proofs.judges.judgement import Judgement
from trie import SafeTokenizer, Seq2Seq


class ClassifierJudge:
    """Judges by a linear head on the encoder's states; there is no proof, so no reason either.

    Parameters
    ----------
    model, tokens
        A seq2seq model, of which the encoder is used, and its tokenizer.
    weight, bias
        The head: (2 * width,) and a scalar tensor. Evidence is sufficient where the sum is
        positive.
    """

    def __init__(
        self, model: Seq2Seq, tokens: SafeTokenizer, weight: torch.Tensor, bias: torch.Tensor
    ) -> None:
        self._model, self._tokens = model, tokens
        self.max_evidence = tokens.max_identifiers
        self._weight, self._bias = weight.float().cpu(), bias.float().cpu()

    def judge(self, claims: Sequence[str], evidence: Sequence[Evidence]) -> list[Judgement]:
        """Return a judgement without proof for each claim."""
        sufficient = [False for _ in zip(claims, evidence, strict=True)]
        asked = [at for at, texts in enumerate(evidence) if texts and claims[at].split()]
        if not asked:
            return [Judgement(False, None) for _ in sufficient]
        states = pooled_states(
            self._model,
            self._tokens,
            [claims[at] for at in asked],
            [evidence[at] for at in asked],
        )
        scores = (states @ self._weight + self._bias).tolist()
        for at, score in zip(asked, scores, strict=True):
            sufficient[at] = score > 0
        return [Judgement(one, None) for one in sufficient]


def pooled_states(
    model: Seq2Seq, tokens: SafeTokenizer, claims: Sequence[str], evidence: Sequence[Evidence]
) -> torch.Tensor:
    """Return mean and first state of the encoder over claims, one at least, with their evidence.

    Returns
    -------
    Tensor
        float32, (claims, 2 * width), on the CPU.
    """
    inputs = [
        evidence_input(tokens, "prove", claim, texts, model.max_source).ids
        for claim, texts in zip(claims, evidence, strict=True)
    ]
    rows: dict[int, torch.Tensor] = {}
    for batch, hidden, mask in encoded_batches(model, inputs):
        kept = mask.unsqueeze(-1)
        mean = (hidden.float() * kept).sum(1) / kept.sum(1)
        found = torch.cat([mean, hidden[:, 0].float()], dim=-1).cpu()
        rows.update(zip(batch, found, strict=True))
    return torch.stack([rows[at] for at in range(len(inputs))])
