"""The verifier at work: what evidence, and each sentence of it, does to a claim.

A model reads at most six sentences with a claim. Of longer evidence, windows of six sentences are
read first, then together the six that say most about the claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np
import torch

from proofs.verifier.evidence_input import EvidenceEncoder, EvidenceInput
from proofs.verifier.evidence_model import EvidenceModel
from proofs.verifier.label_names import LABELS
from proofs.verifier.reading import Reading, Sentence

MAX_SENTENCES = 6
#: Name of an exported model in the directory of a verifier.
ONNX_FILE = "verifier.onnx"
_NEUTRAL = LABELS.index("neutral")
# Of what is not read, nothing is known.
_NOTHING = np.eye(len(LABELS))[_NEUTRAL]
Scores = tuple[np.ndarray, np.ndarray, np.ndarray]


class Backend(Protocol):
    """Runs a model on one input."""

    def __call__(self, item: EvidenceInput) -> Scores:
        """Return the logits of the whole, (3,), and of each token by the heads, (length, 3)."""
        ...


class EvidenceVerifier:
    """Reads claims with their evidence.

    Parameters
    ----------
    backend
        Runs the model. Inputs run one by one, so that a reading does not depend on others.
    encoder
        Encodes its inputs.
    temperature
        What the logits are divided by.
    """

    def __init__(
        self, backend: Backend, encoder: EvidenceEncoder, temperature: float = 1.0
    ) -> None:
        self._backend, self._encoder, self._temperature = backend, encoder, temperature

    def read(self, claims: Sequence[str], evidences: Sequence[Sequence[Sentence]]) -> list[Reading]:
        """Return what the evidence of each claim, pairs of title and sentence, does to it."""
        return [self._read(c, list(e)) for c, e in zip(claims, evidences, strict=True)]

    def _read(self, claim: str, evidence: list[Sentence]) -> Reading:
        if not evidence:
            return Reading(_NOTHING, np.zeros((0, len(LABELS))))
        if len(evidence) <= MAX_SENTENCES:
            return self._window(claim, evidence)
        sentences = np.zeros((len(evidence), len(LABELS)))
        unread: list[int] = []
        for begin in range(0, len(evidence), MAX_SENTENCES):
            part = self._window(claim, evidence[begin : begin + MAX_SENTENCES])
            sentences[begin : begin + len(part.sentences)] = part.sentences
            unread += [begin + number for number in part.unread]
        best = np.sort(np.argsort(sentences[:, _NEUTRAL], kind="stable")[:MAX_SENTENCES])
        whole = self._window(claim, [evidence[number] for number in best])
        sentences[best] = whole.sentences
        return replace(whole, sentences=sentences, unread=tuple(unread))

    def _window(self, claim: str, evidence: list[Sentence]) -> Reading:
        (item,) = self._encoder.encode([claim], [evidence])
        whole, sentences, tokens = self._backend(item)
        own = np.tile(_NOTHING, (len(evidence), 1))
        own[: len(item.markers)] = self._probabilities(sentences[item.markers])
        at = slice(item.claim, item.claim + len(item.offsets))
        return Reading(
            self._probabilities(whole),
            own,
            self._probabilities(tokens[at]),
            tuple(item.offsets),
            tuple(item.unread),
            item.claim_cut,
        )

    def _probabilities(self, logits: np.ndarray) -> np.ndarray:
        scaled = logits.astype(np.float64) / self._temperature
        shares = np.exp(scaled - scaled.max(-1, keepdims=True))
        values: np.ndarray = shares / shares.sum(-1, keepdims=True)
        return values


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


class OnnxBackend:
    """Runs an exported model with onnxruntime.

    Parameters
    ----------
    path
        The ONNX file.
    threads
        Number of threads.
    """

    def __init__(self, path: Path, threads: int) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        # Threads that wait for work would take the time of others.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])

    def __call__(self, item: EvidenceInput) -> Scores:
        """Return the logits (see `Backend`)."""
        ids = np.array([item.ids], dtype=np.int64)
        segments = np.array([item.segments], dtype=np.int64)
        inputs = {"ids": ids, "mask": np.ones_like(ids), "segments": segments}
        whole, sentences, tokens = self._session.run(["whole", "sentences", "tokens"], inputs)
        return whole[0], sentences[0], tokens[0]
