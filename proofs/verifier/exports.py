"""Exported models: a directory with an ONNX model, its tokenizer and its settings.

The settings, in JSON, are the maximum length of inputs, the special tokens, and the calibration.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from proofs.verifier import Calibration, VerifierError, parse_calibration

TOKENIZER_FILE = "tokenizer.json"
_FIELDS = ("max_length", "special_tokens", "calibration")
_SHORTEST = 16


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """The ids of the tokens that inputs have beside those of texts."""

    start: int
    separator: int  # after the evidence and after the claim
    pad: int
    marker: int


class OnnxModel:
    """Runs an exported model with onnxruntime, on the CPU.

    `program`: the training program that writes it, for errors.

    Raises `VerifierError` if the file holds no model with these inputs and outputs.
    """

    def __init__(
        self,
        path: Path,
        inputs: Sequence[str],
        outputs: Sequence[str],
        program: str,
        threads: int = 1,
    ) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        # Threads that wait for work would take the time of others.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._path, self._inputs, self._outputs = path, inputs, outputs
        self._remedy = f"write it anew with training.{program}, or restore it"
        try:
            self._session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
        except Exception as error:  # its errors have no common base
            raise VerifierError(
                f"{path}: is not an ONNX model ({_line(error)}); {self._remedy}"
            ) from None
        found = (
            {one.name for one in self._session.get_inputs()},
            {one.name for one in self._session.get_outputs()},
        )
        if found != (set(inputs), set(outputs)):
            names = ", ".join(sorted(found[0]) + sorted(found[1]))
            raise VerifierError(
                f"{path}: inputs and outputs {names} are others; {self._remedy}"
            )

    def __call__(self, *values: Sequence[Any]) -> list[np.ndarray]:
        """Return the outputs for one input, without the dimension of the batch."""
        given = [np.array(value, dtype=np.int64) for value in values]
        try:
            outputs = self._session.run(
                self._outputs, dict(zip(self._inputs, given, strict=True))
            )
        except Exception as error:
            raise VerifierError(
                f"{self._path}: cannot be run ({_line(error)}); {self._remedy}"
            ) from None
        if not all(np.isfinite(values).all() for values in outputs):
            raise VerifierError(f"{self._path}: the outputs are not finite; {self._remedy}")
        return [output[0] for output in outputs]


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


@dataclass(frozen=True, slots=True)
class Export:
    """What is beside an exported model in its directory."""

    tokenizer: Tokenizer
    special: SpecialTokens
    max_length: int
    calibration: Calibration

    @classmethod
    def read(cls, directory: Path, settings: str, program: str) -> Export:
        """Read a directory; `settings`: the file of that name.

        Raises `VerifierError` if a file is missing, damaged, or has other content; with the file,
        the field and the remedy.
        """
        remedy = f"write the directory anew with training.{program}, or restore the file"
        for name in (TOKENIZER_FILE, settings):
            if not (directory / name).is_file():
                raise VerifierError(f"{directory / name}: no such file; {remedy}")
        try:
            tokenizer = Tokenizer.from_file(str(directory / TOKENIZER_FILE))
        except Exception as error:  # tokenizers raises no more specific one
            raise VerifierError(
                f"{directory / TOKENIZER_FILE}: is not a tokenizer ({error}); {remedy}"
            ) from None
        return cls(
            tokenizer, *_read_settings(directory / settings, tokenizer.get_vocab_size(), remedy)
        )


def settings_json(special: SpecialTokens, max_length: int, calibration: Calibration) -> str:
    """Return the text of the settings of an export."""
    record = {
        "max_length": max_length,
        "special_tokens": asdict(special),
        "calibration": asdict(calibration),
    }
    return json.dumps(record, indent=2) + "\n"


def with_calibration(path: Path, calibration: Calibration) -> str:
    """Return the text of the settings of an export with another calibration."""
    record = json.loads(path.read_text(encoding="utf-8"))
    return json.dumps({**record, "calibration": asdict(calibration)}, indent=2) + "\n"


def _read_settings(
    path: Path, vocabulary: int, remedy: str
) -> tuple[SpecialTokens, int, Calibration]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise VerifierError(f"{path}: is not JSON ({error}); {remedy}") from None
    if not isinstance(record, dict) or set(record) != set(_FIELDS):
        raise VerifierError(f"{path}: expected the fields {', '.join(_FIELDS)}; {remedy}")
    length = record["max_length"]
    if not _is_int(length) or length < _SHORTEST:
        raise VerifierError(
            f"{path}: field 'max_length': expected a whole number from {_SHORTEST}; {remedy}"
        )
    ids, names = record["special_tokens"], [field.name for field in fields(SpecialTokens)]
    if not isinstance(ids, dict) or set(ids) != set(names):
        raise VerifierError(
            f"{path}: field 'special_tokens': expected {', '.join(names)}; {remedy}"
        )
    for name, number in ids.items():
        if not _is_int(number) or not 0 <= number < vocabulary:
            raise VerifierError(
                f"{path}: field 'special_tokens': {name} is not a token of the tokenizer; {remedy}"
            )
    try:
        calibration = parse_calibration(
            record["calibration"], f"{path}: field 'calibration'", remedy
        )
    except ValueError as error:
        raise VerifierError(str(error)) from None
    return SpecialTokens(**ids), length, calibration


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
