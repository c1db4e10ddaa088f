"""Verdicts of the judge `calibrated`, with and without verifiers, side by side.

Run as ``python -m benchmarks.verdicts --claims CLAIMS.jsonl --kb KB --verifier DIR``. Claims come
with gold sentences in a format of `admiral.gold`; each is judged with its gold evidence among
distractors, and without the sentences of one document, where the verdict should be NOT ENOUGH
INFO. ``--plot FILE`` draws how often verdicts of the last verifier are right, by their probability.
``--results`` adds the evidence that `admiral retrieve` selected for the same claims, and
``--examples`` examples of `training.build_examples`. The first system has no verifier: its verdict
is what the steps of the proof add up to.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt

from admiral.config import load_config
from admiral.gold import Label, read_gold
from admiral.io.claims import evenly_spaced
from admiral.kb import KnowledgeBase, locate
from admiral.retrieval.stage_assembly import build_judge
from benchmarks.charts import Axis, Point, line_chart
from proofs import Judgement, Verdict
from training.data.evidence_corpora import ExtendedCorpus, read_documents
from training.data.examples import draw_examples, read_examples
from training.fitting.verdict_examples import (
    VerdictExample,
    gold_examples,
    retrieved_examples_of_results,
)
from training.fitting.verified_fit import is_right
from training.verification.label_measures import calibration_error, roc_area

_BATCH = 16
_FIFTHS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_BIN = 15  # verdicts in a bin of the plot, at least
_LABELS = {
    "entailment": Label.SUPPORTS,
    "contradiction": Label.REFUTES,
    "neutral": Label.NOT_ENOUGH_INFO,
    "not_entailment": Label.NOT_SUPPORTED,
}
_FILE = click.Path(path_type=Path, exists=True)


def labelled_examples(path: Path, limit: int, seed: int) -> Iterator[VerdictExample]:
    """Yield about `limit` examples of each source."""
    for one in draw_examples(list(read_examples([path])), limit, seed):
        yield VerdictExample(one.claim, one.evidence, _LABELS[one.label], one.source)


def probabilities(judgement: Judgement) -> dict[Verdict, float]:
    """Return the probabilities of a judgement; those of its verdict alone, without a verifier."""
    if judgement.verdicts:
        return dict(judgement.verdicts)
    return {verdict: float(verdict is judgement.verdict) for verdict in Verdict}


def confidences(
    examples: Sequence[VerdictExample], predicted: Sequence[dict[Verdict, float]]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return the probability of each most probable verdict, and whether it is right."""
    verdicts = [max(each, key=each.__getitem__) for each in predicted]
    right = [is_right(e.label, v) for e, v in zip(examples, verdicts, strict=True)]
    confidence = [each[v] for each, v in zip(predicted, verdicts, strict=True)]
    return np.array(confidence), np.array(right)


def row(examples: Sequence[VerdictExample], predicted: Sequence[dict[Verdict, float]]) -> str:
    """Return accuracy, area (supported or not) and calibration error as table cells."""
    confidence, right = confidences(examples, predicted)
    supported = np.array([example.label is Label.SUPPORTS for example in examples])
    scores = np.array([each[Verdict.SUPPORTS] - each[Verdict.REFUTES] for each in predicted])
    area = roc_area(scores, supported)
    error = calibration_error(confidence, right)
    cells = (
        f"{len(examples):,}",
        *(f"{v:.3f}" if v is not None else "–" for v in (right.mean(), area, error)),
    )
    return " | ".join(cells)


def reliability(confidence: npt.ArrayLike, right: npt.ArrayLike) -> list[Point]:
    """Return the mean confidence and the share of right verdicts of bins of equal size."""
    order = np.argsort(confidence, kind="stable")
    bins = np.array_split(order, max(len(order) // _BIN, 1))
    return [
        (float(np.take(confidence, own).mean()), float(np.take(right, own).mean())) for own in bins
    ]


@click.command()
@click.option("--claims", multiple=True, type=_FILE, help="Claims with labels; repeatable.")
@click.option("--kb", default="demo", show_default=True)
@click.option("--pages", multiple=True, type=_FILE, help="Documents that the KB lacks.")
@click.option("--results", multiple=True, type=_FILE, help="Results of the claims; repeatable.")
@click.option("--examples", "labelled", multiple=True, type=_FILE, help="Examples with labels.")
@click.option("--verifier", "verifiers", multiple=True, help="Directory; repeatable.")
@click.option("--limit", default=0, help="Maximum number of claims, or of examples of a source.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Further settings.")
@click.option("--seed", default=0, show_default=True)
@click.option("--plot", type=click.Path(path_type=Path), help="SVG file of the calibration.")
def main(
    claims: tuple[Path, ...],
    kb: str,
    pages: tuple[Path, ...],
    results: tuple[Path, ...],
    labelled: tuple[Path, ...],
    verifiers: tuple[str, ...],
    limit: int,
    settings: tuple[str, ...],
    seed: int,
    plot: Path | None,
) -> None:
    """Print how often verdicts are right, by source and evidence."""
    examples: list[VerdictExample] = []
    with KnowledgeBase.open(locate(kb)) as opened:
        corpus = ExtendedCorpus(opened, read_documents(list(pages)))
        for path in claims:
            gold = evenly_spaced(list(read_gold(path)), limit)
            examples += gold_examples(corpus, gold, seed)
    by_id = {claim.id: claim for path in claims for claim in read_gold(path)}
    for path in results:
        examples += retrieved_examples_of_results(path, by_id)
    for path in labelled:
        examples += labelled_examples(path, limit or 10**9, seed)
    by_source: dict[str, list[VerdictExample]] = defaultdict(list)
    for example in examples:
        withheld = example.source == "gold evidence" and example.label is Label.NOT_ENOUGH_INFO
        by_source["evidence withheld" if withheld else example.source].append(example)
    click.echo("| evidence | verifier | claims | accuracy | area, supported | error | ms |")
    click.echo("|---|---|---|---|---|---|---|")
    for name in ("", *verifiers):
        config = load_config(None, [f"verifier={name}", *settings])
        judge = build_judge(None, config)
        lines: dict[str, list[Point]] = {}
        for source, own in sorted(by_source.items()):
            judgements: list[Judgement] = []
            began = time.perf_counter()
            for at in range(0, len(own), _BATCH):
                batch = own[at : at + _BATCH]
                judgements += judge.judge([e.claim for e in batch], [e.evidence for e in batch])
            milliseconds = 1000 * (time.perf_counter() - began) / len(own)
            predicted = list(map(probabilities, judgements))
            lines[source] = reliability(*confidences(own, predicted))
            cells = row(own, predicted)
            click.echo(f"| {source} | {name or 'none'} | {cells} | {milliseconds:.0f} |")
    if plot is not None:
        x, y = (Axis(label, _FIFTHS) for label in ("probability of the verdict", "share right"))
        lines["calibrated"] = [(0.0, 0.0), (1.0, 1.0)]
        plot.write_text(line_chart("Verdicts", x, y, lines), encoding="utf-8")


if __name__ == "__main__":
    main()
