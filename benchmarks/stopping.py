"""Judges that drive ``--hops dynamic``, compared on the same hops of real searches.

Searches run once, with all hops; every judge then reads the evidence of each:

    python -m benchmarks.stopping collect CLAIMS.jsonl HOPS.jsonl --set kb=KB --limit 96
    python -m benchmarks.stopping compare HOPS.jsonl... --verifier FOLDER --rule min_hops=1

Evidence is complete if it has a sentence of each gold document. The first table says how well
judges can tell; the second, where they would stop the search, and what it has found by then.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from pydantic import TypeAdapter

from admiral import Admiral, Claim
from admiral.config import RetrievalConfig, load_config
from admiral.evaluation.citation_evaluation import precision_at_recall
from admiral.evaluation.measures import covers_any_set, recall_at_k
from admiral.gold import read_gold
from admiral.io.claims import evenly_spaced
from admiral.records import Hop, Sentence
from admiral.retrieval.document_ranking import ranked_documents
from admiral.retrieval.search import stop_reason
from admiral.retrieval.stage_assembly import open_judge
from proofs import Judgement

Names = tuple[str, ...]
# Those of the paper's table 6, and word lists. The oracle knows which evidence is complete.
JUDGES = ("never", "always", "classifier", "generated", "lexical", "oracle")
_TOLD = "hop | n | complete | precision at recall 0.9 | sufficient | recall | incomplete | recall"
_FOUND = "documents | n | after one hop | complete | @5 | @10 | hops | s/claim"


@dataclass(frozen=True, slots=True, kw_only=True)
class RealHop(Hop):
    """A hop of a real search, and what it has found of the gold documents."""

    claim: str
    gold: list[frozenset[str]]  # alternative sets of documents
    evidence: tuple[Sentence, ...]  # in records, with its text
    ranked: list[str]  # the first documents after the hop

    @property
    def documents(self) -> int:
        """The number of gold documents."""
        return min(map(len, self.gold))

    @property
    def complete(self) -> bool:
        """Whether the evidence has a sentence of each gold document."""
        return covers_any_set(self.gold, [sentence.title for sentence in self.evidence])

    def read_by(self, judge: Any) -> RealHop:
        """Return the hop as a judge finds it, with its time; None is the oracle."""
        began, judgement = time.perf_counter(), Judgement(self.complete, None)
        if judge is not None:
            (judgement,) = judge.judge([self.claim], [[(s.title, s.text) for s in self.evidence]])
        return self.judged(judgement, seconds=self.seconds + time.perf_counter() - began)

    def at_threshold(self, stop_at: float) -> RealHop:
        """Return the hop as another threshold decides."""
        if self.verdicts is None:
            return self
        return self.judged(Judgement.decided(self.verdicts, stop_at, alone=self.alone))


HOPS = TypeAdapter(list[RealHop])


def made(hops: Sequence[RealHop], rule: RetrievalConfig) -> Sequence[RealHop]:
    """Return the hops that a search makes by a rule."""
    if rule.hops != "dynamic":
        return hops[: int(rule.hops)]
    ends = (n for n in range(1, len(hops)) if stop_reason(hops[:n], rule))
    return hops[: next(ends, len(hops))]


def _share(said: Sequence[bool]) -> str:
    return f"{sum(said) / len(said):.3f}" if said else "–"


def told(hops: Sequence[RealHop]) -> list[str]:
    """Return how well a judge tells complete evidence from incomplete."""
    truths = [hop.complete for hop in hops]
    lowest = [-(hop.sufficient if hop.probability is None else hop.probability) for hop in hops]
    cells = [str(len(hops)), _share(truths), f"{precision_at_recall(lowest, truths, 0.9):.3f}"]
    for kind in (True, False):
        cells.append(_share([hop.complete is kind for hop in hops if hop.sufficient is kind]))
        cells.append(_share([hop.sufficient is kind for hop in hops if hop.complete is kind]))
    return cells


def found(searches: Sequence[Sequence[RealHop]]) -> list[str]:
    """Return how many searches stop after one hop, what all have found, their hops and seconds."""
    ends = [hops[-1] for hops in searches]
    shares = [[len(hops) == 1 for hops in searches], [end.complete for end in ends]]
    shares += [[recall_at_k(end.gold, end.ranked, k) for end in ends] for k in (5, 10)]
    sums = [sum(map(len, searches)), sum(hop.seconds for hops in searches for hop in hops)]
    return [str(len(ends)), *map(_share, shares), *(f"{each / len(ends):.2f}" for each in sums)]


main = click.Group(help="Compare judges that stop searches.")


@main.command()
@click.argument("claims", type=click.Path(path_type=Path, exists=True))
@click.argument("hops", type=click.File("w", encoding="utf-8"))
@click.option("--limit", default=0, help="Maximum number of claims; 0 for all.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Further settings.")
def collect(claims: Path, hops: Any, limit: int, settings: tuple[str, ...]) -> None:
    """Search for CLAIMS with all hops, and write these to the file HOPS."""
    gold = evenly_spaced([one for one in read_gold(claims) if one.evidence], limit)
    config = load_config(None, ["hops=4", *settings, "judge=never"])
    with Admiral.from_pretrained(config=config) as system:
        scorer = system.stages.document_scorer
        states = system.search_states(Claim(one.id, one.claim) for one in gold)
        for one, state in zip(gold, states, strict=True):
            searched = list[RealHop]()
            for hop in state.hops:
                ranked = ranked_documents(state.first_hops(hop.number), config, scorer)
                own: dict[str, Any] = {
                    "claim": one.claim,
                    "gold": list(map(frozenset, one.title_sets)),
                }
                own |= {name: getattr(hop, name) for name in ("number", "evidence", "seconds")}
                searched.append(RealHop(False, None, ranked=[d.title for d in ranked[:10]], **own))
            print(HOPS.dump_json(searched, by_alias=True).decode(), file=hops, flush=True)


@main.command()
@click.argument("hops", type=click.Path(path_type=Path, exists=True), nargs=-1, required=True)
@click.option("--judge", "judges", multiple=True, type=click.Choice(JUDGES), default=JUDGES)
@click.option("--verifier", "verifiers", multiple=True, help="A verifier to compare.")
@click.option("--rule", "rules", multiple=True, default=[""], help="Settings to stop by.")
def compare(hops: Sequence[Path], judges: Names, verifiers: Names, rules: Names) -> None:
    """Print how judges tell complete evidence of HOPS, and where they stop searches."""
    settings = {name: f"judge={name}" for name in judges} | {v: f"verifier={v}" for v in verifiers}
    told_rows, found_rows = list[list[str]](), list[list[str]]()
    for name, setting in settings.items():
        judge = None if name == "oracle" else open_judge(load_config(None, [setting]))
        for path in hops:
            records = path.read_bytes().splitlines()
            read = [[hop.read_by(judge) for hop in HOPS.validate_json(one)] for one in records]
            for rule in (*rules, "hops=1", "hops=2", "hops=3") if name == "never" else rules:
                config, start = load_config(None, rule.split()), [name, rule, path.stem]
                searches = [[hop.at_threshold(config.stop_at) for hop in one] for one in read]
                for label, part in (("first", slice(1)), ("later", slice(1, None))):
                    own = [hop for one in searches for hop in one[part]]
                    if rule in rules:
                        told_rows.append([*start, label, *told(own)])
                for size in sorted({one[0].documents for one in searches}):
                    same = [made(one, config) for one in searches if one[0].documents == size]
                    found_rows.append([*start, str(size), *found(same)])
    for head, rows in ((_TOLD, told_rows), (_FOUND, found_rows)):
        lines = [f"| judge | rule | claims | {head} |", "|---" * (head.count("|") + 4) + "|"]
        click.echo("\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows), ""]))


if __name__ == "__main__":
    main()
