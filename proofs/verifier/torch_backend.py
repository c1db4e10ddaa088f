"""The verifier in torch: for training, and for GPUs."""

from __future__ import annotations

from pathlib import Path

import torch

from proofs.verifier.evidence_input import EvidenceEncoder, EvidenceInput
from proofs.verifier.evidence_model import EvidenceModel, read_model
from proofs.verifier.evidence_verifier import EvidenceVerifier, Scores
from proofs.verifier.label_scales import read_calibration


class TorchBackend:
    """Runs a model with torch, on the device of the model."""

    def __init__(self, model: EvidenceModel) -> None:
        self._model = model
        self._device = next(model.parameters()).device

    @torch.inference_mode()
    def __call__(self, item: EvidenceInput) -> Scores:
        """Return the logits (see `Backend`)."""
        ids = torch.tensor([item.ids], device=self._device)
        segments = torch.tensor([item.segments], device=self._device)
        outputs = self._model(ids, torch.ones_like(ids), segments)
        whole, sentences, tokens = (o[0].float().cpu().numpy() for o in outputs)
        return whole, sentences, tokens


def open_checkpoint(directory: Path, device: str = "cpu") -> EvidenceVerifier:
    """Open a trained verifier.

    Parameters
    ----------
    directory
        Its directory, as `write_model` writes it.
    device
        A device of torch.

    Raises
    ------
    ValueError
        If a file is missing, damaged, or has other content; with the file and the remedy.
    """
    model, tokenizer = read_model(directory)
    backend = TorchBackend(model.to(device))
    positions = model.classifier.config.max_position_embeddings
    encoder = EvidenceEncoder.of(tokenizer, min(tokenizer.model_max_length, positions))
    return EvidenceVerifier(backend, encoder, read_calibration(directory))
