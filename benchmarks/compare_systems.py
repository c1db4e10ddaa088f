"""Compare systems on the claims of a data set, and print their measures as a Markdown table.

    python -m benchmarks.compare_systems configs/experiments/table2-7-hover.yaml --data DATA

A file of ``configs/experiments`` names claims, knowledge bases, and systems: settings of `admiral
retrieve`, a file of them (``config``), or one of `BASELINES`; for the task `citations`, settings of
`admiral verify-citation`, or a search for the cited page. Results stay in the folder of the run,
which the same command resumes; `admiral compare` tests whether two systems differ.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import yaml

from admiral.citations.citation_file import WiceCitation, read_wice
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.source_search import SourceSearch
from admiral.citations.verdict_file import read_verdicts, write_verdicts
from admiral.config import RetrievalConfig, checkpoint_settings
from admiral.errors import AdmiralError
from admiral.evaluation import normalise_title, parse_result, read_predictions, read_results
from admiral.evaluation.citation_evaluation import evaluate_citations
from admiral.evaluation.measures import Group, Measure
from admiral.evaluation.tasks import EVALUATION_TASKS, Evaluation, evaluate, read_task_claims
from admiral.gold import GoldClaim
from admiral.graph import build_graph
from admiral.io.claims import evenly_spaced
from admiral.io.result_writer import ResumableWriter
from admiral.kb import KnowledgeBase, build, info, locate
from admiral.kb.store import check_kb
from admiral.kb.writing import default_backend
from admiral.models.checkpoint import locate_checkpoint
from admiral.pipeline import Admiral
from admiral.protocols import FirstStage, HopRetriever
from admiral.records import Claim, RetrievalResult, ScoredTitle
from admiral.requirements import MINILM
from admiral.retrieval.first_stage import (
    Bm25FirstStage,
    FusedFirstStage,
    TitleMentionFinder,
)
from admiral.retrieval.provenance import recorded_settings
from admiral.retrieval.stage_assembly import build_sentence_encoder
from admiral.settings import parse_override
from admiral.sources.canonical_urls import canonical
from admiral.sources.open_sources import Sources
from admiral.sources.source_files import SourceFiles
from admiral.sources.source_indexing import build_sources

ROOT = Path(__file__).parents[1]
TASKS = {**EVALUATION_TASKS, "demo": EVALUATION_TASKS["hover"]}
#: BM25, the same with documents that the claim names, generated titles alone (as GENRE), and the
#: first stage of the settings.
BASELINES = ("bm25", "bm25+mentions", "titles", "first-stage")
KEYS = {
    *("title", "task", "claims", "kb", "model", "limit", "covered", "ks", "knowledge_bases"),
    *("settings", "systems", "groups", "show", "paper", "sources", "passages"),
}
#: Keys that --set changes, apart from settings of all systems.
FIELDS = ("task", "claims", "limit")
#: Groups of claims that have rows of their own.
GROUP = re.compile(r"all|supported|(supported, )?\d+ (hop|document)s?")
#: Columns of sizes on disk, and the files of a knowledge base that they count.
SIZES = {"BM25 MB": "bm25", "trie MB": "tries", "texts MB": "database", "disk MB": "total"}
#: Pages that count, and passages that each index returns (as in SIDE).
CUTS, PASSAGES = (1, 5, 20), 100

Record = dict[str, Any]


def read_description(path: Path, data: Path | None, assignments: Sequence[str] = ()) -> Record:
    """Return the content of a file, with `data` for ``${data}``, and the assignments in it."""
    text = path.read_text(encoding="utf-8")
    if "${data}" in text and data is None:
        raise click.UsageError(f"{path} needs --data DIR, the folder of the data sets.")
    content: Record = yaml.safe_load(text.replace("${data}", str(data)))
    if unknown := content.keys() - KEYS:
        raise click.ClickException(f"{path}: there is no key {min(unknown)!r}")
    for group in content.get("groups", ()):
        if not GROUP.fullmatch(group):
            raise click.ClickException(f"{path}: key 'groups': there is no group {group!r}")
    items = [parse_override(each) for each in assignments]
    content |= {key: yaml.safe_load(value) for _, key, value in items if key in FIELDS}
    content["assignments"] = [item for item in items if item[1] not in FIELDS]
    return content


def system_config(content: Record, system: Record, kbs: Path) -> RetrievalConfig:
    """Return the settings of a system; knowledge bases that the file describes are in `kbs`."""
    if system.get("baseline") not in (None, *BASELINES):
        raise click.ClickException(f"{system['baseline']!r} is none of {', '.join(BASELINES)}")
    shared = {key: content[key] for key in ("kb", "model") if key in content}
    settings = shared | content.get("settings", {})
    if "config" in system:
        settings |= yaml.safe_load((ROOT / system["config"]).read_text(encoding="utf-8"))
    settings |= system.get("settings", {})
    own = [(f"system {system['name']!r}", key, value) for key, value in settings.items()]
    config = RetrievalConfig.build([*own, *content["assignments"]])
    if config.kb in content.get("knowledge_bases", {}):
        config = config.changed(kb=str(kbs / config.kb))
    return config


def citation_config(content: Record, system: Record) -> CitationConfig:
    """Return the settings with which a system verifies citations."""
    settings = content.get("settings", {}) | system.get("settings", {})
    own = [f"{key}={json.dumps(v) if isinstance(v, bool) else v}" for key, v in settings.items()]
    return CitationConfig.read(None, [*own, *(item[0] for item in content["assignments"])])


def folder_of(out: Path, system: Record) -> Path:
    """Return the folder of the results of a system, which is made if it is not there."""
    folder = out / re.sub(r"[^a-z0-9]+", "-", system["name"].lower()).strip("-")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def environment() -> str:
    """Return the date, the commit and the machine."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--abbrev=12"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    processor = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    model = re.search(r"^model name\s*:\s*(.+)$", processor, re.MULTILINE)
    machine = f"{model[1]}, " if model else ""
    date = datetime.now(UTC).date()
    return f"{date}, commit {commit}, {machine}{len(os.sched_getaffinity(0))} cores"


