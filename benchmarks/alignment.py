"""Alignment of claim spans with evidence, by words alone and by context, beside people's.

Run as ``python -m benchmarks.alignment PROOFS.jsonl``. The records hold ``claim``, ``evidence``
(one text of ``[ title ] sentence`` parts divided by ``</s>``) and ``proof``, lists of claim span,
evidence span and operator. Every claim span is aligned; the words of the found span are compared
with those of the given one.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from admiral.models.checkpoint import load_checkpoint
from proofs.drafting.contextual_similarity import ContextualSimilarity
from proofs.drafting.span_alignment import Aligner
from proofs.lexicons.lexicon import default_lexicon
from proofs.logic.words import split_words

Step = tuple[str, str, str]  # claim span, quotation, operator
_PART = re.compile(r"\[ (.*?) \] (.*)", re.DOTALL)


def read_proofs(path: Path) -> Iterator[tuple[str, list[tuple[str, str]], list[Step]]]:
    """Yield claims with their evidence and the steps that quote it of spans that the claim has."""
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        parts = map(_PART.match, record["evidence"].split(" </s> "))
        evidence = [
            (part[1].replace(" ( ", " (").replace(" )", ")"), part[2]) for part in parts if part
        ]
        steps = [(s, q, o) for s, q, o in record["proof"] if q and s in record["claim"]]
        yield record["claim"], evidence, steps


def overlap(one: str, other: str) -> float:
    """Return the F1 of the words of two texts."""
    words = [Counter(w.norm for w in split_words(text) if w.norm) for text in (one, other)]
    total = words[0].total() + words[1].total()
    return 2 * (words[0] & words[1]).total() / total if total else 0.0


@click.command()
@click.argument("proofs", type=click.Path(path_type=Path, exists=True))
@click.option("--model", default="mini", show_default=True, help="Whose encoder knows the context.")
def main(proofs: Path, model: str) -> None:
    """Print how much of the spans in PROOFS alignment finds, by operator."""
    checkpoint = load_checkpoint(model)
    similarity = ContextualSimilarity(checkpoint.model, checkpoint.tokens)
    lexicon, records = default_lexicon(), list(read_proofs(proofs))
    operators = sorted({step[2] for record in records for step in record[2]})
    click.echo(f"| alignment | all | {' | '.join(f'`{o}`' for o in operators)} | ms a claim |")
    click.echo("|---" * (len(operators) + 3) + "|")
    for name, one in (("words", None), ("words and context", similarity)):
        scores: dict[str, list[float]] = {operator: [] for operator in operators}
        began = time.perf_counter()
        for claim, evidence, steps in records:
            aligner = Aligner(evidence, lexicon, claim, one)
            for span, quotation, operator in steps:
                found = aligner.align(span, start=claim.index(span))
                scores[operator].append(overlap(found.span, quotation) if found else 0.0)
        cost = 1000 * (time.perf_counter() - began) / len(records)
        every = [score for listed in scores.values() for score in listed]
        cells = [f"{sum(s) / len(s):.3f}" for s in (every, *scores.values())]
        click.echo(f"| {name} | {' | '.join(cells)} | {cost:.0f} |")
    counts = ", ".join(f"{len(scores[o])} `{o}`" for o in operators)
    click.echo(f"{len(records)} proofs, {len(every)} steps: {counts}")


if __name__ == "__main__":
    main()
