"""Shortcuts in training examples of the verifier: what tells their labels without any reading.

Run as ``python -m benchmarks.example_shortcuts EXAMPLES.jsonl ...``, on files of
`training.build_examples` or `training.build_twins`; it needs scikit-learn (extra ``training``).
Per source and kind of evidence, it prints the counts by label, and the accuracy of two logistic
regressions less that of the most frequent label: of the words and pairs of words of the claim
alone, and of features of the overlap alone. Where a source has no shortcut, both are about 0.
Accuracies are cross-validated, and weighted as an epoch of training
is; examples of a group, or of a claim, are in the same fold.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import click
import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from proofs.logic.words import NEGATIONS
from proofs.verifier import kind_of_evidence
from training.data.examples import EXAMPLE_LABELS, UNLABELLED, Example, draw_examples, read_examples

_FOLDS = 5
_LEAST = 50  # examples of which a model is fitted
_LABELS = EXAMPLE_LABELS[:4]
_WORD = re.compile(r"\d+(?:[.,]\d+)*|\w+(?:['’]\w+)*")


def overlap_features(example: Example) -> tuple[float, ...]:
    """Return how claim and evidence overlap.

    This is the share of the words of the claim that the evidence has, the same for pairs of words,
    the number of numbers that it lacks, the lengths in words, as logarithms, and the negations of
    the claim less those of the evidence.
    """
    texts = (" ".join(text for sentence in example.evidence for text in sentence), example.claim)
    evidence, claim = (_WORD.findall(text.casefold()) for text in texts)
    known, pairs, own_pairs = set(evidence), set(pairwise(evidence)), list(pairwise(claim))
    missing = sum(word[0].isdigit() and word not in known for word in claim)
    negations = [
        sum(word in NEGATIONS or word.endswith(("n't", "n’t")) for word in words)
        for words in (claim, evidence)
    ]
    return (
        sum(word in known for word in claim) / max(len(claim), 1),
        sum(pair in pairs for pair in own_pairs) / max(len(own_pairs), 1),
        *np.clip((missing, negations[0] - negations[1]), -2, 2),
        *np.log1p((len(claim), len(evidence))),
    )


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


def gains(examples: Sequence[Example]) -> tuple[float, float, float]:
    """Return the share of the most frequent label, and two gains in accuracy over it."""
    weights: Counter[str] = Counter()
    for example in examples:
        weights[example.label] += example.weight  # type: ignore[assignment]
    most = max(weights.values()) / weights.total()
    groups = {example.group or example.claim for example in examples}
    if len(weights) == 1 or len(examples) < _LEAST or len(groups) < _FOLDS:
        return most, 0.0, 0.0
    words = HashingVectorizer(n_features=1 << 16, ngram_range=(1, 2), alternate_sign=False)
    claim_alone = make_pipeline(words, LogisticRegression(C=10.0, max_iter=300))
    overlap_alone = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    claims = np.array([example.claim for example in examples], dtype=object)
    features = np.array([overlap_features(example) for example in examples])
    return (
        most,
        _accuracy(claim_alone, claims, examples) - most,
        _accuracy(overlap_alone, features, examples) - most,
    )


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
        most, claim, overlap = gains(draw_examples(own, limit, seed=0))
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
