"""How well verifiers tell supported claims from others, beside counting words.

Run as ``python -m benchmarks.citation_verification WICE --tokens TOKENS``, with claims of WiCE and
its token-level files. It prints the AUROC of three comparisons of labels with 95% bootstrap
intervals, precision at 15% recall, and balanced accuracy. The verifier `mixed`, and the thresholds,
are fitted on other pages than they are measured on. ``--classifier DIR`` adds a trained verifier,
alone and in `mixed`. The context of claims is that of configs/experiments/side-context.yaml.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import numpy as np
import torch
from sklearn.metrics import balanced_accuracy_score

from admiral.citations.citation_file import WICE_LABELS, WiceCitation, read_wice
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.source_scorers import ENTAILED, PARTS, WHOLE_WEIGHT, VerifierFactory
from admiral.evaluation.citation_evaluation import (
    COMPARISONS,
    auroc_interval,
    precision_at_recall,
)
from admiral.requirements import FAST_VERIFIER
from training.citations import (
    FEATURES,
    FOLDS,
    RIDGE,
    extract_features,
    pool_stems,
    read_token_claims,
)
from training.feature_fits import out_of_fold_scores, page_folds

Rows = Sequence[Mapping[str, float]]


class Detection:
    """The table of one file of labelled citations."""

    def __init__(self, citations: Sequence[WiceCitation]) -> None:
        self.labels = np.array([WICE_LABELS.index(each.label) for each in citations])
        self.folds = page_folds([each.page for each in citations], FOLDS)

    def line(self, name: str, given: Sequence[float]) -> str:
        """Return the line of some scores."""
        scores, cells = np.array(given), []
        for positive, negative in COMPARISONS.values():
            value, low, high = auroc_interval(
                scores[np.isin(self.labels, positive)], scores[np.isin(self.labels, negative)]
            )
            cells.append(f"{value:.3f} [{low:.3f}, {high:.3f}]")
        known = self.labels != 1
        cells.append(f"{precision_at_recall(scores[known], self.labels[known] == 0):.2f}")
        cells.append(f"{100 * self.fold_accuracy(scores):.1f}")
        return f"| {name} | {' | '.join(cells)} |"

    def fold_accuracy(self, scores: np.ndarray) -> float:
        """Return the balanced accuracy with each fold's threshold chosen on the others."""
        supported, said = self.labels == len(WICE_LABELS) - 1, np.zeros(len(scores), bool)
        for fold in self.folds:
            kept = np.setdiff1d(np.arange(len(scores)), fold)
            best = max(
                np.unique(scores[kept]),
                key=lambda cut: balanced_accuracy_score(supported[kept], scores[kept] >= cut),
            )
            said[fold] = scores[fold] >= best
        return float(balanced_accuracy_score(supported, said))


def lines(
    citations: Sequence[WiceCitation], rows: Rows, features: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return the table of every verifier alone, by the paper's maximum and by parts, and mixed."""
    table = Detection(citations)
    names = [*COMPARISONS, "P@15% recall", "balanced accuracy"]
    found = [f"| score | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for name in (name for name in rows[0] if name + PARTS in rows[0]):
        for how, whole in (("max", 1.0), ("max and parts", WHOLE_WEIGHT)):
            scores = [whole * row[name] + (1 - whole) * row[name + PARTS] for row in rows]
            found.append(table.line(f"{name}, {how}", scores))
    found.append(table.line("reading", [row[ENTAILED] for row in rows]))
    for name, own in features.items():
        mixed = out_of_fold_scores(rows, table.labels.tolist(), table.folds, own, ridge=RIDGE)
        found.append(table.line(name, mixed))
    return found


_FILE = click.Path(path_type=Path, exists=True)


@click.command()
@click.argument("wice", type=_FILE)
@click.option(
    "--tokens", multiple=True, type=_FILE, help="Token-level claims; their sources weigh terms."
)
@click.option("--classifier", default="", help="Directory of a trained verifier.")
@click.option("--precision", default="auto", show_default=True)
def main(wice: Path, tokens: tuple[Path, ...], classifier: str, precision: str) -> None:
    """Print how well verifiers tell supported claims of WICE from others."""
    citations = read_wice(wice)
    cited = [claim.source for path in tokens for claim in read_token_claims(path)]
    stems = pool_stems([each.source for each in citations] + cited)
    names, features = ["coverage", "late"], {"mixed": list(FEATURES)}
    if classifier:
        names.append("cross-encoder")
        features["mixed with cross-encoder"] = [*FEATURES, "cross-encoder"]
    for left_out in FEATURES:
        features[f"mixed without {left_out}"] = [name for name in FEATURES if name != left_out]
    config = CitationConfig().changed(precision=precision, classifier=classifier or FAST_VERIFIER)
    factory = VerifierFactory(config, stems)
    pairs = [(each.claim, each.source) for each in citations]
    rows = extract_features(
        pairs, {name: factory.verifier(name) for name in names}, factory.reader()
    )
    click.echo("\n".join(lines(citations, rows, features)))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
