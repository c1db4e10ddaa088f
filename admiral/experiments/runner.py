"""Run an experiment, on retrieval or on citations: build, run the systems, record the measures."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from admiral.citations.citation_file import WICE_LABELS, WiceCitation, read_wice
from admiral.citations.source_search import SourceSearch
from admiral.citations.verdict_file import read_verdicts, write_verdicts
from admiral.config import RetrievalConfig, checkpoint_settings
from admiral.errors import AdmiralError
from admiral.evaluation.citation_evaluation import evaluate_citations, paired_auroc, verdict_score
from admiral.evaluation.measures import Group, Measure, confidence_intervals, paired_comparison
from admiral.evaluation.tasks import read_task_claims
from admiral.experiments.description import (
    CitationExperiment,
    CitationSystem,
    Experiment,
    KnowledgeBaseRecipe,
    LibraryRecipe,
    SearchSettings,
    System,
)
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
from admiral.experiments.job_process import describe_environment, read_measurements, run_in_process
from admiral.gold import GoldClaim
from admiral.io.claims import evenly_spaced
from admiral.kb import KnowledgeBase, locate
from admiral.kb.embeddings import SentenceEncoder
from admiral.kb.store import read_combined_manifest
from admiral.library import Library, build_library
from admiral.library.canonical_urls import canonical
from admiral.library.readers import SourceFiles
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
    existing run. Systems that are complete are only evaluated again, and those whose checkpoint,
    file or knowledge base is missing are left out. Raises AdmiralError if a run exists and neither
    `resume` nor `overwrite` is set, if it has other settings, if a system fails, or if all systems
    or the reference lack something.
    """
    check_run_folder(out, resume=resume, overwrite=overwrite)
    claims = read_task_claims(experiment.evaluation_task, experiment.claims)
    experiment, left_out = _available(experiment)
    for name, reason in left_out.items():
        report(f"{name} is left out: {reason}")
    make_run_folder(out, overwrite=overwrite)
    builds = _build_knowledge_bases(experiment, report)
    gold = select_claims(experiment, claims)
    systems = []
    for number, system in enumerate(experiment.systems, 1):
        report(f"{system.name} ({number} of {len(experiment.systems)})")
        systems.append(_run_system(system, gold, out, builds, overwrite, quiet))
    evaluated = evaluate_systems(experiment, gold, out)
    record = experiment_header(experiment, len(gold))
    record |= {"groups": list(experiment.groups), "show": list(experiment.show)}
    record |= {"paper": experiment.paper, "left_out": left_out}
    record["systems"] = [run | measures for run, measures in zip(systems, evaluated, strict=True)]
    write_record(out, record)
    return record


def select_claims(experiment: Experiment, gold: list[GoldClaim]) -> list[GoldClaim]:
    """Return the claims of an experiment: those that its task evaluates, evenly spaced.

    Raises AdmiralError if none is covered by the knowledge base, but only such are wanted.
    """
    evaluated, _ = experiment.evaluation_task.select(gold)
    if experiment.covered:
        path = locate(experiment.systems[0].config.kb)
        with KnowledgeBase.open(path) as kb:
            evaluated = [
                claim
                for claim in evaluated
                if any(all(kb.row(t) is not None for t in titles) for titles in claim.title_sets)
            ]
        if not evaluated:
            raise AdmiralError(f"{path}: has the gold documents of no claim")
    return list(evenly_spaced(evaluated, experiment.limit))


def _available(experiment: Experiment) -> tuple[Experiment, dict[str, str]]:
    """Return the experiment without systems that lack something, and what each of these lacks."""
    built = {str(recipe.path) for recipe in experiment.knowledge_bases.values()}
    left_out: dict[str, str] = {}
    for system in experiment.systems:
        config = system.config
        try:
            for name in checkpoint_settings(config):
                locate_checkpoint(name)
            if config.kb not in built:
                read_combined_manifest(locate(config.kb))
        except AdmiralError as error:
            if system.name == experiment.reference:
                raise
            left_out[system.name] = str(error)
    kept = tuple(system for system in experiment.systems if system.name not in left_out)
    if not kept:
        raise AdmiralError(next(iter(left_out.values())))
    return replace(experiment, systems=kept), left_out


