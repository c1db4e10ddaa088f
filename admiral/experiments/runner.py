"""Running an experiment: systems one after the other, then one record of everything measured."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.evaluation import tables
from admiral.evaluation.bootstrap import intervals
from admiral.evaluation.predictions import read_predictions, read_results
from admiral.evaluation.tasks import evaluate, read_claims_of
from admiral.evaluation.traces import read_traces
from admiral.experiments.description import Experiment, System
from admiral.experiments.jobs import chosen, delegate, read_note
from admiral.experiments.knowledge_bases import Say, base_record, prepare_bases
from admiral.experiments.stopping_quality import stopping
from admiral.gold import GoldClaim
from admiral.kb import locate
from admiral.kb.store.members import read_holdings
from admiral.models.checkpoint import locate_checkpoint
from admiral.retrieval.provenance import recorded_settings
from admiral.storage.atomic_files import explained, write_atomically

FORMAT = 1
NAME = "experiment.json"


def run_experiment(
    experiment: Experiment,
    out: Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    quiet: bool = False,
    say: Say = print,
) -> dict[str, Any]:
    """Run every system over the claims, evaluate, and write ``experiment.json`` into `out`.

    Parameters
    ----------
    out
        The directory of the run, with one below it for each system.
    resume
        Go on with a run that is there; systems that are done are only evaluated again.
    overwrite
        Start the systems anew whatever is there.
    quiet
        No progress.
    say
        Told what is being done.

    Raises
    ------
    AdmiralError
        If there is a run and neither is given, or one of other settings; or if a system fails.
    """
    if not (resume or overwrite) and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise AdmiralError(
            f"{out}: there is something already. Choose another --out, go on with --resume, or "
            "start anew with --overwrite"
        )
    gold = chosen(experiment, read_claims_of(experiment.rules, experiment.claims))
    _find_parts(experiment)
    with explained(out):
        out.mkdir(parents=True, exist_ok=True)
        if overwrite:
            (out / NAME).unlink(missing_ok=True)
    bases = prepare_bases(experiment, say)
    systems = []
    for number, system in enumerate(experiment.systems, 1):
        say(f"{system.name} ({number} of {len(experiment.systems)})")
        systems.append(_run_system(experiment, system, gold, out, bases, overwrite, quiet))
    record = _header(experiment, len(gold)) | {"systems": systems}
    text = json.dumps(record, ensure_ascii=False, indent=1, allow_nan=False)
    write_atomically(out / NAME, [text.encode() + b"\n"])
    return record


def _find_parts(experiment: Experiment) -> None:
    """Raise AdmiralError if a model, or a knowledge base that cannot be built, is not there."""
    built = {str(base.path) for base in experiment.bases.values()}
    for config in (system.config for system in experiment.systems):
        locate_checkpoint(config.model)
        if config.kb not in built:
            read_holdings(locate(config.kb))


def _run_system(
    experiment: Experiment,
    system: System,
    gold: list[GoldClaim],
    out: Path,
    bases: dict[str, dict[str, Any]],
    overwrite: bool,
    quiet: bool,
) -> dict[str, Any]:
    folder = out / system.folder
    with explained(folder):
        folder.mkdir(exist_ok=True)
    results, note = folder / "results.jsonl", folder / "run.json"
    before = {} if overwrite else read_note(note)
    job = {
        "work": "answer",
        "config": asdict(system.config),
        "baseline": system.baseline,
        "claims": [(claim.id, claim.claim) for claim in gold],
        "output": str(results),
        "overwrite": overwrite,
        "quiet": quiet,
    }
    run = delegate(job, note)
    if before and not run["answered"]:  # nothing was left to do: keep what the work took
        run = before
        write_atomically(note, [json.dumps(run, indent=1).encode()])
    return {
        "name": system.name,
        "baseline": system.baseline,
        "folder": system.folder,
        "settings": recorded_settings(system.config),
        "speed": {key: getattr(system.config, key) for key in ("batch_size", "device", "threads")},
        "run": run,
        "seconds_per_claim": _seconds(results),
        "kb": base_record(system.config.kb, bases),
        **_measured(experiment, system, gold, results),
    }


def _measured(
    experiment: Experiment, system: System, gold: list[GoldClaim], results: Path
) -> dict[str, Any]:
    answers = read_predictions(results)
    if system.baseline:  # it ranks documents and has no sentences to be measured
        answers = {id: replace(one, sentences=None) for id, one in answers.items()}
    found = evaluate(experiment.rules, gold, answers, experiment.ks)
    limits = [intervals(found.measures, group, experiment.seed) for group in found.groups]
    measured: dict[str, Any] = {
        "notes": found.notes,
        "groups": [{"name": g.name, "claims": int(g.members.sum())} for g in found.groups],
        "measures": tables.figures(found.measures, found.groups, limits),
    }
    if not system.baseline:
        traces = {trace.answer.id: trace for trace in read_traces(results)}
        measured["stopping"] = stopping(gold, traces)
    return measured


def _seconds(results: Path) -> float:
    """Return the mean seconds of a claim, as its record tells; so interrupted runs count too."""
    times = [
        record.get("seconds", 0.0) + sum(hop["seconds"] for hop in record["hops"])
        for _, record in read_results(results)
    ]
    return sum(times) / len(times)


def _header(experiment: Experiment, claims: int) -> dict[str, Any]:
    with experiment.claims.open("rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "format": FORMAT,
        "file": experiment.file.name,
        "title": experiment.title,
        "task": experiment.task,
        "claims": {"file": experiment.claims.name, "sha256": checksum, "used": claims},
        "overrides": list(experiment.overrides),
        "seeds": {"bootstrap": experiment.seed},
        "groups": list(experiment.groups),
        "show": list(experiment.show),
        "paper": experiment.paper,
    }
