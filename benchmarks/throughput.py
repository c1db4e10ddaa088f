"""Claims per second, in batches beside one at a time, and where the time goes.

Run as ``python -m benchmarks.throughput CLAIMS.jsonl --kb KB --set precision=bf16``, or with
``--precision fp32 --precision bf16`` to compare precisions. All ways run in one process, by turns,
over the same claims; each has stages of its own, so that none profits from what another remembers.
The answers are compared besides.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import Any

import click
import torch

from admiral import Admiral, Claim, RetrievalConfig, RetrievalResult, load_config
from admiral.io.claims import evenly_spaced, read_claims
from admiral.kb import KnowledgeBase
from admiral.retrieval.first_stage import TitleMentionFinder
from admiral.retrieval.hop_retriever import TrieHopRetriever
from admiral.retrieval.rerankers import BM25Reranker, CrossEncoderReranker, SimilarityReranker
from proofs.judges.generated import ClassifierJudge, GeneratedProofJudge
from proofs.judges.judgement import LexicalJudge
from proofs.judges.verifier_judge import VerifierJudge
from trie import Seq2Seq

_STAGES: list[tuple[str, type, str]] = [
    ("BM25", KnowledgeBase, "search"),
    ("documents", KnowledgeBase, "document"),
    ("mentions", TitleMentionFinder, "in_text"),
    ("mentions", TitleMentionFinder, "in_evidence"),
    ("similarity", SimilarityReranker, "score"),
    ("terms", BM25Reranker, "score"),
    ("cross-encoder", CrossEncoderReranker, "score"),
    ("beam search", TrieHopRetriever, "expand"),
    ("beam search: encoder", Seq2Seq, "encode"),
    ("beam search: decoder", Seq2Seq, "step"),
    ("judge", VerifierJudge, "judge"),
    ("judge", ClassifierJudge, "judge"),
    ("judge", GeneratedProofJudge, "judge"),
    ("judge", LexicalJudge, "judge"),
]


class Clock:
    """Sums up the seconds that threads spend in some methods, without those nested in them."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._lock, self._own = threading.Lock(), threading.local()

    def watch(self, kind: type, name: str, stage: str) -> None:
        """Count the seconds of a method for a stage, from now on."""
        inner: Callable[..., Any] = getattr(kind, name)

        @wraps(inner)
        def timed(*arguments: Any, **named: Any) -> Any:
            outside = getattr(self._own, "nested", 0.0)
            self._own.nested = 0.0
            began = time.perf_counter()
            try:
                return inner(*arguments, **named)
            finally:
                spent = time.perf_counter() - began
                with self._lock:
                    self.seconds[stage] += spent - self._own.nested
                self._own.nested = outside + spent

        setattr(kind, name, timed)


def differences(one: RetrievalResult, other: RetrievalResult) -> list[str]:
    """Return in what two answers to a claim differ, scores left out."""
    parts = {
        "documents": lambda r: [d.title for d in r.documents],
        "evidence": lambda r: [s.key for s in r.evidence],
        "document sets": lambda r: [[s.titles for s in hop.document_sets] for hop in r.hops],
        "stop": lambda r: (r.stopped, len(r.hops)),
    }
    return [name for name, part in parts.items() if part(one) != part(other)]


def largest_gap(one: RetrievalResult, other: RetrievalResult) -> float:
    """Return by how much scores of documents, sets and sentences that both have differ at most."""
    mine, its = _scores(one), _scores(other)
    return max((abs(mine[key] - its[key]) for key in mine.keys() & its.keys()), default=0.0)


def _scores(result: RetrievalResult) -> dict[tuple[Any, ...], float]:
    found: dict[tuple[Any, ...], float] = {(d.title,): d.score for d in result.documents}
    found |= {("evidence", s.key): s.score for s in result.evidence}
    for hop in result.hops:
        found |= {(hop.number, tuple(s.titles)): s.score for s in hop.document_sets}
        found |= {(hop.number, s.key): s.score for s in hop.evidence}
    return found


class Way:
    """One of the ways to answer claims, and what it took so far."""

    def __init__(
        self,
        name: str,
        answer: Callable[[Sequence[Claim]], list[RetrievalResult]],
    ) -> None:
        self.name, self._answer = name, answer
        self.seconds = self.processor = 0.0
        self.stages: Counter[str] = Counter()
        self.results: list[RetrievalResult] = []

    def run(self, claims: Sequence[Claim], clock: Clock) -> None:
        """Answer claims."""
        before = clock.seconds.copy()
        began = time.perf_counter(), time.process_time()
        self.results += self._answer(claims)
        self.seconds += time.perf_counter() - began[0]
        self.processor += time.process_time() - began[1]
        self.stages.update(clock.seconds - before)

    def row(self) -> str:
        """Return a line of the table of speeds."""
        count = len(self.results)
        hops = sum(len(r.hops) for r in self.results) / count
        cells = [count / self.seconds, self.seconds / count, self.processor / count, hops]
        return f"| {self.name} | {' | '.join(f'{cell:.3f}' for cell in cells)} |"


