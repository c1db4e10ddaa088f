"""Exported models: a directory with an ONNX model, its tokenizer and its settings.

The settings, in JSON, are the maximum length of inputs, the special tokens, and the calibration.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import onnxruntime
from pydantic import ConfigDict, Field
from tokenizers import Tokenizer

from proofs.verifier import Calibration, VerifierError, validated

#: Names of the files beside the model.
TOKENIZER_FILE, SETTINGS_FILE = "tokenizer.json", "verifier.json"
Token = Annotated[int, Field(ge=0, strict=True)]


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """The ids of the tokens that inputs have beside those of texts."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    start: Token
    separator: Token  # after the evidence and after the claim
    pad: Token
    marker: Token


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
            raise VerifierError(f"{path}: inputs and outputs {names} are others; {self._remedy}")

    def __call__(self, *values: Sequence[Any]) -> list[np.ndarray]:
        """Return the outputs for one input, without the dimension of the batch."""
        given = [np.array(value, dtype=np.int64) for value in values]
        try:
            outputs = self._session.run(self._outputs, dict(zip(self._inputs, given, strict=True)))
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
class ExportSettings:
    """The settings of an exported model."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    max_length: Annotated[int, Field(ge=16, strict=True)]
    special_tokens: SpecialTokens
    calibration: Calibration

    def to_json(self) -> str:
        """Return the text of the file."""
        return json.dumps(asdict(self), indent=2) + "\n"


def read_settings(path: Path, program: str) -> ExportSettings:
    """Read the settings of an export; `program` writes it.

    Raises `ValueError` if the file holds anything else, with the field and the remedy.
    """
    remedy = f"write the directory anew with training.{program}, or restore the file"
    return validated(ExportSettings, path.read_bytes(), str(path), remedy)


def read_export(directory: Path, program: str) -> tuple[Tokenizer, ExportSettings]:
    """Return the tokenizer and the settings of an export.

    Raises `VerifierError` if a file is missing, damaged, or has other content; with the file, the
    field and the remedy.
    """
    remedy = f"write the directory anew with training.{program}, or restore the file"
    for name in (TOKENIZER_FILE, SETTINGS_FILE):
        if not (directory / name).is_file():
            raise VerifierError(f"{directory / name}: no such file; {remedy}")
    try:
        tokenizer = Tokenizer.from_file(str(directory / TOKENIZER_FILE))
    except Exception as error:  # tokenizers raises no more specific one
        raise VerifierError(
            f"{directory / TOKENIZER_FILE}: is not a tokenizer ({error}); {remedy}"
        ) from None
    try:
        found = read_settings(directory / SETTINGS_FILE, program)
    except ValueError as error:
        raise VerifierError(str(error)) from None
    if max(asdict(found.special_tokens).values()) >= tokenizer.get_vocab_size():
        raise VerifierError(
            f"{directory / SETTINGS_FILE}: field 'special_tokens': the tokenizer has fewer tokens; "
            f"{remedy}"
        )
    return tokenizer, found
