"""Judges of sufficiency side by side, in the manner of the paper's table 6.

Run as ``python -m benchmarks.judges CLAIMS.jsonl --kb KB``. The claims come with gold sentences in
a format of `admiral.gold`. Each is judged twice, with its gold evidence and with one gold document
withheld, filled up with distractors (`training.data.evidence_corpora`). ``--pages`` adds
documents that the knowledge base lacks, such as those of FEVEROUS, in any format of
`admiral index`. ``--set`` changes settings of the judges, such as ``verifier``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import click

from admiral.config import load_config
from admiral.gold import read_gold
from admiral.io.claims import evenly_spaced
from admiral.kb import KnowledgeBase, locate
from admiral.models.checkpoint import choose_dtype, load_checkpoint
from admiral.retrieval.stage_assembly import build_judge
from training.data.evidence_corpora import JudgedEvidence, judged_evidence, with_documents

# In the order of the paper's table 6, and ours. The oracle knows the answers.
JUDGES = ("never", "always", "classifier", "generated", "lexical", "oracle", "verifier")
_BATCH = 16


def table(
    name: str, labelled: Sequence[JudgedEvidence], sufficient: Sequence[bool], seconds: float
) -> list[str]:
    """Return lines: how well insufficient evidence is told, overall and by gold documents."""
    lines = []
    sizes = sorted({one.gold_documents for one in labelled})
    for label, wanted in [("all", set(sizes)), *((str(size), {size}) for size in sizes)]:
        rows = [
            (not one.sufficient, not said)
            for one, said in zip(labelled, sufficient, strict=True)
            if one.gold_documents in wanted
        ]
        right = sum(truth and said for truth, said in rows)
        claimed, lacking = sum(said for _, said in rows), sum(truth for truth, _ in rows)
        precision = f"{right / claimed:.3f}" if claimed else "–"
        scores = f"{right / lacking:.3f} | {2 * right / (claimed + lacking):.3f}"
        correct = sum(truth == said for truth, said in rows) / len(rows)
        cost = f"{1000 * seconds / len(labelled):.0f}" if label == "all" else ""
        lines.append(
            f"| {name} | {label} | {len(rows)} | {precision} | {scores} | {correct:.3f} | {cost} |"
        )
    return lines


@click.command()
@click.argument("claims", type=click.Path(path_type=Path, exists=True))
@click.option("--kb", default="demo", show_default=True)
@click.option("--model", default="mini", show_default=True)
@click.option("--judge", "judges", multiple=True, type=click.Choice(JUDGES), default=JUDGES)
@click.option("--pages", type=click.Path(path_type=Path, exists=True))
@click.option("--limit", default=0, help="Maximum number of claims; 0 for all.")
@click.option("--precision", type=click.Choice(["fp32", "bf16"]), default="fp32")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Further settings.")
@click.option("--seed", default=0, show_default=True)
def main(
    claims: Path,
    kb: str,
    model: str,
    judges: tuple[str, ...],
    pages: Path | None,
    limit: int,
    precision: str,
    settings: tuple[str, ...],
    seed: int,
) -> None:
    """Print how well judges tell insufficient evidence of CLAIMS from sufficient evidence."""
    config = load_config(None, [f"precision={precision}", *settings])
    gold = evenly_spaced(list(read_gold(claims)), limit)
    with KnowledgeBase.open(locate(kb)) as opened:
        corpus = with_documents(opened, [pages] if pages else [])
        labelled = list(judged_evidence(corpus, gold, seed=seed))
    checkpoint = load_checkpoint(model, dtype=choose_dtype(config))
    texts, evidence = [one.claim for one in labelled], [one.evidence for one in labelled]
    click.echo("| judge | gold documents | cases | precision | recall | F1 | accuracy | ms |")
    click.echo("|---|---|---|---|---|---|---|---|")
    for name in judges:
        if name == "oracle":
            answers, seconds = [one.sufficient for one in labelled], 0.0
        else:
            judge = build_judge(checkpoint, config.changed(judge=name))
            answers, began = [], time.perf_counter()
            for at in range(0, len(texts), _BATCH):
                found = judge.judge(texts[at : at + _BATCH], evidence[at : at + _BATCH])
                answers += [one.sufficient for one in found]
            seconds = time.perf_counter() - began
        for line in table(name, labelled, answers, seconds):
            click.echo(line)


if __name__ == "__main__":
    main()