def build_knowledge_base(path: Path, recipe: Record) -> None:
    """Build a knowledge base of an experiment, and write its seconds beside it."""
    began = time.perf_counter()
    corpora = recipe["corpus"] if isinstance(recipe["corpus"], list) else [recipe["corpus"]]
    options = {key: recipe[key] for key in ("on_duplicate", "format") if key in recipe}
    if build(corpora, path, bm25=default_backend(), progress=False, graph=None, **options).graph:
        build_graph(path, progress=False)
    seconds = f"{time.perf_counter() - began:.1f}"
    _seconds_file(path).write_text(seconds, encoding="utf-8")


def _seconds_file(kb: Path) -> Path:
    return kb.with_name(f"{kb.name}.seconds")


def retrieve(
    config: RetrievalConfig, baseline: str | None, claims: list[Claim], output: Path
) -> None:
    """Write the results of a system for all claims that have none yet, each with its seconds."""
    settings = recorded_settings(config) | {"baseline": baseline}
    with ResumableWriter(output, settings) as writer:
        if pending := list(writer.pending(claims)):
            with Admiral.from_pretrained(config=config) as system:
                if baseline:
                    first, finder = _first_stage(system, baseline)
                    system.stages = replace(system.stages, first_stage=first, mention_finder=finder)
                system.kb.search([pending[0].text], 1)  # opens the index
                began = time.perf_counter()
                for result in system.retrieve_many(pending, hops=0 if baseline else None):
                    seconds = round(time.perf_counter() - began, 6)
                    writer.write(result.to_json() | {"seconds": seconds})
                    began = time.perf_counter()
        writer.finish()


