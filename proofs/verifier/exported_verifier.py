"""The files of an exported verifier, which runs without torch.

The directory holds the model (``verifier.onnx``), its tokenizer (``tokenizer.json``), and
``verifier.json``: the maximum length of inputs, the special tokens, and the calibration.
`training.export_verifier` writes it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from proofs.verifier.evidence_verifier import (
    EvidenceEncoder,
    EvidenceInput,
    EvidenceVerifier,
    Scores,
    SpecialTokens,
)
from proofs.verifier.label_scales import Calibration, parse_calibration
from proofs.verifier.reading import VerifierError

#: Names of the inputs and outputs of an exported model.
INPUTS, OUTPUTS = ("ids", "mask", "segments"), ("whole", "sentences", "tokens")
_ONNX_REMEDY = "write it anew with training.export_verifier, or restore it"


class OnnxBackend:
    """Runs an exported model with onnxruntime, on the CPU.

    Raises
    ------
    VerifierError
        If the file holds no exported verifier.
    """

    def __init__(self, path: Path, threads: int = 1) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        # Threads that wait for work would take the time of others.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._path = path
        try:
            self._session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
        except Exception as error:  # its errors have no common base
            raise VerifierError(
                f"{path}: is not an ONNX model ({_line(error)}); {_ONNX_REMEDY}"
            ) from None
        found = (
            tuple(one.name for one in self._session.get_inputs()),
            tuple(one.name for one in self._session.get_outputs()),
        )
        if (set(found[0]), set(found[1])) != (set(INPUTS), set(OUTPUTS)):
            names = ", ".join(found[0] + found[1])
            raise VerifierError(f"{path}: inputs and outputs {names} are others; {_ONNX_REMEDY}")

    def __call__(self, item: EvidenceInput) -> Scores:
        """Return the logits (see `Backend`)."""
        ids = np.array([item.ids], dtype=np.int64)
        segments = np.array([item.segments], dtype=np.int64)
        inputs = dict(zip(INPUTS, (ids, np.ones_like(ids), segments), strict=True))
        try:
            whole, sentences, tokens = self._session.run(OUTPUTS, inputs)
        except Exception as error:
            raise VerifierError(
                f"{self._path}: cannot be run ({_line(error)}); {_ONNX_REMEDY}"
            ) from None
        if not all(np.isfinite(values).all() for values in (whole, sentences, tokens)):
            raise VerifierError(f"{self._path}: the outputs are not finite; {_ONNX_REMEDY}")
        return whole[0], sentences[0], tokens[0]


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


#: Names of the files.
ONNX_FILE, TOKENIZER_FILE, SETTINGS_FILE = "verifier.onnx", "tokenizer.json", "verifier.json"
_FIELDS = ("max_length", "special_tokens", "calibration")
_SHORTEST = 16
_REMEDY = "write the directory anew with training.export_verifier, or restore the file"


def open_export(directory: Path, threads: int = 1) -> EvidenceVerifier:
    """Open an exported verifier.

    Parameters
    ----------
    threads
        Number of threads that onnxruntime uses for a reading.

    Raises
    ------
    VerifierError
        If a file is missing, damaged, or has other content; with the file, the field and the
        remedy.
    """
    for name in (ONNX_FILE, TOKENIZER_FILE, SETTINGS_FILE):
        if not (directory / name).is_file():
            raise VerifierError(f"{directory / name}: no such file; {_REMEDY}")
    try:
        tokenizer = Tokenizer.from_file(str(directory / TOKENIZER_FILE))
    except Exception as error:  # tokenizers raises no more specific one
        raise VerifierError(
            f"{directory / TOKENIZER_FILE}: is not a tokenizer ({error}); {_REMEDY}"
        ) from None
    special, max_length, calibration = _read_settings(
        directory / SETTINGS_FILE, tokenizer.get_vocab_size()
    )
    encoder = EvidenceEncoder(tokenizer, special, max_length)
    return EvidenceVerifier(OnnxBackend(directory / ONNX_FILE, threads), encoder, calibration)


def settings_json(encoder: EvidenceEncoder, calibration: Calibration) -> str:
    """Return the text of ``verifier.json`` for an encoder and a calibration."""
    record = {
        "max_length": encoder.max_length,
        "special_tokens": asdict(encoder.special),
        "calibration": asdict(calibration),
    }
    return json.dumps(record, indent=2) + "\n"


def with_calibration(path: Path, calibration: Calibration) -> str:
    """Return the text of a ``verifier.json`` with another calibration."""
    record = json.loads(path.read_text(encoding="utf-8"))
    return json.dumps({**record, "calibration": asdict(calibration)}, indent=2) + "\n"


def _read_settings(path: Path, vocabulary: int) -> tuple[SpecialTokens, int, Calibration]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise VerifierError(f"{path}: is not JSON ({error}); {_REMEDY}") from None
    if not isinstance(record, dict) or set(record) != set(_FIELDS):
        raise VerifierError(f"{path}: expected the fields {', '.join(_FIELDS)}; {_REMEDY}")
    length = record["max_length"]
    if not _is_int(length) or length < _SHORTEST:
        raise VerifierError(
            f"{path}: field 'max_length': expected a whole number from {_SHORTEST}; {_REMEDY}"
        )
    ids, names = record["special_tokens"], [field.name for field in fields(SpecialTokens)]
    if not isinstance(ids, dict) or set(ids) != set(names):
        raise VerifierError(
            f"{path}: field 'special_tokens': expected {', '.join(names)}; {_REMEDY}"
        )
    for name, number in ids.items():
        if not _is_int(number) or not 0 <= number < vocabulary:
            raise VerifierError(
                f"{path}: field 'special_tokens': {name} is not a token of the tokenizer; {_REMEDY}"
            )
    try:
        calibration = parse_calibration(
            record["calibration"], f"{path}: field 'calibration'", _REMEDY
        )
    except ValueError as error:
        raise VerifierError(str(error)) from None
    return SpecialTokens(**ids), length, calibration


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
