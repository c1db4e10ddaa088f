"""The measures of FEVER, FEVEROUS-S and KILT, as their scorers compute them, and submissions.

A claim without a prediction is submitted as not verifiable, without evidence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.evaluation import Pair, Prediction
from admiral.evaluation.measures import (
    Group,
    Measure,
    covers_any_set,
    group_by_hops,
    harmonic_mean_measure,
    has_gold,
    mean_measures,
    r_precision,
    task_measures,
)
from admiral.gold import GoldClaim, Label
from admiral.io.text_cleaning import fever_identifier
from admiral.storage.atomic_files import encode_record, write_atomically
from proofs import Verdict

SENTENCE_SECTION = "sentences (first 5)"
KILT_SECTION = "documents of the ranking (KILT)"
LABEL_SECTION = "labels"
MAX_SENTENCES = 5


def groups(pairs: Sequence[Pair]) -> list[Group]:
    """Group the claims: all, then by the smallest number of gold documents that is enough."""
    return group_by_hops(pairs, "document")


def is_label_correct(pair: Pair) -> bool:
    """Return whether the predicted verdict equals the gold label."""
    verdict, label = pair.verdict, pair.gold.label
    return verdict is not None and label is not None and verdict.value == label.value


def has_complete_evidence(pair: Pair) -> bool:
    """Return whether all sentences of one gold evidence set are among the first five."""
    sentences: tuple[tuple[str, int | None], ...] = pair.sentences[:MAX_SENTENCES]
    return covers_any_set([frozenset(s) for s in pair.gold.evidence], sentences)


def _evidence_precision(pair: Pair) -> float:
    if pair.prediction is None:
        return 0.0
    gold = {sentence for evidence_set in pair.gold.evidence for sentence in evidence_set}
    sentences = pair.sentences[:MAX_SENTENCES]
    return sum(s in gold for s in sentences) / len(sentences) if sentences else 1.0


def _evidence_recall(pair: Pair) -> float:
    return float(pair.is_answered and (not pair.gold.evidence or has_complete_evidence(pair)))


def _is_verifiable(pair: Pair) -> bool:
    label = pair.gold.label
    return bool(pair.gold.evidence) if label is None else label is not Label.NOT_ENOUGH_INFO


def sentence_measures(
    pairs: Sequence[Pair], counts: Callable[[Pair], bool] = _is_verifiable
) -> list[Measure]:
    """Return evidence precision, recall and F1 of the first five sentences.

    The rules are those of fever-scorer: NOT ENOUGH INFO claims do not count; a prediction without
    sentences has precision 1; a claim without gold evidence has recall 1; F1 is the harmonic mean
    of the two means (not the mean of F1 over claims). A claim without a prediction has precision 0
    and recall 0. `counts`: which claims count.
    """
    values = {"evidence precision": _evidence_precision, "evidence recall": _evidence_recall}
    means = mean_measures(SENTENCE_SECTION, pairs, values, counts)
    return [*means, harmonic_mean_measure(SENTENCE_SECTION, "evidence F1", *means)]


def _labels(
    pairs: Sequence[Pair], score: str, has_evidence: Callable[[Pair], bool]
) -> list[Measure]:
    """Return label accuracy, and the share of claims with the right label and evidence.

    Only claims with a gold label count; predictions without a verdict are wrong.
    """
    values = {
        "label accuracy": is_label_correct,
        score: lambda pair: is_label_correct(pair) and has_evidence(pair),
    }
    return mean_measures(LABEL_SECTION, pairs, values, lambda pair: pair.gold.label is not None)


def label_measures(pairs: Sequence[Pair]) -> list[Measure]:
    """Return label accuracy and the FEVER score.

    The FEVER score is the share of claims with the correct label and, unless the label is NOT
    ENOUGH INFO, a complete gold evidence set among the first five sentences (fever-scorer's
    "strict score"). There is none if the gold file names only documents.
    """

    def has_evidence(pair: Pair) -> bool:
        return pair.gold.label is Label.NOT_ENOUGH_INFO or has_complete_evidence(pair)

    found = _labels(pairs, "FEVER score", has_evidence)
    names_documents = any(pair.gold.evidence for pair in pairs)
    names_sentences = any(pair.gold.sentences for pair in pairs)
    return found[:1] if names_documents and not names_sentences else found


def select_claims(gold: Sequence[GoldClaim]) -> tuple[list[GoldClaim], list[str]]:
    """Return the claims that sentences alone can verify, and a note about the claims left out."""
    selected = [claim for claim in gold if claim.evidence]
    n_dropped = len(gold) - len(selected)
    if not n_dropped:
        return selected, []
    n_elements = sum(claim.n_ignored_elements for claim in gold)
    return selected, [
        f"{n_dropped} of {len(gold)} claims need more than sentences and are left out "
        f"(FEVEROUS-S); {n_elements} cells and other elements were passed over"
    ]


def _r_precision(pair: Pair) -> float:
    return r_precision(pair.title_sets, pair.documents)


measures = partial(task_measures, sentences=sentence_measures, labels=label_measures)
feverous_measures = partial(
    task_measures,
    # Unlike in FEVER, NOT ENOUGH INFO claims have evidence too.
    sentences=partial(sentence_measures, counts=lambda pair: True),
    labels=partial(_labels, score="FEVEROUS score", has_evidence=has_complete_evidence),
)
kilt_measures = partial(
    task_measures,
    documents=lambda pairs: mean_measures(
        KILT_SECTION, pairs, {"R-precision": _r_precision}, has_gold
    ),
    labels=partial(
        _labels, score="KILT accuracy", has_evidence=lambda pair: _r_precision(pair) == 1
    ),
)


_NO_PREDICTION = Prediction("", (), (), Verdict.NOT_ENOUGH_INFO)
Encoder = Callable[[Iterable[tuple[str, Prediction]]], Iterator[bytes]]


def write_submission(
    path: Path, task: str, ids: Sequence[str], predictions: Mapping[str, Prediction]
) -> None:
    """Write the submission file of a shared task atomically.

    The files of ``fever`` and ``feverous`` are JSON Lines in the order of `ids`, with the first
    five sentences; that of ``kilt`` has all documents; that of ``hover`` is one JSON object whose
    keys are the ids. `task`: ``fever``, ``hover``, ``feverous`` or ``kilt``. `ids`: ids of the
    task's claims, in its order.
    """
    if task not in _ENCODERS:
        raise AdmiralError(
            f"task {task}: is no shared task with submissions; there are {', '.join(_ENCODERS)}"
        )
    entries = [(id, predictions.get(id, _NO_PREDICTION)) for id in ids]
    for id, prediction in entries:
        if task == "kilt":
            if prediction.documents and not prediction.ids:
                raise AdmiralError(
                    f"claim {id!r}: its prediction has a document without id. Give the results of "
                    "`admiral retrieve` on an index of the KILT knowledge source"
                )
        elif prediction.verdict is None or prediction.sentences is None:
            lacking = "sentences" if prediction.sentences is None else "proof, and so no label"
            raise AdmiralError(
                f"claim {id!r}: its prediction has no {lacking}. Give the results of `admiral "
                "retrieve` with a judge that writes proofs, such as verifier"
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


def _encode_kilt(entries: Iterable[tuple[str, Prediction]]) -> Iterator[bytes]:
    for id, prediction in entries:
        pages = zip(prediction.ids, prediction.documents, strict=True)
        provenance = [{"wikipedia_id": page, "title": title} for page, title in pages]
        verdict = prediction.verdict  # questions have none, and are only searched for
        answer = {} if verdict is None else {"answer": verdict.value}
        yield encode_record({"id": id, "output": [{**answer, "provenance": provenance}]})


_ENCODERS: dict[str, Encoder] = {
    "fever": _encode_fever,
    "feverous": _encode_feverous,
    "hover": _encode_hover,
    "kilt": _encode_kilt,
}


def _verdict(prediction: Prediction) -> Verdict:
    return prediction.verdict or Verdict.NOT_ENOUGH_INFO


def _evidence(prediction: Prediction) -> Sequence[tuple[str, int]]:
    return (prediction.sentences or ())[:MAX_SENTENCES]
