"""Run an experiment: build its knowledge bases, run its systems, record the measures."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.evaluation.tasks import read_task_claims
from admiral.experiments.description import Experiment, KnowledgeBaseRecipe, System
from admiral.experiments.experiment_record import (
    check_run_folder,
    evaluate_systems,
    experiment_header,
    knowledge_base_record,
    make_run_folder,
    mean_seconds,
    results_file,
    write_record,
)
from admiral.experiments.job_process import read_measurements, run_in_process
from admiral.gold import GoldClaim
from admiral.io.claims import evenly_spaced
from admiral.kb import locate
from admiral.kb.store.member_manifests import read_combined_manifest
from admiral.models.checkpoint import locate_checkpoint
from admiral.retrieval.provenance import recorded_settings
from admiral.storage.atomic_files import explain_write_errors, write_atomically

Report = Callable[[str], None]


def run_experiment(
    experiment: Experiment,
    out: Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    quiet: bool = False,
    report: Report = print,
) -> dict[str, Any]:
    """Run and evaluate all systems, and write ``experiment.json``.

    `out`: directory of the run, with a directory in it for each system. `resume`: continue an
    existing run. Systems that are complete are only evaluated again. Raises AdmiralError if a run
    exists and neither `resume` nor `overwrite` is set, if it has other settings, or if a system
    fails.
    """
    check_run_folder(out, resume=resume, overwrite=overwrite)
    gold = select_claims(
        experiment, read_task_claims(experiment.evaluation_task, experiment.claims)
    )
    _check_inputs(experiment)
    make_run_folder(out, overwrite=overwrite)
    builds = _build_knowledge_bases(experiment, report)
    systems = []
    for number, system in enumerate(experiment.systems, 1):
        report(f"{system.name} ({number} of {len(experiment.systems)})")
        systems.append(_run_system(system, gold, out, builds, overwrite, quiet))
    evaluated = evaluate_systems(experiment, gold, out)
    record = experiment_header(experiment, len(gold))
    record |= {"groups": list(experiment.groups), "show": list(experiment.show)}
    record["paper"] = experiment.paper
    record["systems"] = [run | measures for run, measures in zip(systems, evaluated, strict=True)]
    write_record(out, record)
    return record


def select_claims(experiment: Experiment, gold: list[GoldClaim]) -> list[GoldClaim]:
    """Return the claims of an experiment: those that its task evaluates, evenly spaced."""
    evaluated, _ = experiment.evaluation_task.select(gold)
    return list(evenly_spaced(evaluated, experiment.limit))


def _check_inputs(experiment: Experiment) -> None:
    """Raise AdmiralError if a model is missing, or a knowledge base without a recipe."""
    built = {str(recipe.path) for recipe in experiment.knowledge_bases.values()}
    for config in (system.config for system in experiment.systems):
        locate_checkpoint(config.model)
        if config.kb not in built:
            read_combined_manifest(locate(config.kb))


def _build_knowledge_bases(experiment: Experiment, report: Report) -> dict[str, dict[str, Any]]:
    """Build the knowledge bases that systems need; return the measurements by path."""
    needed = {system.config.kb for system in experiment.systems}
    return {
        str(recipe.path): _build_knowledge_base(name, recipe, report)
        for name, recipe in experiment.knowledge_bases.items()
        if str(recipe.path) in needed
    }


def _build_knowledge_base(name: str, recipe: KnowledgeBaseRecipe, report: Report) -> dict[str, Any]:
    measurements = recipe.path.with_name(recipe.path.name + ".build.json")
    if recipe.path.exists():
        sources = [
            source["name"] for source in read_combined_manifest(recipe.path).settings["sources"]
        ]
        if sources != [corpus.name for corpus in recipe.corpora]:
            raise AdmiralError(
                f"{recipe.path}: was built from {', '.join(sources)}, not from the corpus of "
                f"{name}. Choose another folder with --kbs"
            )
        return read_measurements(measurements)
    with explain_write_errors(recipe.path.parent):
        recipe.path.parent.mkdir(parents=True, exist_ok=True)
    job = {
        "work": "build",
        "corpora": [str(corpus) for corpus in recipe.corpora],
        "kb": str(recipe.path),
        "on_duplicate": recipe.on_duplicate,
        "format": recipe.format,
    }
    report(f"building the knowledge base {name}")
    return run_in_process(job, measurements)


def _run_system(
    system: System,
    gold: list[GoldClaim],
    out: Path,
    builds: dict[str, dict[str, Any]],
    overwrite: bool,
    quiet: bool,
) -> dict[str, Any]:
    """Run a system; return its settings, measurements and knowledge base."""
    results = results_file(out, system)
    measurements = results.with_name("run.json")
    with explain_write_errors(results.parent):
        results.parent.mkdir(exist_ok=True)
    previous = {} if overwrite else read_measurements(measurements)
    job = {
        "work": "retrieve",
        "config": asdict(system.config),
        "baseline": system.baseline,
        "claims": [(claim.id, claim.claim) for claim in gold],
        "output": str(results),
        "overwrite": overwrite,
        "quiet": quiet,
    }
    run = run_in_process(job, measurements)
    if previous and not run["answered"]:  # all results existed: keep the measurements of their run
        run = previous
        write_atomically(measurements, [json.dumps(run, indent=1).encode()])
    return {
        "name": system.name,
        "baseline": system.baseline,
        "folder": system.folder,
        "settings": recorded_settings(system.config),
        "speed": {key: getattr(system.config, key) for key in ("batch_size", "device", "threads")},
        "run": run,
        "seconds_per_claim": mean_seconds(results),
        "kb": knowledge_base_record(system.config.kb, builds),
    }
