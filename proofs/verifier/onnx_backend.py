"""An exported model of the verifier, run by onnxruntime without torch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime

from proofs.verifier.evidence_input import EvidenceInput
from proofs.verifier.evidence_verifier import Scores
from proofs.verifier.reading import VerifierError

#: Names of the inputs and outputs of an exported model.
INPUTS, OUTPUTS = ("ids", "mask", "segments"), ("whole", "sentences", "tokens")
_REMEDY = "write it anew with training.export_verifier, or restore it"


class OnnxBackend:
    """Runs an exported model with onnxruntime, on the CPU.

    Parameters
    ----------
    path
        The ONNX file.
    threads
        Number of threads.

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
                f"{path}: is not an ONNX model ({_line(error)}); {_REMEDY}"
            ) from None
        found = (
            tuple(one.name for one in self._session.get_inputs()),
            tuple(one.name for one in self._session.get_outputs()),
        )
        if (set(found[0]), set(found[1])) != (set(INPUTS), set(OUTPUTS)):
            names = ", ".join(found[0] + found[1])
            raise VerifierError(f"{path}: inputs and outputs {names} are others; {_REMEDY}")

    def __call__(self, item: EvidenceInput) -> Scores:
        """Return the logits (see `Backend`)."""
        ids = np.array([item.ids], dtype=np.int64)
        segments = np.array([item.segments], dtype=np.int64)
        inputs = dict(zip(INPUTS, (ids, np.ones_like(ids), segments), strict=True))
        try:
            whole, sentences, tokens = self._session.run(OUTPUTS, inputs)
        except Exception as error:
            raise VerifierError(
                f"{self._path}: cannot be run ({_line(error)}); {_REMEDY}"
            ) from None
        if not all(np.isfinite(values).all() for values in (whole, sentences, tokens)):
            raise VerifierError(f"{self._path}: the outputs are not finite; {_REMEDY}")
        return whole[0], sentences[0], tokens[0]


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
