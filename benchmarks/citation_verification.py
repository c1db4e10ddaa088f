"""How well verifiers tell supported claims from others, beside counting words.

Run as ``python -m benchmarks.citation_verification WICE --tokens TOKENS``, with claims of WiCE and
its token-level files. It prints tables in Markdown:

- detection: AUROC of three comparisons of labels with 95% bootstrap intervals, the paired
  difference to `coverage` for one of them, precision at 15% recall, and balanced accuracy. The
  verifier `mixed`, and the thresholds, are fitted on other pages than they are measured on;
- context, aggregation, and lengths of passages.

``--classifier DIR`` adds a trained verifier, alone and in `mixed`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import torch

from admiral.citations.citation_file import WICE_LABELS, WiceCitation, read_wice
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.coverage_verifier import CoverageVerifier, TermWeights
from admiral.citations.source_scorers import ENTAILED, PARTS, WHOLE_WEIGHT, VerifierFactory
from admiral.citations.source_search import cut_source
from admiral.evaluation.citation_evaluation import (
    COMPARISONS,
    auroc,
    auroc_interval,
    balanced_accuracy,
    best_threshold,
    paired_auroc,
    precision_at_recall,
)
from admiral.requirements import VERIFIER
from training.citations import (
    FEATURES,
    FOLDS,
    RIDGE,
    best_passage,
    extract_features,
    pool_stems,
    read_token_claims,
)
from training.feature_fits import out_of_fold_scores, page_folds

_WINDOWS = ((50, 50), (50, 25), (100, 100), (100, 50), (200, 200), (200, 100))
_BATCH = 16
_UNTRAINED = ("coverage", "late")

Rows = Sequence[Mapping[str, float]]


def parts_score(row: Mapping[str, float], name: str, whole: float) -> float:
    """Return a verifier's score of a claim: its own, and that of the claim's parts."""
    return whole * row[name] + (1 - whole) * row[name + PARTS]


class Detection:
    """The detection table of one file of labelled citations.

    Parameters
    ----------
    citations
        The citations.
    """

    def __init__(self, citations: Sequence[WiceCitation]) -> None:
        self.labels = [WICE_LABELS.index(each.label) for each in citations]
        self.folds = page_folds([each.page for each in citations], FOLDS)
        self.baseline: Sequence[float] = ()

    def header(self) -> list[str]:
        names = [*COMPARISONS, "Δ supported > rest (p)", "P@15% recall", "balanced accuracy"]
        return [f"| score | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]

    def line(self, name: str, scores: Sequence[float]) -> str:
        cells = []
        for positive, negative in COMPARISONS.values():
            at = [n for n, label in enumerate(self.labels) if label in positive + negative]
            interval = auroc_interval(
                [scores[n] for n in at], [self.labels[n] in positive for n in at]
            )
            cells.append(f"{interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]")
        supported = [label == 2 for label in self.labels]
        paired = paired_auroc(self.baseline, scores, supported)
        cells.append(f"{paired.difference.value:+.3f} ({paired.p_value:.3f})")
        known = [n for n, label in enumerate(self.labels) if label != 1]
        bad = [self.labels[n] == 0 for n in known]
        cells.append(f"{precision_at_recall([scores[n] for n in known], bad):.2f}")
        cells.append(f"{100 * self.fold_accuracy(scores, supported):.1f}")
        return f"| {name} | {' | '.join(cells)} |"

    def fold_accuracy(self, scores: Sequence[float], positive: Sequence[bool]) -> float:
        """Return the balanced accuracy with each fold's threshold chosen on the others."""
        said = [False] * len(scores)
        for fold in self.folds:
            held_out = set(fold)
            kept = [n for n in range(len(scores)) if n not in held_out]
            cut = best_threshold([scores[n] for n in kept], [positive[n] for n in kept])
            for n in fold:
                said[n] = scores[n] >= cut
        return balanced_accuracy(said, positive)


