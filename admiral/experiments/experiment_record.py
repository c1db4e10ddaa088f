"""The record of an experiment: the measures of each system, and what they were measured on."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.evaluation import tables
from admiral.evaluation.bootstrap import confidence_intervals
from admiral.evaluation.predictions import normalise_title, read_predictions, read_results
from admiral.evaluation.tables import compare_evaluations
from admiral.evaluation.tasks import Evaluation, evaluate
from admiral.evaluation.traces import Trace, read_traces
from admiral.experiments.description import CITATIONS, CitationExperiment, Experiment, System
from admiral.gold import GoldClaim
from admiral.kb import info, locate
from admiral.kb.store.member_manifests import read_combined_manifest
from admiral.storage.atomic_files import explain_write_errors, write_atomically

FORMAT = 1
RECORD_NAME = "experiment.json"


def check_run_folder(out: Path, *, resume: bool, overwrite: bool) -> None:
    """Raise `AdmiralError` if a run exists that is neither continued nor replaced."""
    if not (resume or overwrite) and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise AdmiralError(
            f"{out}: exists already. Choose another --out, continue with --resume, or start again "
            "with --overwrite"
        )


def make_run_folder(out: Path, *, overwrite: bool) -> None:
    """Create the directory of a run, or remove its record to `overwrite` it."""
    with explain_write_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        if overwrite:
            (out / RECORD_NAME).unlink(missing_ok=True)


def write_record(out: Path, record: dict[str, Any]) -> None:
    """Write ``experiment.json``."""
    text = json.dumps(record, ensure_ascii=False, indent=1, allow_nan=False)
    write_atomically(out / RECORD_NAME, [text.encode() + b"\n"])


def experiment_header(experiment: Experiment | CitationExperiment, claims: int) -> dict[str, Any]:
    """Return the part of the record that describes the experiment and its claims."""
    with experiment.claims.open("rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "format": FORMAT,
        "file": experiment.file.name,
        "title": experiment.title,
        "task": CITATIONS if isinstance(experiment, CitationExperiment) else experiment.task,
        "claims": {"file": experiment.claims.name, "sha256": checksum, "used": claims},
        "overrides": list(experiment.overrides),
        "seeds": {"bootstrap": experiment.seed},
        "reference": experiment.reference,
    }


def knowledge_base_record(kb: str, builds: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return digest, sizes and build measurements of a knowledge base."""
    facts = info(locate(kb))
    return {
        "name": Path(kb).name,
        "digest": read_combined_manifest(locate(kb)).digest,
        "documents": facts.counts["documents"],
        "bytes": facts.sizes,
        "bm25": facts.bm25,
        "build": builds.get(kb, {}),
    }


def results_file(out: Path, system: System) -> Path:
    """Return the path of the results of a system in the directory of a run."""
    return out / system.folder / "results.jsonl"


def evaluate_systems(
    experiment: Experiment, gold: Sequence[GoldClaim], out: Path
) -> list[dict[str, Any]]:
    """Return the measures of each system, and its differences to the experiment's reference."""
    evaluations = {
        system.name: _evaluate(experiment, system, gold, results_file(out, system))
        for system in experiment.systems
    }
    records = []
    for system in experiment.systems:
        record = _measures(experiment, evaluations[system.name])
        if not system.baseline:
            traces = read_traces(results_file(out, system))
            record["stopping"] = stopping_quality(gold, {t.prediction.id: t for t in traces})
        if experiment.reference not in ("", system.name):
            reference = evaluations[experiment.reference]
            record["differences"] = _differences(experiment, reference, evaluations[system.name])
        records.append(record)
    return records


def _evaluate(
    experiment: Experiment, system: System, gold: Sequence[GoldClaim], results: Path
) -> Evaluation:
    predictions = read_predictions(results)
    if system.baseline:  # it ranks documents and selects no sentences
        predictions = {
            id: replace(prediction, sentences=None) for id, prediction in predictions.items()
        }
    return evaluate(experiment.evaluation_task, gold, predictions, experiment.ks)


def _measures(experiment: Experiment, evaluation: Evaluation) -> dict[str, Any]:
    """Return the measures of a system, with confidence intervals."""
    limits = [
        confidence_intervals(evaluation.measures, group, experiment.seed)
        for group in evaluation.groups
    ]
    return {
        "notes": evaluation.notes,
        "groups": [{"name": g.name, "claims": int(g.members.sum())} for g in evaluation.groups],
        "measures": tables.measure_records(evaluation.measures, evaluation.groups, limits),
    }


def _differences(
    experiment: Experiment, reference: Evaluation, evaluation: Evaluation
) -> list[dict[str, Any]]:
    """Return the paired differences of a system to the reference, for the groups of the table."""
    groups = [g for g in reference.groups if g.name in experiment.groups] or reference.groups
    return compare_evaluations(reference, evaluation, groups, experiment.seed)


def mean_seconds(results: Path) -> float:
    """Return the mean seconds per claim, from its records, so that resumed runs count in full."""
    times = [
        record.get("seconds", 0.0) + sum(hop["seconds"] for hop in record["hops"])
        for _, record in read_results(results)
    ]
    return float(sum(times) / len(times))


def stopping_quality(gold: Iterable[GoldClaim], traces: Mapping[str, Trace]) -> dict[str, Any]:
    """Compare the decisions of the judge at each hop with the gold documents.

    Evidence is complete if it has a sentence of every document of one of the gold sets. Claims
    without gold evidence or without a result do not count. Returns ``hops``: their mean number;
    ``stopped``: number of claims by reason for stopping; ``precision`` and ``recall`` of the
    decision "insufficient" over all hops (None if undefined); ``decisions``: for each hop, the
    number of decisions ``sufficient`` and ``insufficient``, and for how many of each the evidence
    was complete.
    """
    counts: Counter[tuple[int, bool, bool]] = Counter()
    reasons: Counter[str] = Counter()
    hops = []
    for claim in gold:
        trace = traces.get(claim.id)
        if trace is None or not claim.evidence:
            continue
        sets = [frozenset(map(normalise_title, titles)) for titles in claim.title_sets]
        for hop in trace.hops:
            complete = any(titles <= hop.titles for titles in sets)
            counts[hop.number, hop.sufficient, complete] += 1
        reasons[trace.stopped] += 1
        hops.append(len(trace.hops))
    wrong = sum(n for (_, sufficient, complete), n in counts.items() if not sufficient and complete)
    right = sum(
        n for (_, sufficient, complete), n in counts.items() if not sufficient and not complete
    )
    incomplete = sum(n for (_, _, complete), n in counts.items() if not complete)
    return {
        "hops": sum(hops) / len(hops) if hops else None,
        "stopped": dict(sorted(reasons.items())),
        "precision": right / (right + wrong) if right + wrong else None,
        "recall": right / incomplete if incomplete else None,
        "decisions": [
            {
                "hop": hop,
                "sufficient": counts[hop, True, True] + counts[hop, True, False],
                "sufficient_complete": counts[hop, True, True],
                "insufficient": counts[hop, False, True] + counts[hop, False, False],
                "insufficient_complete": counts[hop, False, True],
            }
            for hop in sorted({hop for hop, _, _ in counts})
        ],
    }