def report(ways: Sequence[Way]) -> list[str]:
    """Return the tables of some ways, and how the others compare with the first one."""
    lines = ["| way | claims/s | s/claim | processor s/claim | hops |", "|---|---|---|---|---|"]
    lines += [way.row() for way in ways]
    lines += [f"\n| stage, ms/claim | {' | '.join(way.name for way in ways)} |"]
    lines.append("|---" * (len(ways) + 1) + "|")
    first, *others = ways
    count = len(first.results)
    for stage, _ in sum((way.stages for way in ways), Counter[str]()).most_common():
        cells = [f"{1e3 * way.stages[stage] / count:.1f}" for way in ways]
        lines.append(f"| {stage} | {' | '.join(cells)} |")
    lines.append(f"\nbeside {first.name}:")
    for other in others:
        lines += ["", *_beside(first, other)]
    return lines


def _beside(one: Way, other: Way) -> list[str]:
    pairs = list(zip(one.results, other.results, strict=True))
    found: Counter[str] = Counter()
    for pair in pairs:
        found.update(differences(*pair))
    same = sum(not differences(*pair) for pair in pairs)
    gap = max(largest_gap(*pair) for pair in pairs)
    return [
        f"{other.name}: {one.seconds / other.seconds:.2f} times as fast, "
        f"{one.processor / other.processor:.2f} in processor time",
        f"the same answer: {same} of {len(pairs)} claims; largest gap of scores {gap:.2e}",
        *(f"  other {name}: {times}" for name, times in found.items()),
    ]


@click.command()
@click.argument("claims", type=click.Path(path_type=Path, exists=True))
@click.option("--kb", default="demo", show_default=True)
@click.option("--limit", default=48, show_default=True, help="Claims, spread over the file.")
@click.option("--turn", default=12, show_default=True, help="Claims that a way answers in a turn.")
@click.option(
    "--alone-threads", default=0, help="Threads of one claim at a time; 0 for as many as batches."
)
@click.option("--precision", "precisions", multiple=True, help="Repeat it to compare several.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Further settings.")
def main(
    claims: Path,
    kb: str,
    limit: int,
    turn: int,
    alone_threads: int,
    precisions: tuple[str, ...],
    settings: tuple[str, ...],
) -> None:
    """Answer CLAIMS one at a time and in batches, by turns, and print the speeds."""
    config = load_config(None, [f"kb={kb}", *settings])
    asked = evenly_spaced(list(read_claims(claims)), limit)
    with ExitStack() as opened:
        ways: list[Way] = []
        for precision in precisions or [config.precision]:
            ways += _ways(config.changed(precision=precision), alone_threads, opened)
        ordered = list(ways)
        clock = Clock()
        for stage, kind, name in _STAGES:
            clock.watch(kind, name, stage)
        stream = iter(asked)
        while some := list(islice(stream, turn)):
            for way in ways:
                way.run(some, clock)
            ways.reverse()
    click.echo(f"{len(asked)} claims\n")
    click.echo("\n".join(report(ordered)))


def _ways(config: RetrievalConfig, alone_threads: int, opened: ExitStack) -> list[Way]:
    """Return both ways in a precision, warmed up; `opened` closes what they read."""
    threads = config.threads or torch.get_num_threads()
    few = alone_threads or threads
    batched = opened.enter_context(Admiral.from_pretrained(config=config))
    alone = Admiral(batched.kb, batched.checkpoint, batched.config.changed(threads=few))
    # What is loaded at the first use is not counted; these claims are not asked again.
    for system in (alone, batched):
        list(system.retrieve_many([Claim("1", "A river in Paris."), Claim("2", "A bridge.")], 1))
    return [
        Way(
            f"{batched.config.precision}, one at a time, threads: {few}",
            lambda some: list(map(alone.retrieve, some)),
        ),
        Way(
            f"{batched.config.precision}, in batches of {config.batch_size}, threads: {threads}",
            lambda some: list(batched.retrieve_many(some)),
        ),
    ]


if __name__ == "__main__":
    main()