def _build_knowledge_bases(experiment: Experiment, report: Report) -> dict[str, dict[str, Any]]:
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
    results = results_file(out, system)
    measurements = results.with_name("run.json")
    with explain_write_errors(results.parent):
        results.parent.mkdir(exist_ok=True)
    previous = {} if overwrite else read_measurements(measurements)
    job = {
        "work": "retrieve",
        "config": system.config.model_dump(),
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


Record = dict[str, Any]
#: Cuts of the ranking of pages, and passages that each index returns (as in SIDE).
CUTS, PASSAGES = (1, 5, 20), 100


def run_citation_experiment(
    experiment: CitationExperiment,
    out: Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    quiet: bool = False,
    report: Report = print,
) -> Record:
    """Run and evaluate all systems, and write ``experiment.json``; return its content.

    The parameters and errors are those of `admiral.experiments.runner.run_experiment`. The library
    is built in `out`, and is used again by a run that is resumed.
    """
    check_run_folder(out, resume=resume, overwrite=overwrite)
    citations = list(evenly_spaced(read_wice(experiment.claims), experiment.limit))
    if not citations:
        raise AdmiralError(f"{experiment.claims}: holds no claims")
    make_run_folder(out, overwrite=overwrite)
    for system in experiment.systems if overwrite else ():
        shutil.rmtree(out / system.folder, ignore_errors=True)
    path = out / "library"
    encoder = _encoder() if experiment.library.dense else None
    _build(path, experiment.library, encoder, overwrite, report)
    runs: list[_Searched | _Verified] = []
    for number, system in enumerate(experiment.systems, 1):
        report(f"{system.name} ({number} of {len(experiment.systems)})")
        if system.search is None:
            runs.append(_Verified(experiment, system, citations, path, out, quiet))
        else:
            runs.append(_Searched(experiment, system.search, citations, path, encoder))
    record = _header(experiment, len(citations), path)
    compared = {system.name: run for system, run in zip(experiment.systems, runs, strict=True)}
    reference = compared.get(experiment.reference)
    record["systems"] = [
        {"name": name, **run.record(), "differences": run.difference(reference)}
        for name, run in compared.items()
    ]
    write_record(out, record)
    return record


class _Searched:
    """The ranks of the cited pages in a search, by KILT's rules."""

    def __init__(
        self,
        experiment: CitationExperiment,
        settings: SearchSettings,
        citations: Sequence[WiceCitation],
        path: Path,
        encoder: SentenceEncoder | None,
    ) -> None:
        if settings.index != "bm25" and encoder is None:
            raise AdmiralError(
                f"{experiment.file}: search.index is {settings.index!r}, but the library has no "
                "vectors. Set library.dense to true"
            )
        self._settings, self._seed = settings, experiment.seed
        self._group = Group("all", np.ones(len(citations), np.bool_))
        began = time.perf_counter()
        with Library.open(path) as library:
            search = SourceSearch(
                library,
                sparse=None if settings.index == "minilm" else library,
                dense=None
                if settings.index == "bm25" or encoder is None
                else library.dense(encoder),
                passages=PASSAGES,
            )
            found = search.search([each.claim for each in citations], 2 * PASSAGES)
        self._seconds = (time.perf_counter() - began) / len(citations)
        ranks = []
        for each, ranking in zip(citations, found, strict=True):
            own = canonical(each.source.url)
            places = [n for n, one in enumerate(ranking, 1) if canonical(one.passage.url) == own]
            ranks.append(min(places, default=0))
        self._measures = [
            Measure(
                "pages",
                f"P@{cut}" if cut == 1 else f"SR@{cut}",
                _column(0 < r <= cut for r in ranks),
            )
            for cut in CUTS
        ]
        self._measures.append(Measure("pages", "MRR", _column(1 / r if r else 0 for r in ranks)))

    def record(self) -> Record:
        limits = confidence_intervals(self._measures, self._group, self._seed)
        return {
            "search": {"index": self._settings.index},
            "seconds_per_claim": self._seconds,
            "measures": {
                measure.name: [measure.value(self._group.members), low, high]
                for measure, (low, high) in zip(self._measures, limits, strict=True)
            },
        }

    def difference(self, reference: object) -> Record:
        if not isinstance(reference, _Searched) or reference is self:
            return {}
        found = paired_comparison(reference._measures, self._measures, self._group, self._seed)
        return {
            measure.name: [one.second - one.first, one.p_value]
            for measure, one in zip(self._measures, found, strict=True)
        }


class _Verified:
    """The verdicts of a system, in its folder."""

    def __init__(
        self,
        experiment: CitationExperiment,
        system: CitationSystem,
        citations: Sequence[WiceCitation],
        path: Path,
        out: Path,
        quiet: bool,
    ) -> None:
        self._citations, self._config = citations, system.config
        folder = out / system.folder
        with explain_write_errors(folder):
            folder.mkdir(exist_ok=True)
        file = folder / "verdicts.jsonl"
        claims = [each.claim for each in citations]
        write_verdicts(file, path, system.config, claims, quiet=quiet)
        self._verdicts = read_verdicts(file)

    def record(self) -> Record:
        result = evaluate_citations(self._citations, self._verdicts)
        seconds = [record.get("seconds", 0.0) for record in self._verdicts.values()]
        return {
            "settings": self._config.settings(),
            "seconds_per_claim": sum(seconds) / len(seconds),
            "not_scored": result.not_scored,
            "decisions": result.decisions,
            "measures": {name: list(values) for name, values in result.measures.items()},
        }

    def difference(self, reference: object) -> Record:
        if not isinstance(reference, _Verified) or reference is self:
            return {}
        mine, theirs = self._scores(), reference._scores()
        both = [n for n in range(len(mine)) if mine[n] is not None and theirs[n] is not None]
        supported = [self._citations[n].label == WICE_LABELS[-1] for n in both]
        if len(set(supported)) < 2:
            return {}
        paired = paired_auroc(
            [theirs[n] or 0.0 for n in both], [mine[n] or 0.0 for n in both], supported
        )
        return {"AUROC, supported > rest": [paired.difference.value, paired.p_value]}

    def _scores(self) -> list[float | None]:
        return [verdict_score(self._verdicts[each.claim.id]) for each in self._citations]


def _column(values: Iterator[float] | Any) -> np.ndarray:
    return np.array([[float(value)] for value in values])


def _build(
    path: Path,
    recipe: LibraryRecipe,
    encoder: SentenceEncoder | None,
    overwrite: bool,
    report: Report,
) -> None:
    if path.exists() and not overwrite:
        with Library.open(path):
            return
    report("building the library")
    build_library(
        path,
        SourceFiles(list(recipe.sources)),
        words=recipe.words,
        stride=recipe.stride,
        k1=recipe.k1,
        b=recipe.b,
        encoder=encoder,
        overwrite=overwrite,
    )


def _encoder() -> SentenceEncoder:
    from admiral.retrieval.stage_assembly import build_passage_encoder

    return build_passage_encoder(RetrievalConfig())


def _header(experiment: CitationExperiment, claims: int, path: Path) -> Record:
    with Library.open(path) as library:
        described = {
            "digest": library.digest,
            "sources": len(library),
            "passages": library.passage_count,
            "settings": library.settings,
        }
    return {
        **experiment_header(experiment, claims),
        "library": described,
        "show": list(experiment.show),
        "paper": experiment.paper,
        **describe_environment(),
    }
