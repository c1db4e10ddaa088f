"""The systems, run over the claims of a corpus, and the table of what they found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from admiral.config import FAST_SETTINGS, load_config
from admiral.evaluation.predictions import Prediction, normalise_title, read_predictions
from admiral.evaluation.tasks import evaluate, read_task_claims
from admiral.evaluation.traces import Trace, read_traces
from admiral.experiments.description import Experiment, System
from admiral.experiments.experiment_record import results_file
from admiral.experiments.runner import run_experiment, select_claims
from admiral.gold import GoldClaim
from benchmarks.own_files.gold_claims import HALVES, TASK, in_half

#: Systems by name: the baseline, if it is one, and its settings.
SYSTEMS: dict[str, tuple[str | None, tuple[str, ...]]] = {
    "bm25": ("bm25", ()),
    "fast": (None, tuple(f"{key}={value}" for key, value in FAST_SETTINGS.items())),
    "default": (None, ()),
}
_KS = (5, 10)
HEAD = (
    "| corpus | half | system | claims | all gold @5 | @10 | evidence complete | "
    "stopped, complete | stopped, incomplete | processor s/claim | memory MB |"
)


def describe(
    corpus: str, kb: Path, claims: Path, names: Sequence[str], limit: int, settings: Sequence[str]
) -> Experiment:
    """Return the experiment that runs systems over the claims of a corpus."""
    systems = []
    for name in names:
        baseline, own = SYSTEMS[name]
        config = load_config(None, [f"kb={kb}", *settings, *own])
        systems.append(System(name, config, baseline))
    return Experiment(
        file=claims,
        title=corpus,
        task=TASK.name,
        claims=claims,
        limit=limit,
        ks=_KS,
        seed=0,
        reference="",
        overrides=(),
        systems=tuple(systems),
        knowledge_bases={},
        groups=(),
        show=(),
        paper={},
    )


def run(experiment: Experiment, out: Path) -> Iterator[str]:
    """Run an experiment, or resume it, and yield the lines of its table."""
    record = run_experiment(experiment, out, resume=True, quiet=True)
    gold = select_claims(experiment, read_task_claims(TASK, experiment.claims))
    for system, measured in zip(experiment.systems, record["systems"], strict=True):
        results = results_file(out, system)
        predictions = read_predictions(results)
        traces = {trace.prediction.id: trace for trace in read_traces(results)}
        costs = measured["run"]
        seconds = costs["processor_seconds"] / costs["answered"]
        for half in HALVES:
            claims = in_half(gold, half)
            if claims:
                found = _found(system, claims, predictions, traces)
                yield (
                    f"| {experiment.title} | {half} | {system.name} | {len(claims)} | {found} | "
                    f"{seconds:.3f} | {costs['peak_memory'] / 1e6:,.0f} |"
                )


def _found(
    system: System,
    claims: Sequence[GoldClaim],
    predictions: dict[str, Prediction],
    traces: dict[str, Trace],
) -> str:
    """Return the cells of the measures of some claims."""
    ids = {claim.id for claim in claims}
    predictions = {id: one for id, one in predictions.items() if id in ids}
    if system.baseline:  # it ranks documents and selects no sentences
        predictions = {id: replace(one, sentences=None) for id, one in predictions.items()}
    evaluation = evaluate(TASK, claims, predictions, _KS)
    everyone = np.ones(len(evaluation.paired.pairs), dtype=bool)
    values = {measure.name: measure.value(everyone) for measure in evaluation.measures}
    cells = [f"{values[f'recall@{k}']:.2f}" for k in _KS]
    if system.baseline:
        return " | ".join([*cells, "–", "–", "–"])
    stopped = [claim for claim in claims if traces[claim.id].stopped == "sufficient"]
    complete = sum(_is_complete(claim, traces[claim.id]) for claim in stopped)
    cells += [f"{values['evidence complete']:.2f}", str(complete), str(len(stopped) - complete)]
    return " | ".join(cells)


def _is_complete(claim: GoldClaim, trace: Trace) -> bool:
    """Return whether the last evidence has a sentence of every document of a gold set."""
    titles = trace.hops[-1].titles
    return any(titles.issuperset(map(normalise_title, one)) for one in claim.title_sets)
