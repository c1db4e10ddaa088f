"""Submission files of the FEVER, HoVer and FEVEROUS shared tasks.

A claim without a prediction is submitted as not verifiable, without evidence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.evaluation.fever import MAX_SENTENCES
from admiral.evaluation.predictions import Prediction
from admiral.io.text_cleaning import fever_identifier
from admiral.storage.atomic_files import encode_record, write_atomically
from proofs import Verdict

_NO_PREDICTION = Prediction("", (), (), Verdict.NOT_ENOUGH_INFO)
Encoder = Callable[[Iterable[tuple[str, Prediction]]], Iterator[bytes]]


def write_submission(
    path: Path, task: str, ids: Sequence[str], predictions: Mapping[str, Prediction]
) -> None:
    """Write the submission file of a shared task atomically.

    The files of ``fever`` and ``feverous`` are JSON Lines in the order of `ids`, with the first
    five sentences; that of ``hover`` is one JSON object whose keys are the ids. `task`: ``fever``,
    ``hover`` or ``feverous``. `ids`: ids of the task's claims, in its order. Raises AdmiralError if
    there is no shared task of this name, a prediction has no verdict or no sentences, or `path`
    cannot be written.
    """
    if task not in _ENCODERS:
        raise AdmiralError(
            f"task {task}: is no shared task with submissions; there are {', '.join(_ENCODERS)}"
        )
    entries = [(id, predictions.get(id, _NO_PREDICTION)) for id in ids]
    for id, prediction in entries:
        if prediction.verdict is None or prediction.sentences is None:
            lacking = "sentences" if prediction.sentences is None else "proof, and so no label"
            raise AdmiralError(
                f"claim {id!r}: its prediction has no {lacking}. Give the results of `admiral "
                "retrieve` with a judge that writes proofs, such as calibrated"
            )
    write_atomically(path, _ENCODERS[task](entries))


def _encode_fever(entries: Iterable[tuple[str, Prediction]]) -> Iterator[bytes]:
    for id, prediction in entries:
        yield encode_record(
            {
                "id": int(id) if id.isascii() and id.isdigit() else id,
                "predicted_label": _verdict(prediction).value,
                "predicted_evidence": [
                    [fever_identifier(title), number] for title, number in _evidence(prediction)
                ],
            }
        )


def _encode_feverous(entries: Iterable[tuple[str, Prediction]]) -> Iterator[bytes]:
    for _, prediction in entries:
        yield encode_record(
            {
                "predicted_label": _verdict(prediction).value,
                "predicted_evidence": [
                    [title, "sentence", str(number)] for title, number in _evidence(prediction)
                ],
            }
        )


def _encode_hover(entries: Iterable[tuple[str, Prediction]]) -> Iterator[bytes]:
    labels = {Verdict.SUPPORTS: "SUPPORTED"}
    records: dict[str, Any] = {
        id: {
            "predicted_label": labels.get(_verdict(prediction), "NOT_SUPPORTED"),
            "predicted_sp": [list(sentence) for sentence in prediction.sentences or ()],
        }
        for id, prediction in entries
    }
    yield json.dumps(records, indent=1).encode("ascii") + b"\n"


_ENCODERS: dict[str, Encoder] = {
    "fever": _encode_fever,
    "feverous": _encode_feverous,
    "hover": _encode_hover,
}


def _verdict(prediction: Prediction) -> Verdict:
    return prediction.verdict or Verdict.NOT_ENOUGH_INFO


def _evidence(prediction: Prediction) -> Sequence[tuple[str, int]]:
    return (prediction.sentences or ())[:MAX_SENTENCES]
