"""Any Hugging Face sequence classifier as a verifier.

A classifier reads one text against the claim: each sentence alone, and then the evidence as a
whole. Of evidence that is longer than an input, the whole is what the sentences say that alone say
most about the claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

from proofs.verifier.label_scales import Calibration, Scale, read_calibration
from proofs.verifier.reading import (
    LABELS,
    NEUTRAL,
    Reading,
    Sentence,
    VerifierError,
    encodable,
    evidence_text,
    nothing_known,
    sentence_text,
)
from proofs.verifier.sequence_classifier import (
    SequenceClassifier,
    classifier_inputs,
    length_batches,
    pad_inputs,
    read_sequence_classifier,
)

_BATCH_TOKENS = 4096


@dataclass(frozen=True, slots=True)
class _Pair:
    ids: list[int]
    segments: list[int]
    is_cut: bool


class ClassifierVerifier:
    """Reads claims with their evidence by a classifier of pairs.

    It computes in 32 bits, in which readings depend on other claims by rounding errors only. A
    classifier that tells support from everything else never says that evidence contradicts.
    """

    def __init__(
        self,
        classifier: SequenceClassifier,
        calibration: Calibration = Calibration(),  # noqa: B008  (immutable)
        *,
        device: str = "cpu",
    ) -> None:
        self._classifier, self.calibration = classifier, calibration
        self._device = torch.device(device)
        classifier.model.to(device)  # type: ignore[arg-type]
        # Configured once: several threads may use a tokenizer, but not while one configures it.
        self._bare = Tokenizer.from_str(classifier.tokenizer.to_str())
        self._bare.no_padding()
        self._bare.no_truncation()
        self._joining = Tokenizer.from_str(self._bare.to_str())
        self._joining.enable_truncation(classifier.max_length, strategy="only_first")

    @classmethod
    def open(cls, directory: Path, *, device: str = "cpu") -> ClassifierVerifier:
        """Open the classifier in a directory.

        Raises
        ------
        ValueError
            If it cannot be used; with the file, the field and the remedy.
        """
        calibration = read_calibration(directory)
        return cls(read_sequence_classifier(directory), calibration, device=device)

    def read(self, claims: Sequence[str], evidences: Sequence[Sequence[Sentence]]) -> list[Reading]:
        """Return what the evidence of each claim does to it (see `Verifier`)."""
        if len(claims) != len(evidences):
            raise ValueError(f"{len(claims)} claims have {len(evidences)} lists of evidence")
        cut = [self._cut(encodable(claim)) for claim in claims]
        kept = [list(e) if c.strip() else [] for c, e in zip(claims, evidences, strict=True)]
        scales = [self.calibration.of(evidence) for evidence in kept]
        alone = [
            [self._pair(claim, sentence_text(sentence)) for sentence in evidence]
            for (claim, _), evidence in zip(cut, kept, strict=True)
        ]
        sentences = self._probabilities(alone, scales, whole=False)
        wholes = [
            [self._whole(claim, evidence, pairs, rows)] if evidence else []
            for (claim, _), evidence, pairs, rows in zip(cut, kept, alone, sentences, strict=True)
        ]
        labels = self._probabilities(wholes, scales, whole=True)
        return [
            Reading(
                labels[at][0],
                sentences[at],
                unread=tuple(number for number, pair in enumerate(alone[at]) if pair.is_cut),
                claim_cut=cut[at][1],
            )
            if kept[at]
            else nothing_known(len(evidences[at]))
            for at in range(len(claims))
        ]

    def _whole(
        self, claim: str, evidence: list[Sentence], alone: list[_Pair], sentences: np.ndarray
    ) -> _Pair:
        if len(evidence) == 1:
            return alone[0]
        whole = self._pair(claim, evidence_text(evidence))
        if not whole.is_cut:
            return whole
        ranked = np.argsort(sentences[:, NEUTRAL], kind="stable")
        best = [int(ranked[0])]
        whole = alone[best[0]]
        for number in map(int, ranked[1:]):
            # Joined in the order of the evidence.
            joined = evidence_text(evidence[at] for at in sorted([*best, number]))
            tried = self._pair(claim, joined)
            if not tried.is_cut:
                best.append(number)
                whole = tried
        return whole

    def _cut(self, claim: str) -> tuple[str, bool]:
        offsets = self._bare.encode(claim, add_special_tokens=False).offsets
        most = self._classifier.max_length // 2
        return (claim[: offsets[most - 1][1]], True) if len(offsets) > most else (claim, False)

    def _pair(self, claim: str, text: str) -> _Pair:
        # The evidence is first, as premises are in data sets of natural language inference.
        encoded = self._joining.encode(encodable(text), claim)
        return _Pair(encoded.ids, encoded.type_ids, bool(encoded.overflowing))

    @torch.inference_mode()
    def _logits(self, pairs: list[_Pair]) -> np.ndarray:
        """Return the outputs for each pair, (pairs, outputs)."""
        files = self._classifier
        logits = np.zeros((len(pairs), len(files.columns)))
        for positions in length_batches([len(pair.ids) for pair in pairs], _BATCH_TOKENS):
            batch = [pairs[at] for at in positions]
            inputs = pad_inputs([p.ids for p in batch], [p.segments for p in batch], files.pad)
            output = files.model(**classifier_inputs(*inputs, files.has_segments, self._device))
            logits[positions] = output.logits.float().cpu().numpy()
        if not np.isfinite(logits).all():
            raise VerifierError("the outputs of the classifier are not finite; choose another one")
        return logits

    def _probabilities(
        self, pairs: list[list[_Pair]], scales: list[Scale], *, whole: bool
    ) -> list[np.ndarray]:
        """Return the probability of each of `LABELS` for the pairs of each claim, (pairs, 3)."""
        logits = self._logits([pair for own in pairs for pair in own])
        ends = np.cumsum([len(own) for own in pairs[:-1]], dtype=int)
        rows = np.split(logits, ends) if pairs else []
        return [
            scale.probabilities(self._label_logits(own), whole=whole)
            for own, scale in zip(rows, scales, strict=True)
        ]

    def _label_logits(self, logits: np.ndarray) -> np.ndarray:
        """Return the logits of `LABELS`; what a classifier has no output for is impossible."""
        columns = self._classifier.columns
        if len(columns) == 1:  # the log-odds of support
            logits, columns = np.concatenate([logits, np.zeros_like(logits)], axis=1), (0, 1)
        labels = np.full((len(logits), len(LABELS)), -np.inf)
        labels[:, : len(columns)] = logits[:, list(columns)]
        return labels