def _first_stage(system: Admiral, baseline: str) -> tuple[FirstStage, TitleMentionFinder | None]:
    kb, stages = system.kb, system.stages
    if baseline == "bm25":
        return Bm25FirstStage(kb), None
    if baseline == "bm25+mentions":
        return FusedFirstStage(kb), TitleMentionFinder(kb, aliases=system.config.aliases)
    if baseline == "titles" and stages.hop_retriever is not None:
        return _GeneratedTitles(stages.hop_retriever), None
    return stages.first_stage, stages.mention_finder


class _GeneratedTitles:
    """Documents whose titles the model generates from the claim alone, as GENRE does."""

    def __init__(self, generator: HopRetriever) -> None:
        self._generator = generator

    def candidates(
        self, claims: Sequence[str], mentions: Sequence[Sequence[str]], k: int
    ) -> list[list[ScoredTitle]]:
        """Return the generated documents of each claim, best first, with log probabilities."""
        found = self._generator.expand(claims, [()] * len(claims), [0] * len(claims))
        return [[ScoredTitle(one.titles[0], one.score) for one in sets[:k]] for sets in found]


def selected_claims(content: Record, kb: str) -> list[GoldClaim]:
    """Return the claims: those that the task evaluates, evenly spaced.

    With the key `covered`, only those count whose gold documents the knowledge base has.
    """
    task, path = TASKS[content["task"]], content.get("claims", "demo")
    bundled = files("admiral") / "data" / "demo" / "claims.jsonl"
    gold, _ = task.select(read_task_claims(task, Path(str(bundled) if path == "demo" else path)))
    if content.get("covered"):
        with KnowledgeBase.open(locate(kb)) as opened:
            known = set(opened.titles())
        gold = [claim for claim in gold if any(map(known.issuperset, claim.title_sets))]
    return list(evenly_spaced(gold, content.get("limit", 0)))


class Compared(NamedTuple):
    """A system that has answered."""

    name: str
    evaluation: Evaluation
    figures: dict[str, str]  # what is no measure, by column


def stopping_quality(
    gold: Sequence[GoldClaim], results: Iterable[RetrievalResult]
) -> dict[str, str]:
    """Return the mean number of hops, and how well the judge knew insufficient evidence.

    Evidence is complete if it has a sentence of every document of one of the gold sets. Claims
    without gold evidence do not count. Precision and recall are of the decision "insufficient" over
    all hops.
    """
    sets = {
        claim.id: [frozenset(map(normalise_title, titles)) for titles in claim.title_sets]
        for claim in gold
        if claim.evidence
    }
    counts: Counter[tuple[bool, bool]] = Counter()  # (said to be sufficient, complete)
    hops = []
    for result in results:
        if result.id in sets:
            hops.append(len(result.hops))
            for hop in result.hops:
                titles = {sentence.title for sentence in hop.evidence}
                is_complete = any(one <= titles for one in sets[result.id])
                counts[hop.sufficient, is_complete] += 1
    right = counts[False, False]
    said, incomplete = right + counts[False, True], right + counts[True, False]
    return {
        "hops": _number(sum(hops), len(hops), ".2f"),
        "insufficient precision": _number(right, said),
        "insufficient recall": _number(right, incomplete),
    }


def _number(total: float, count: int, form: str = ".3f") -> str:
    return format(total / count, form) if count else "–"


def compare_retrieval(content: Record, out: Path, kbs: Path) -> Iterator[str]:
    """Run the systems and yield the lines of their table."""
    recipes = {str(kbs / name): each for name, each in content.get("knowledge_bases", {}).items()}
    gold: list[GoldClaim] = []
    compared: list[Compared] = []
    left_out = []
    for system in content["systems"]:
        click.echo(system["name"], err=True)
        config, baseline = system_config(content, system, kbs), system.get("baseline")
        try:
            for name in checkpoint_settings(config):
                locate_checkpoint(name)
            if config.kb not in recipes:
                check_kb(locate(config.kb))
        except AdmiralError as error:
            left_out.append(f"{system['name']} is left out: {error}")
            continue
        if config.kb in recipes and not Path(config.kb).exists():
            build_knowledge_base(Path(config.kb), recipes[config.kb])
        gold = gold or selected_claims(content, config.kb)
        results = folder_of(out, system) / "results.jsonl"
        retrieve(config, baseline, [Claim(each.id, each.claim) for each in gold], results)
        compared.append(_evaluated(content, system["name"], gold, results, config.kb, baseline))
    if not compared:
        raise click.ClickException("\n".join(left_out))
    sizes = sorted({f"{each.figures['documents']} documents" for each in compared})
    yield f"{len(gold)} claims over {', '.join(sizes)}; {environment()}."
    yield ""
    yield from measures_table(content, compared)
    for reason in left_out:
        yield from ("", reason)


