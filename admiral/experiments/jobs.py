"""What an experiment's processes do: build a knowledge base, or answer the claims of a system.

Each of these is a process of its own, so that its memory is its own. It is told what to do by a
JSON object, a job, and leaves what it measured in a file.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.experiments.description import Experiment
from admiral.experiments.machine import peak_memory, surroundings
from admiral.gold import GoldClaim
from admiral.io.claims import spread
from admiral.io.result_writer import ResumableWriter
from admiral.kb import KnowledgeBase, build, locate
from admiral.kb.demo import default_backend
from admiral.protocols import FirstStage
from admiral.records import Claim, RankedDocument, RetrievalResult
from admiral.retrieval.first_stage import Bm25FirstStage, FusedFirstStage
from admiral.retrieval.mentions import MentionFinder
from admiral.retrieval.provenance import recorded_settings
from admiral.storage.atomic_files import write_atomically

Job = dict[str, Any]
Record = dict[str, Any]
Track = Callable[..., Iterable[Record]]
_MODULE = "admiral.experiments.job_process"  # reads the job from standard input and calls `do`


def delegate(job: Job, result: Path) -> Record:
    """Do a job in a process of its own and return what it measured, which is in `result`.

    Raises
    ------
    AdmiralError
        With the message of the process, if it failed.
    """
    result.unlink(missing_ok=True)
    command = [sys.executable, "-m", _MODULE, str(result)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        try:
            # The pipe stays open: when it ends because this process was killed, so does that one.
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(job).encode() + b"\n")
                process.stdin.flush()
            process.wait()
        except KeyboardInterrupt:
            process.wait()  # it was interrupted as well and keeps what it has
            raise
    if process.returncode or not result.exists():
        problem = f"a process of the experiment ended with status {process.returncode}"
        failed = result.with_name(result.name + ".error")
        if failed.exists():
            problem = failed.read_text(encoding="utf-8")
            failed.unlink()
        raise AdmiralError(problem)
    return read_note(result)


def read_note(path: Path) -> Record:
    """Return what a process measured, empty if there is no such file."""
    try:
        return dict(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise AdmiralError(f"{path}: damaged ({error}). Delete this file") from error


def do(job: Job, result: Path, track: Track) -> None:
    """Do a job and write what it measured; on a fault, the message beside it."""
    try:
        began = time.perf_counter()
        measured = _build(job) if job["work"] == "build" else _answer(job, track)
        measured |= {"seconds": time.perf_counter() - began, "peak_memory": peak_memory()}
        measured |= surroundings()
        write_atomically(result, [json.dumps(measured, indent=1).encode()])
    except AdmiralError as error:
        result.with_name(result.name + ".error").write_text(str(error), encoding="utf-8")
        raise


def chosen(experiment: Experiment, gold: list[GoldClaim]) -> list[GoldClaim]:
    """Return the claims of an experiment: those that its rules count, spread over the file."""
    counted, _ = experiment.rules.select(gold)
    return list(spread(counted, experiment.limit))


def _build(job: Job) -> Record:
    report = build(
        job["corpora"],
        job["kb"],
        bm25=default_backend(),
        on_duplicate=job["on_duplicate"],
        format=job["format"],
    )
    return {"documents": report.documents}


def _answer(job: Job, track: Track) -> Record:
    config = RetrievalConfig(**job["config"])
    claims = [Claim(id, text) for id, text in job["claims"]]
    output = Path(job["output"])
    if job["baseline"] is not None and config.precision == "auto":  # no model computes
        config = replace(config, precision="fp32")
    settings = recorded_settings(config) | {"baseline": job["baseline"]}
    with ResumableWriter(output, settings, overwrite=job["overwrite"]) as writer:
        todo = list(writer.pending(claims))
        done = len(writer.finished)
        if todo:
            records = _records(config, job["baseline"], todo)
            for record in track(records, done=done, total=len(claims), quiet=job["quiet"]):
                writer.write(record)
        writer.finish()
    return {"answered": len(todo)}


def _records(
    config: RetrievalConfig, baseline: str | None, claims: list[Claim]
) -> Iterator[Record]:
    if baseline in ("bm25", "bm25+mentions"):
        with KnowledgeBase.open(
            locate(config.kb), title_weight=config.title_weight, text_weight=config.text_weight
        ) as kb:
            mentions = MentionFinder(kb) if baseline == "bm25+mentions" else None
            first = FusedFirstStage(kb, mentions=mentions) if mentions else Bm25FirstStage(kb)
            kb.search([claims[0].text], 1)  # opens the index before the clock runs
            yield from _ranked(first, config, claims)
        return
    from admiral.pipeline import Admiral

    with Admiral.from_pretrained(config.model, kb=config.kb, config=config) as system:
        system.kb.search([claims[0].text], 1)
        if baseline == "first-stage":
            yield from _ranked(system.stages.first, config, claims)
        else:
            yield from (result.to_json() for result in system.retrieve_many(claims))


def _ranked(first: FirstStage, config: RetrievalConfig, claims: list[Claim]) -> Iterator[Record]:
    """Yield the records of a first stage alone, with the seconds that each took."""
    stream = iter(claims)
    while batch := list(islice(stream, config.batch_size)):
        began = time.perf_counter()
        found = first.candidates([claim.text for claim in batch], config.first_stage_documents)
        seconds = (time.perf_counter() - began) / len(batch)
        for claim, titles in zip(batch, found, strict=True):
            documents = tuple(RankedDocument(c.title, c.score, 0) for c in titles[: config.top_k])
            result = RetrievalResult(claim, documents, (), (), "dead_end")
            yield result.to_json() | {"seconds": round(seconds, 6)}
