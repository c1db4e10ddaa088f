"""The verifier at work: probabilities of pairs of claim and evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from proofs.verifier.classifier_files import ClassifierFiles, read_classifier
from proofs.verifier.evidence_batches import classifier_inputs, length_batches
from proofs.verifier.label_names import LABELS
from proofs.verifier.pair_input import PairEncoder
from trie.model.bfloat16 import bfloat16_is_fast, convert_linears_to_bfloat16


@dataclass(frozen=True, slots=True)
class Predictions:
    """Probabilities of pairs.

    Attributes
    ----------
    labels
        Probability of each label of `LABELS`, (pairs, 3); rows sum to 1.
    relevance
        Probability that the evidence bears on the claim, (pairs,); None if the classifier has no
        relevance head.
    """

    labels: Tensor
    relevance: Tensor | None


class Verifier:
    """Reads claims with their evidence.

    Parameters
    ----------
    files
        A loaded pair classifier, which this object takes over.
    device
        Device of the classifier.
    dtype
        float32 or bfloat16; None chooses bfloat16 where it is fast.
    batch_tokens
        Maximum number of padded tokens in a batch.
    """

    def __init__(
        self,
        files: ClassifierFiles,
        *,
        device: str = "cpu",
        dtype: torch.dtype | None = None,
        batch_tokens: int = 4096,
    ) -> None:
        self._device = torch.device(device)
        fast = bfloat16_is_fast(self._device)
        self._dtype = dtype or (torch.bfloat16 if fast else torch.float32)
        model: nn.Module = files.model
        self._model = model.to(self._device).eval()
        self._head = files.relevance
        if self._head is not None:
            self._head.to(self._device).eval()
        if self._dtype is torch.bfloat16:
            convert_linears_to_bfloat16(self._model)
        self._columns, self._has_segments = list(files.columns), files.has_segments
        self._temperature = files.temperature
        pad = files.tokenizer.pad_token_id
        self._encoder = PairEncoder(files.core_tokenizer, files.max_length, pad)
        self._batch_tokens = batch_tokens

    @classmethod
    def open(
        cls,
        directory: str | Path,
        *,
        device: str = "cpu",
        dtype: torch.dtype | None = None,
        binary: bool = False,
    ) -> Verifier:
        """Open a verifier, or any local Hugging Face pair classifier with the same labels.

        Parameters
        ----------
        directory
            Its directory.
        device, dtype
            See `Verifier`.
        binary
            Whether it may have one or two outputs, which tell support from everything else. All
            else then counts as neutral.

        Raises
        ------
        ValueError
            If it cannot be read, or its labels cannot be mapped; with file and remedy.
        """
        return cls(read_classifier(Path(directory), binary=binary), device=device, dtype=dtype)

    @torch.inference_mode()
    def predict(self, claims: Sequence[str], evidences: Sequence[str]) -> Predictions:
        """Return the probabilities of each claim with its evidence.

        Parameters
        ----------
        claims
            The claims.
        evidences
            The evidence of each claim, as `proofs.verifier.pair_input.evidence_text` writes it.
        """
        inputs = self._encoder.encode(claims, evidences)
        labels = torch.zeros(len(inputs), len(LABELS))
        relevance = torch.zeros(len(inputs))
        lengths = [len(one.ids) for one in inputs]
        for positions in length_batches(lengths, self._batch_tokens):
            batch = self._encoder.collate([inputs[at] for at in positions])
            with torch.autocast(
                self._device.type, torch.bfloat16, enabled=self._dtype is torch.bfloat16
            ):
                output = self._model(
                    **classifier_inputs(*batch, self._has_segments, self._device),
                    output_hidden_states=self._head is not None,
                )
            logits = output.logits.float() / self._temperature
            labels[positions] = self._label_probabilities(logits).cpu()
            if self._head is not None:
                first = output.hidden_states[-1][:, 0].float()
                relevance[positions] = self._head(first).squeeze(-1).sigmoid().cpu()
        return Predictions(labels, None if self._head is None else relevance)

    def _label_probabilities(self, logits: Tensor) -> Tensor:
        """Return the probability of each of `LABELS`, (pairs, 3), given outputs."""
        if len(self._columns) == len(LABELS):
            return logits.softmax(-1)[:, self._columns]
        if len(self._columns) == 1:
            support = logits[:, 0].sigmoid()
        else:
            support = logits.softmax(-1)[:, self._columns[0]]
        return torch.stack([support, 1 - support, torch.zeros_like(support)], -1)