def _evaluated(
    content: Record, name: str, gold: list[GoldClaim], results: Path, kb: str, baseline: str | None
) -> Compared:
    predictions = read_predictions(results)
    if baseline:  # it ranks documents and selects no sentences
        predictions = {id: replace(each, sentences=None) for id, each in predictions.items()}
    evaluation = evaluate(TASKS[content["task"]], gold, predictions, content.get("ks", ()))
    records = map(json.loads, results.read_text(encoding="utf-8").splitlines())
    seconds = [record["seconds"] for record in records]
    facts, built = info(locate(kb)), _seconds_file(Path(kb))
    figures = {
        "documents": f"{facts.counts['documents']:,}",
        **{column: f"{facts.sizes[kind] / 1e6:,.1f}" for column, kind in SIZES.items()},
        "index seconds": built.read_text(encoding="utf-8") if built.exists() else "–",
        "s/claim": _number(sum(seconds), len(seconds), ".2f"),
        **stopping_quality(gold, (parse_result(r, where) for where, r in read_results(results))),
    }
    return Compared(name, evaluation, figures)


def _interval(value: float | None, low: float | None, high: float | None) -> str:
    if value is None or np.isnan(value):
        return "–"
    return f"{value:.3f}" if low is None or high is None else f"{value:.3f} [{low:.2f}, {high:.2f}]"


def _cell(measure: Measure, members: np.ndarray) -> str:
    return _interval(measure.value(members), *measure.interval(members, 0))


def _head(*columns: str) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"


def measures_table(content: Record, compared: Sequence[Compared]) -> Iterator[str]:
    """Yield the lines of the table of measures: each system, by groups of claims."""
    names = dict.fromkeys(one.name for each in compared for one in each.evaluation.measures)
    columns = content.get("show") or [*list(names)[:5], "s/claim"]
    if unknown := set(columns) - names.keys() - compared[0].figures.keys():
        known = ", ".join([*names, *compared[0].figures])
        raise click.ClickException(f"key 'show': nothing measures {min(unknown)!r}, but {known}")
    yield from _head("system", "claims", "number", *columns)
    for each in compared:
        measures, groups = each.evaluation.measures, each.evaluation.groups
        empty = np.zeros_like(groups[0].members)
        by_name = {group.name: group for group in groups}
        names = content.get("groups", by_name)
        chosen = [by_name.get(name, Group(name, empty)) for name in names]
        for number, group in enumerate(chosen):
            # Of measures with one name, the first counts: that of the ranking.
            cells = {one.name: _cell(one, group.members) for one in reversed(measures)}
            cells |= dict.fromkeys(each.figures, "") if number else each.figures
            row = " | ".join(cells.get(column, "–") for column in columns)
            yield f"| {each.name} | {group.name} | {int(group.members.sum())} | {row} |"


