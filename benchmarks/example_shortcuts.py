"""Shortcuts in training examples of the verifier: what tells their labels without any reading.

Run as ``python -m benchmarks.example_shortcuts EXAMPLES.jsonl ...``, on files of
`training.build_examples` or `training.build_twins`; it needs scikit-learn (extra ``training``).
Per source and kind of evidence, it prints the counts by label, and the accuracy of two logistic
regressions less that of the most frequent label: of the words and pairs of words of the claim
alone, and of features of the overlap alone (`training.data.overlap.FEATURES`). Where a source has
no shortcut, both are about 0. Accuracies are cross-validated, and weighted as an epoch of training
is; examples of a group, or of a claim, are in the same fold.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from proofs.verifier import kind_of_evidence
from training.data.examples import EXAMPLE_LABELS, UNLABELLED, Example, draw_examples, read_examples
from training.data.overlap import overlap_features

_FOLDS = 5
_LEAST = 50  # examples of which a model is fitted
_LABELS = EXAMPLE_LABELS[:4]


def _claim_alone() -> object:
    words = HashingVectorizer(n_features=1 << 16, ngram_range=(1, 2), alternate_sign=False)
    return make_pipeline(words, LogisticRegression(C=10.0, max_iter=300))


def _overlap_alone() -> object:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))


def _accuracy(model: object, inputs: np.ndarray, examples: Sequence[Example]) -> float:
    """Return the weighted accuracy of predictions for folds that a model was not fitted to."""
    labels = np.array([example.label for example in examples])
    weights = np.array([example.weight for example in examples])
    names = [example.group or example.claim for example in examples]
    right = np.zeros(len(examples))
    for fitted, held_out in GroupKFold(_FOLDS).split(inputs, labels, names):
        if len(set(labels[fitted])) > 1:
            model.fit(  # type: ignore[attr-defined]
                inputs[fitted], labels[fitted], logisticregression__sample_weight=weights[fitted]
            )
            predicted = model.predict(inputs[held_out])  # type: ignore[attr-defined]
            right[held_out] = predicted == labels[held_out]
    return float(np.average(right, weights=weights))


def row(examples: Sequence[Example]) -> tuple[int | float, ...]:
    """Return the counts by label, the share of the most frequent one, and two gains over it."""
    counts = Counter(example.label for example in examples)
    weights: Counter[str] = Counter()
    for example in examples:
        weights[example.label] += example.weight  # type: ignore[assignment]
    most = max(weights.values()) / weights.total()
    gains = [0.0, 0.0]
    groups = {example.group or example.claim for example in examples}
    if len(counts) > 1 and len(examples) >= _LEAST and len(groups) >= _FOLDS:
        claims = np.array([example.claim for example in examples], dtype=object)
        features = np.array([overlap_features(example) for example in examples])
        gains = [
            _accuracy(_claim_alone(), claims, examples) - most,
            _accuracy(_overlap_alone(), features, examples) - most,
        ]
    return (*(counts[label] for label in _LABELS), most, *gains)


def table(examples: Sequence[Example], limit: int) -> Iterator[str]:
    """Yield the lines of the table; models are fitted to about `limit` examples of each source."""
    yield "| source | evidence | " + " | ".join(_LABELS) + " | majority | claim alone | overlap |"
    yield "|---|---|" + "--:|" * (len(_LABELS) + 3)
    kinds: defaultdict[tuple[str, str], list[Example]] = defaultdict(list)
    for example in examples:
        if example.label != UNLABELLED:
            kinds[example.source, kind_of_evidence(example.evidence)].append(example)
    for (source, kind), own in sorted(kinds.items()):
        counts = Counter(example.label for example in own)
        most, claim, overlap = row(draw_examples(own, limit, seed=0))[len(_LABELS) :]
        numbers = " | ".join(f"{counts[label]:,}" for label in _LABELS)
        yield f"| {source} | {kind} | {numbers} | {most:.2f} | {claim:+.2f} | {overlap:+.2f} |"


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--limit", default=4000, show_default=True, help="Most examples to fit models to.")
def main(files: tuple[Path, ...], limit: int) -> None:
    """Print the table of FILES in Markdown."""
    for line in table(list(read_examples(files)), limit):
        click.echo(line)


if __name__ == "__main__":
    main()
