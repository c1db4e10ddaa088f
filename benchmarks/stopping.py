"""Judges that drive ``--hops dynamic``: what each one finds, and how much time it saves.

Run as ``python -m benchmarks.stopping CLAIMS.jsonl --kb KB``. The stages find the same at a hop
whoever judges its evidence, so they run once per claim, with all hops; each judge then reads the
evidence of every hop, and the retrieval is repeated from the stages' remembered answers with as
many hops as it would have made. Its time is that of the hops made, and its own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from admiral import Admiral, Claim, RetrievalConfig, RetrievalResult
from admiral.evaluation.measures import recall_at_k
from admiral.gold import read_gold
from admiral.io.claims import evenly_spaced
from admiral.records import Hop
from admiral.retrieval.search import stop_reason
from admiral.retrieval.stage_assembly import build_judge
from proofs import Judgement
from proofs.judges.judgement import NeverSufficient

# In the order of the paper's table 6, and ours. The oracle stops when every gold document has a
# sentence in the evidence.
JUDGES = ("never", "always", "classifier", "generated", "lexical", "oracle", "verifier")
_CUTS = (5, 10, 100)


class Remembering:
    """A stage that answers a question that it has had before from memory.

    Parameters
    ----------
    stage
        The stage, whose methods are those of its protocol.
    """

    def __init__(self, stage: object) -> None:
        self._stage = stage
        self._known: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._stage, name)
        if not callable(method):  # a limit that the stage states
            return method

        def answer(*question: object) -> Any:
            key = repr((name, question))
            if key not in self._known:
                self._known[key] = method(*question)
            return self._known[key]

        return answer

    def forget(self) -> None:
        """Drop all answers, before the next claim."""
        self._known.clear()


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a judge stops on one claim: the hop, and the seconds up to it, its own apart."""

    hop: int
    hops_seconds: float
    judge_seconds: float


def stop_of(
    judge: Any, claim: Claim, whole: RetrievalResult, gold: frozenset[str], config: RetrievalConfig
) -> Stop:
    """Return where `judge` stops, who reads the evidence of every hop; None is the oracle."""
    spent, hops = 0.0, list[Hop]()
    for hop in whole.hops:
        evidence = [(s.title, s.text) for s in hop.evidence]
        began = time.perf_counter()
        if judge is None:
            judgement = Judgement(gold <= {title for title, _ in evidence}, None)
        else:
            (judgement,) = judge.judge([claim.text], [evidence])
            spent += time.perf_counter() - began
        hops.append(hop.judged(judgement))
        if stop_reason(hops, config) is not None:
            break
    return Stop(hop.number, sum(h.seconds for h in whole.hops[: hop.number]), spent)


def rankings_by_hops(system: Admiral, claim: Claim) -> tuple[RetrievalResult, list[list[str]]]:
    """Return the result with all hops, and the ranking with each number of hops, from one on."""
    whole = system.retrieve(claim, hops=system.config.max_hops)
    rankings = [
        [d.title for d in system.retrieve(claim, hops=number).documents]
        for number in range(1, len(whole.hops))
    ]
    return whole, [*rankings, [d.title for d in whole.documents]]


def row(
    name: str, stops: Sequence[Stop], hits: Sequence[tuple[bool, ...]], fixed: float, label: str
) -> str:
    """Return a line of the table for the claims of one group."""
    count = len(stops)
    cells = [f"{sum(hit[at] for hit in hits) / count:.3f}" for at in range(len(_CUTS))]
    hops = sum(s.hop for s in stops) / count
    judging = sum(s.judge_seconds for s in stops) / count
    seconds = sum(s.hops_seconds for s in stops) / count + judging
    saved = f"{1 - seconds / fixed:.0%}"
    return (
        f"| {name} | {label} | {count} | {' | '.join(cells)} | {hops:.2f} | {seconds:.2f} | "
        f"{1000 * judging:.0f} | {saved} |"
    )


@click.command()
@click.argument("claims", type=click.Path(path_type=Path, exists=True))
@click.option("--kb", default="demo", show_default=True)
@click.option("--model", default="mini", show_default=True)
@click.option("--judge", "judges", multiple=True, type=click.Choice(JUDGES), default=JUDGES)
@click.option("--limit", default=0, help="Maximum number of claims; 0 for all.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Further settings.")
def main(
    claims: Path,
    kb: str,
    model: str,
    judges: tuple[str, ...],
    limit: int,
    settings: tuple[str, ...],
) -> None:
    """Print a table of all-gold recall, hops and time of judges that drive retrieval of CLAIMS."""
    from admiral.config import load_config

    gold = [
        (Claim(one.id, one.claim), frozenset(one.titles))
        for one in evenly_spaced(list(read_gold(claims)), limit)
    ]
    config: RetrievalConfig = load_config(
        None, [f"model={model}", f"kb={kb}", *settings, "judge=never", "batch_size=1"]
    )
    stops: dict[str, list[Stop]] = {name: [] for name in judges}
    hits: dict[str, list[tuple[bool, ...]]] = {name: [] for name in judges}
    full: list[float] = []  # seconds of all hops
    with Admiral.from_pretrained(config=config) as system:
        deciders = {
            name: None
            if name == "oracle"
            else build_judge(system.checkpoint, config.changed(judge=name, early_exit=True))
            for name in judges
        }
        stages = system.stages
        remembering = [
            Remembering(s) for s in (stages.first_stage, stages.reranker, stages.hop_retriever)
        ]
        first_stage, reranker, hop_retriever = remembering
        system.stages = replace(
            stages,
            first_stage=first_stage,
            reranker=reranker,
            judge=NeverSufficient(),
            hop_retriever=hop_retriever,
        )
        for number, (claim, titles) in enumerate(gold, start=1):
            whole, rankings = rankings_by_hops(system, claim)
            full.append(sum(h.seconds for h in whole.hops))
            for name, judge in deciders.items():
                stop = stop_of(judge, claim, whole, titles, config)
                ranking = rankings[stop.hop - 1]
                stops[name].append(stop)
                hits[name].append(tuple(recall_at_k([titles], ranking, k) for k in _CUTS))
            for stage in remembering:
                stage.forget()
            if number % 20 == 0:
                click.echo(f"{number} of {len(gold)} claims", err=True)
    heads = " | ".join(f"@{k}" for k in _CUTS)
    click.echo(
        f"| judge | gold documents | claims | {heads} | hops | s/claim | judge, ms | saved |"
    )
    click.echo("|---" * (len(_CUTS) + 7) + "|")
    sizes = [len(titles) for _, titles in gold]
    for name in judges:
        for label in ["all", *map(str, sorted(set(sizes)))]:
            at = [i for i, size in enumerate(sizes) if label in ("all", str(size))]
            click.echo(
                row(
                    name,
                    [stops[name][i] for i in at],
                    [hits[name][i] for i in at],
                    sum(full[i] for i in at) / len(at),
                    label,
                )
            )


if __name__ == "__main__":
    main()