def compare_citations(content: Record, out: Path) -> Iterator[str]:
    """Run the systems of the task `citations` on WiCE, and yield the lines of their table."""
    citations = list(evenly_spaced(read_wice(Path(content["claims"])), content.get("limit", 0)))
    path, options = out / "sources", dict(content.get("passages", {}))
    dense = options.pop("dense", False)
    encoder = build_sentence_encoder(RetrievalConfig(), MINILM) if dense else None
    if not path.exists():
        out.mkdir(parents=True, exist_ok=True)
        sources = SourceFiles([Path(each) for each in content["sources"]])
        build_sources(sources, path, encoder=encoder, **options)
    table: dict[str, dict[str, str]] = {}
    for system in content["systems"]:
        click.echo(system["name"], err=True)
        if "search" not in system:
            table[system["name"]] = _verified(content, system, citations, path, out)
            continue
        index = system["search"]["index"]
        with Sources.open(path) as opened:
            sparse = None if index == "minilm" else opened
            dense = opened.dense(encoder) if encoder and index != "bm25" else None
            search = SourceSearch(opened, sparse=sparse, dense=dense, passages=PASSAGES)
            table[system["name"]] = _searched(search, citations)
    columns = content.get("show") or list(
        dict.fromkeys(one for row in table.values() for one in row)
    )
    yield f"{len(citations)} claims; {environment()}."
    yield ""
    yield from _head("system", *columns)
    for name, cells in table.items():
        yield f"| {name} | {' | '.join(cells.get(column, '–') for column in columns)} |"


def _searched(search: SourceSearch, citations: Sequence[WiceCitation]) -> dict[str, str]:
    """Return how high the cited pages rank, by KILT's rules."""
    found = search.search([each.claim for each in citations], 2 * PASSAGES)
    ranks = []
    for each, (_, ranking) in zip(citations, found, strict=True):
        urls = [canonical(one.passage.url) for one in ranking]
        own = canonical(each.source.url)
        ranks.append(urls.index(own) + 1 if own in urls else math.inf)
    columns = {f"{'P' if k == 1 else 'SR'}@{k}": [float(rank <= k) for rank in ranks] for k in CUTS}
    columns["MRR"] = [1 / rank for rank in ranks]
    measures = [Measure("", name, np.array(each)[:, None]) for name, each in columns.items()]
    return {one.name: _cell(one, np.ones(len(ranks), np.bool_)) for one in measures}


def _verified(
    content: Record, system: Record, citations: Sequence[WiceCitation], kb: Path, out: Path
) -> dict[str, str]:
    config = citation_config(content, system)
    file = folder_of(out, system) / "verdicts.jsonl"
    write_verdicts(file, kb, config, [each.claim for each in citations])
    measures = evaluate_citations(citations, read_verdicts(file)).measures
    return {name: _interval(*values) for name, values in measures.items()}


def published_table(paper: Record) -> Iterator[str]:
    """Yield the lines of the paper's table, with the counterpart of each row among the systems."""
    yield f"The paper's figures (table {paper['table']}):".replace("table section", "section")
    yield ""
    yield from _head("system", "here", *paper["columns"])
    for name, row in paper["rows"].items():
        cells = ["–" if value is None else f"{value:,}" for value in row]
        yield f"| {name} | {paper.get('ours', {}).get(name, '–')} | {' | '.join(cells)} |"
    yield from ("", paper["note"].strip())


def compare(content: Record, out: Path, kbs: Path) -> Iterator[str]:
    """Yield the lines of an experiment: its table, and that of the paper."""
    if content["task"] == "citations":
        yield from compare_citations(content, out)
    else:
        yield from compare_retrieval(content, out, kbs)
    if "paper" in content:
        yield ""
        yield from published_table(content["paper"])


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the data sets.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the run. [runs/NAME]")
@click.option("--limit", type=click.IntRange(min=0), help="Maximum number of claims; 0 for all.")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a setting of all systems, or the task, claims or limit; repeatable.",
)
def main(
    file: Path, data: Path | None, out: Path | None, limit: int | None, assignments: tuple[str, ...]
) -> None:
    """Run the systems that FILE describes, and print their table.

    Knowledge bases that FILE describes are built in the folder `kbs` beside that of the run.
    """
    if limit is not None:
        assignments = (*assignments, f"limit={limit}")
    out = out or Path("runs", file.stem)
    try:
        content = read_description(file, data, assignments)
        lines = [content["title"], "", *compare(content, out, out.parent / "kbs")]
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error
    click.echo("\n".join(lines))


if __name__ == "__main__":
    main()