def detection_tables(
    citations: Sequence[WiceCitation], rows: Rows, features: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return the table of every verifier alone, by the paper's maximum and by parts, and mixed."""
    table = Detection(citations)
    table.baseline = [row["coverage"] for row in rows]
    lines = table.header()
    for name in (name for name in rows[0] if name + PARTS in rows[0]):
        for how, whole in (("max", 1.0), ("max and parts", WHOLE_WEIGHT), ("parts", 0.0)):
            scores = [parts_score(row, name, whole) for row in rows]
            lines.append(table.line(f"{name}, {how}", scores))
    lines.append(table.line("reading", [row[ENTAILED] for row in rows]))
    for name, own in features.items():
        scores = out_of_fold_scores(rows, table.labels, table.folds, own, ridge=RIDGE)
        lines.append(table.line(name, scores))
    return lines


def context_table(
    citations: Sequence[WiceCitation], factory: VerifierFactory, names: Sequence[str]
) -> list[str]:
    """Return the AUROC of supported > rest without and with the context.

    The second has its difference to the first, with the p-value of the paired bootstrap.
    """
    supported = [each.label == WICE_LABELS[-1] for each in citations]
    lines = ["| verifier | claim | claim in context |", "|---|---|---|"]
    for name in names:
        alone: list[float] = []
        whole: list[float] = []
        for begin in range(0, len(citations), _BATCH):
            batch = citations[begin : begin + _BATCH]
            claims, sources = [e.claim for e in batch], [cut_source(e.source) for e in batch]
            alone += map(max, factory.verifier(name).score(claims, sources))
            whole += map(max, factory.verifier(name, "all").score(claims, sources))
        paired = paired_auroc(alone, whole, supported)
        areas = " | ".join(f"{auroc(run, supported):.3f}" for run in (alone, whole))
        change = f"{paired.difference.value:+.3f}, p {paired.p_value:.3f}"
        lines.append(f"| {name} | {areas} ({change}) |")
    return lines


def window_table(citations: Sequence[WiceCitation], stems: TermWeights) -> list[str]:
    """Return coverage with passages of other lengths, and how many gold sets one passage holds."""
    labels = [WICE_LABELS.index(each.label) for each in citations]
    lines = [
        f"| words / stride | passages | gold sets in one passage | {' | '.join(COMPARISONS)} |",
        "|---" * (len(COMPARISONS) + 3) + "|",
    ]
    for words, stride in _WINDOWS:
        sources = [cut_source(each.source, words, stride) for each in citations]
        scores = CoverageVerifier(stems).score([each.claim for each in citations], sources)
        best = [max(own) for own in scores]
        held = [
            any(
                all(holds_sentence(passage.start, passage.end, each, n) for n in gold)
                for gold in each.gold
                for passage in source
            )
            for each, source in zip(citations, sources, strict=True)
            if each.gold
        ]
        cells = []
        for positive, negative in COMPARISONS.values():
            at = [n for n, label in enumerate(labels) if label in positive + negative]
            cells.append(f"{auroc([best[n] for n in at], [labels[n] in positive for n in at]):.3f}")
        count = sum(map(len, sources))
        share = sum(held) / len(held)
        lines.append(f"| {words} / {stride} | {count:,} | {share:.2f} | {' | '.join(cells)} |")
    return lines


def holds_sentence(start: int, end: int, citation: WiceCitation, sentence: int) -> bool:
    """Return whether a passage holds at least 80% of a sentence."""
    begin = sum(len(text) + 1 for text in citation.sentences[:sentence])
    length = len(citation.sentences[sentence])
    return min(end, begin + length) - max(start, begin) >= 0.8 * length


def evidence_line(citations: Sequence[WiceCitation], stems: TermWeights) -> str:
    """Return how often the best passage holds a gold sentence, beside a random passage."""
    best, chance, count = 0, 0.0, 0
    for each in citations:
        if not each.gold:
            continue
        passages = cut_source(each.source)
        gold = frozenset[int]().union(*each.gold)
        held = [any(holds_sentence(p.start, p.end, each, n) for n in gold) for p in passages]
        best += held[best_passage(each.claim.claim, passages, stems)]
        chance += sum(held) / len(held)
        count += 1
    return (
        f"The best passage by coverage holds a gold sentence for {best / count:.2f} of {count} "
        f"claims; a random passage of the source for {chance / count:.2f}."
    )


_FILE = click.Path(path_type=Path, exists=True)


@click.command()
@click.argument("wice", type=_FILE)
@click.option(
    "--tokens", multiple=True, type=_FILE, help="Token-level claims; their sources weigh terms."
)
@click.option(
    "--verifier",
    "names",
    multiple=True,
    type=click.Choice(_UNTRAINED),
    help="Verifiers; repeatable.  [default: all untrained]",
)
@click.option("--classifier", default="", help="Directory of a trained verifier.")
@click.option("--passages", default=6, show_default=True, help="Passages that are verified.")
@click.option("--context/--no-context", default=True, help="Whether to compare contexts.")
@click.option("--only-context", is_flag=True, help="Compare contexts and nothing else.")
@click.option("--precision", default="auto", show_default=True)
def main(
    wice: Path,
    tokens: tuple[Path, ...],
    names: tuple[str, ...],
    classifier: str,
    passages: int,
    context: bool,
    only_context: bool,
    precision: str,
) -> None:
    """Print how well verifiers tell supported claims of WICE from others."""
    citations = read_wice(wice)
    cited = [claim.source for path in tokens for claim in read_token_claims(path)]
    stems = pool_stems([each.source for each in citations] + cited)
    chosen = list(names or _UNTRAINED)
    features = {"mixed": list(FEATURES)}
    if classifier:
        chosen.append("cross-encoder")
        features["mixed with cross-encoder"] = [*FEATURES, "cross-encoder"]
    for left_out in FEATURES:
        features[f"mixed without {left_out}"] = [name for name in FEATURES if name != left_out]
    config = CitationConfig().changed(
        precision=precision, classifier=classifier or VERIFIER, verify_passages=passages
    )
    factory = VerifierFactory(config, stems)
    if only_context:
        click.echo("\n".join(context_table(citations, factory, chosen)))
        return
    verifiers = {name: factory.verifier(name) for name in chosen}
    pairs = [(each.claim, each.source) for each in citations]
    rows = extract_features(pairs, verifiers, factory.reader())
    # Some of its verifiers may have been left out.
    features = {name: own for name, own in features.items() if all(f in rows[0] for f in own)}

    def show(title: str, lines: Sequence[str]) -> None:
        click.echo(f"\n## {title}\n\n" + "\n".join(lines))

    show("Detection", detection_tables(citations, rows, features))
    show("Passages", [*window_table(citations, stems), "", evidence_line(citations, stems)])
    if context:
        show("Context", context_table(citations, factory, chosen))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
