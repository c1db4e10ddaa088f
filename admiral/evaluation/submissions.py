"""A run as the file that each shared task takes.

Claims that the run does not answer are submitted as not verifiable, without evidence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.evaluation.predictions import Prediction
from admiral.kb.corpus.readers.fever_pages import fever_identifier
from admiral.storage.atomic_files import encode_record, write_atomically
from proofs import Verdict

_NOTHING = Prediction("", (), (), Verdict.NOT_ENOUGH_INFO)
_MOST = 5
Writer = Callable[[Iterable[tuple[str, Prediction]]], Iterator[bytes]]


def write_submission(
    path: Path, task: str, ids: Sequence[str], answers: Mapping[str, Prediction]
) -> None:
    """Write the file of one shared task, atomically.

    ``fever`` and ``feverous`` are JSON Lines in the order of `ids`, with the first five sentences;
    ``hover`` is one JSON object by id.

    Parameters
    ----------
    task
        ``fever``, ``hover`` or ``feverous``.
    ids
        The claims of the task, in its order.
    answers
        The run, by id.

    Raises
    ------
    AdmiralError
        If an answer has no verdict or no sentences, which the tasks ask for, or `path` cannot be
        written.
    """
    given = [(id, answers.get(id, _NOTHING)) for id in ids]
    for id, one in given:
        if one.verdict is None or one.sentences is None:
            lacking = "sentences" if one.sentences is None else "proof, and so no label"
            raise AdmiralError(
                f"claim {id!r}: its answer has no {lacking}. Give the results of `admiral "
                "retrieve` with a judge that writes proofs, such as calibrated"
            )
    write_atomically(path, _WRITERS[task](given))


def _fever(given: Iterable[tuple[str, Prediction]]) -> Iterator[bytes]:
    for id, one in given:
        yield encode_record(
            {
                "id": int(id) if id.isascii() and id.isdigit() else id,
                "predicted_label": _verdict(one).value,
                "predicted_evidence": [
                    [fever_identifier(title), number] for title, number in _first(one)
                ],
            }
        )


def _feverous(given: Iterable[tuple[str, Prediction]]) -> Iterator[bytes]:
    for _, one in given:
        yield encode_record(
            {
                "predicted_label": _verdict(one).value,
                "predicted_evidence": [
                    [title, "sentence", str(number)] for title, number in _first(one)
                ],
            }
        )


def _hover(given: Iterable[tuple[str, Prediction]]) -> Iterator[bytes]:
    labels = {Verdict.SUPPORTS: "SUPPORTED"}
    records: dict[str, Any] = {
        id: {
            "predicted_label": labels.get(_verdict(one), "NOT_SUPPORTED"),
            "predicted_sp": [list(sentence) for sentence in one.sentences or ()],
        }
        for id, one in given
    }
    yield json.dumps(records, indent=1).encode("ascii") + b"\n"


_WRITERS: dict[str, Writer] = {"fever": _fever, "feverous": _feverous, "hover": _hover}


def _verdict(one: Prediction) -> Verdict:
    return one.verdict or Verdict.NOT_ENOUGH_INFO


def _first(one: Prediction) -> Sequence[tuple[str, int]]:
    return (one.sentences or ())[:_MOST]
