"""Fit the weights of the verification of citations, and write them as a file that can be read.

Run as ``python -m training.citations --citations DEV --tokens TOKENS --out FILE``, with claims of
WiCE and its token-level claims. The weights of the verifier `mixed` are fitted on the claims; the
meaning of scores (probabilities and percentiles) comes from scores of claims whose page was left
out of the fit. The words that a source lacks are fitted on the token-level claims.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from admiral.citations.citation_settings import CitationConfig
from admiral.citations.citation_weights import CitationWeights, FeatureWeight, ScoreCalibration
from admiral.citations.open_scorer import WHOLE_WEIGHT, VerifierFactory, mixed_verifiers
from admiral.citations.source_scorers import PARTS
from admiral.citations.wice_records import WICE_LABELS, WiceCitation, read_wice
from admiral.errors import AdmiralError
from admiral.storage.atomic_files import write_atomically
from admiral.storage.output_paths import check_distinct_paths, check_output_path
from training.data.citation_examples import (
    extract_features,
    pool_stems,
    read_token_claims,
)
from training.fitting.missing_words_fit import fit_missing_words
from training.fitting.ordinal_fit import fit_ordinal, out_of_fold_scores, page_folds

#: Features of the verifier `mixed`: the few that help on held-out pages.
FEATURES = (
    "coverage",
    "coverage_parts",
    "late_parts",
    "uncovered_names",
    "uncovered_values",
)
#: Penalty on squared weights.
RIDGE = 0.03
#: Number of folds.
FOLDS = 10
# Verifiers whose scores are calibrated besides `mixed`.
_SINGLE = ("coverage", "similarity", "late")


def single_scores(rows: Sequence[Mapping[str, float]], name: str) -> list[float]:
    """Return the scores of a verifier alone, over the whole claim and its parts."""
    return [WHOLE_WEIGHT * row[name] + (1 - WHOLE_WEIGHT) * row[name + PARTS] for row in rows]


def fit_weights(
    citations: Sequence[WiceCitation],
    rows: Sequence[Mapping[str, float]],
    name: str,
) -> tuple[dict[str, FeatureWeight], dict[str, ScoreCalibration]]:
    """Return the weights of `mixed` and the calibrations.

    Parameters
    ----------
    citations, rows
        Labelled citations and their features.
    name
        Name of the citations, for percentiles.
    """
    labels = [WICE_LABELS.index(each.label) for each in citations]
    supported = [label == len(WICE_LABELS) - 1 for label in labels]
    folds = page_folds([each.page for each in citations], FOLDS)
    scores = {"mixed": out_of_fold_scores(rows, labels, folds, FEATURES, ridge=RIDGE)}
    scores |= {verifier: single_scores(rows, verifier) for verifier in _SINGLE}
    weights = fit_ordinal(rows, labels, FEATURES, ridge=RIDGE)
    calibrations = {
        verifier: ScoreCalibration.fit(own, supported, name) for verifier, own in scores.items()
    }
    return weights, calibrations


@click.command()
@click.option("--citations", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--tokens", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--out", type=click.Path(path_type=Path), required=True)
@click.option("--name", default="", help="Name of the citations; that of the file by default.")
@click.option(
    "--precision", type=click.Choice(["auto", "fp32", "bf16"]), default="auto", show_default=True
)
def main(citations: Path, tokens: Path, out: Path, name: str, precision: str) -> None:
    """Fit the weights of the verification of citations."""
    try:
        check_output_path(out)
        check_distinct_paths(out, citations, tokens)
        labelled = read_wice(citations)
        words = read_token_claims(tokens)
        stems = pool_stems([*(each.source for each in labelled), *(one.source for one in words)])
        factory = VerifierFactory(CitationConfig(precision=precision), stems)
        names = mixed_verifiers([*FEATURES, *_SINGLE])
        rows = extract_features(
            [(each.claim, each.source) for each in labelled],
            {verifier: factory.verifier(verifier) for verifier in names},
            stems,
        )
        title = name or f"{citations.stem} ({len(labelled)} citations)"
        mixed, calibrations = fit_weights(labelled, rows, title)
        missing = fit_missing_words(words, stems)
        text = CitationWeights(mixed, calibrations, missing).to_json()
        write_atomically(out, [text.encode()])
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{out}: fitted on {len(labelled)} citations and {len(words)} claims", err=True)


if __name__ == "__main__":
    main()
