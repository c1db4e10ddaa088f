"""Fit the weights of the verification of citations, and write them as a file that can be read.

Run as ``python -m training citations --citations DEV --tokens TOKENS --out FILE``, with claims of
WiCE and its token-level claims. The weights of the verifier `mixed` are fitted on the claims; the
meaning of scores (probabilities and percentiles) comes from scores of claims whose page was left
out of the fit. The words that a source lacks are fitted on the token-level claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from pathlib import Path

import click
import numpy as np
from pydantic import BaseModel, ValidationInfo, field_validator
from sklearn.linear_model import LogisticRegression

from admiral.citations.citation_file import WICE_LABELS, WiceCitation, read_wice, wice_source
from admiral.citations.citation_records import CitedClaim
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.citation_weights import (
    WORD_FEATURES,
    CitationWeights,
    FeatureWeight,
    MissingWords,
    ScoreCalibration,
    marked_runs,
    word_features,
)
from admiral.citations.passage_verifiers import CitationVerifier, CoverageVerifier
from admiral.citations.source_scorers import (
    ENTAILED,
    PARTS,
    UNCOVERED,
    WHOLE_WEIGHT,
    SourceReader,
    VerifierFactory,
    mixed_verifiers,
    source_features,
)
from admiral.citations.source_search import cut_source, passage_texts
from admiral.citations.term_weights import TermWeights, text_stems
from admiral.sources import Passage, Source
from admiral.storage.atomic_files import check_distinct_paths, write_atomically
from training.command_options import program
from training.data.records import read_records
from training.feature_fits import fit_ordinal, out_of_fold_scores, page_folds

_BATCH = 16


@dataclass(frozen=True, slots=True)
class TokenClaim:
    """A claim whose tokens are marked."""

    claim: str  # the tokens, joined by spaces
    words: tuple[tuple[int, int], ...]  # offsets of the tokens in `claim`
    unsupported: tuple[bool, ...]  # whether the source does not support each token
    source: Source  # the cited page


class _TokenRecord(BaseModel):
    claim_tokens: list[str]
    non_supported_spans: list[bool]
    evidence: list[str]

    @field_validator("non_supported_spans")
    @classmethod
    def _check_length(cls, marks: list[bool], others: ValidationInfo) -> list[bool]:
        if len(marks) != len(others.data.get("claim_tokens", marks)):
            raise ValueError("is not as long as 'claim_tokens'")
        return marks


def read_token_claims(path: Path) -> list[TokenClaim]:
    """Read claims of WiCE with marked tokens."""
    claims = []
    remedy = "Give a file of WiCE's claims with marked tokens, unchanged"
    for number, record in enumerate(read_records(path, _TokenRecord, remedy), start=1):
        begins = accumulate((len(token) + 1 for token in record.claim_tokens), initial=0)
        words = [(at, at + len(token)) for at, token in zip(begins, record.claim_tokens)]  # noqa: B905
        source = wice_source(f"wice:{path.stem}:{number}", record.evidence)
        text, marks = " ".join(record.claim_tokens), tuple(record.non_supported_spans)
        claims.append(TokenClaim(text, tuple(words), marks, source))
    return claims


def pool_stems(sources: Iterable[Source]) -> TermWeights:
    """Return the weights of stems over the 100-word passages of sources, each page once.

    Passages do not overlap and are read with the titles of their pages.
    """
    pages = {(source.title, source.text): source for source in sources}
    return TermWeights.of(
        text for source in pages.values() for text in passage_texts(cut_source(source, 100, 100))
    )


def extract_features(
    citations: Sequence[tuple[CitedClaim, Source]],
    verifiers: Mapping[str, CitationVerifier],
    reader: SourceReader | None = None,
) -> list[Mapping[str, float]]:
    """Return the features of each claim and source (see `source_features`)."""
    rows: list[Mapping[str, float]] = []
    for begin in range(0, len(citations), _BATCH):
        batch = citations[begin : begin + _BATCH]
        sources = [cut_source(source) for _, source in batch]
        found = source_features([c for c, _ in batch], sources, verifiers, reader)
        rows += [each.values for each in found]
    return rows


def best_passage(claim: str, passages: Sequence[Passage], stems: TermWeights) -> int:
    """Return the position of the passage that covers most of a claim."""
    (scores,) = CoverageVerifier(stems).score([CitedClaim("1", claim)], [passages])
    return scores.index(max(scores))


def fit_missing_words(claims: Sequence[TokenClaim], stems: TermWeights) -> MissingWords:
    """Return weights by logistic regression, and the lowest threshold that is right often enough.

    That is so if the surest span of a claim is right for `SPAN_PRECISION` of the claims with one:
    half of its content words or more are not supported.
    """
    rows = [_rows(claim, stems) for claim in claims]
    words = [dict(zip(WORD_FEATURES, row, strict=True)) for row in chain(*rows)]
    labels = [int(mark) for claim in claims for mark in claim.unsupported]
    fitted = fit_ordinal(words, labels, list(WORD_FEATURES), ridge=_WORD_RIDGE)
    # Features are not standardised in use, where a threshold takes the place of the means.
    weights = {name: own.weight / own.deviation for name, own in fitted.items()}
    unbounded = MissingWords(weights, 0.0)
    scored = [
        (claim, list(map(unbounded.score, own))) for claim, own in zip(claims, rows, strict=True)
    ]
    return replace(unbounded, threshold=_span_threshold(scored))


def _span_threshold(claims: Sequence[tuple[TokenClaim, list[float]]]) -> float:
    candidates = sorted({score for _, scores in claims for score in scores})
    steps = [candidates[at * (len(candidates) - 1) // _STEPS] for at in range(_STEPS + 1)]
    for threshold in steps:
        right = [
            surest_span_is_right(claim, [score - threshold for score in scores])
            for claim, scores in claims
        ]
        known = [one for one in right if one is not None]
        if known and sum(known) >= SPAN_PRECISION * len(known):
            return threshold
    return steps[-1]


def surest_span_is_right(claim: TokenClaim, scores: Sequence[float]) -> bool | None:
    """Return whether at least half of the content words of the surest span are not supported.

    `scores`: of each word, above 0 if it is missing. None if no content word is.
    """
    content = [bool(text_stems(claim.claim[start:end])) for start, end in claim.words]
    spans = [span for span in marked_runs(scores) if any(content[at] for at in span)]
    if not spans:
        return None
    surest = max(spans, key=lambda span: max(scores[at] for at in span))
    marks = [claim.unsupported[at] for at in surest if content[at]]
    return 2 * sum(marks) >= len(marks)


def _rows(claim: TokenClaim, stems: TermWeights) -> list[tuple[float, ...]]:
    passages = cut_source(claim.source)
    best = best_passage(claim.claim, passages, stems)
    return word_features(claim.claim, claim.words, passages, best)


#: Share of claims whose surest missing span is to be right.
SPAN_PRECISION = 0.8
_STEPS = 200  # thresholds that are tried


#: Features of the verifier `mixed`: the few that help on held-out pages.
FEATURES = ("coverage", "late_parts", UNCOVERED, ENTAILED)
#: Penalty on squared weights.
RIDGE = 0.03
# Penalty of the weights of missing words.
_WORD_RIDGE = 0.001
#: Number of folds.
FOLDS = 10
# Verifiers whose scores are calibrated besides `mixed`.
_SINGLE = ("coverage", "late")


def single_scores(rows: Sequence[Mapping[str, float]], name: str) -> list[float]:
    """Return the scores of a verifier alone, over the whole claim and its parts."""
    return [WHOLE_WEIGHT * row[name] + (1 - WHOLE_WEIGHT) * row[name + PARTS] for row in rows]


def fit_weights(
    citations: Sequence[WiceCitation],
    rows: Sequence[Mapping[str, float]],
    name: str,
) -> tuple[dict[str, FeatureWeight], dict[str, ScoreCalibration]]:
    """Return the weights of `mixed` and the calibrations."""
    labels = [WICE_LABELS.index(each.label) for each in citations]
    supported = [label == len(WICE_LABELS) - 1 for label in labels]
    folds = page_folds([each.page for each in citations], FOLDS)
    scores = {"mixed": out_of_fold_scores(rows, labels, folds, FEATURES, ridge=RIDGE)}
    scores |= {verifier: single_scores(rows, verifier) for verifier in _SINGLE}
    weights = fit_ordinal(rows, labels, FEATURES, ridge=RIDGE)
    calibrations = {
        verifier: fit_calibration(own, supported, name) for verifier, own in scores.items()
    }
    return weights, calibrations


def fit_calibration(
    scores: Sequence[float], supported: Sequence[bool], reference: str
) -> ScoreCalibration:
    """Return the calibration that fits labelled citations.

    The probability is a logistic regression on the scores, with the targets of Platt (1999), which
    keep it from 0 and 1: each score counts for both labels, in parts.
    """
    positives = sum(supported)
    high, low = (positives + 1) / (positives + 2), 1 / (len(supported) - positives + 2)
    targets = np.where(supported, high, low)
    values = np.asarray(scores)
    mean, deviation = values.mean(), values.std() or 1.0
    rows = np.tile((values - mean) / deviation, 2)[:, None]
    labels, weights = np.repeat([1, 0], len(values)), np.concatenate([targets, 1 - targets])
    model = LogisticRegression(C=1e6, tol=1e-8, max_iter=1000).fit(rows, labels, weights)
    slope = float(model.coef_[0, 0] / deviation)
    intercept = float(model.intercept_[0] - slope * mean)
    quantiles = np.quantile(values, np.linspace(0, 1, 101)).tolist()
    return ScoreCalibration(slope, intercept, reference, tuple(sorted(quantiles)))


@program
@click.option("--citations", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--tokens", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--out", type=click.Path(path_type=Path), required=True)
@click.option("--name", default="", help="Name of the citations; that of the file by default.")
@click.option(
    "--precision", type=click.Choice(["auto", "fp32", "bf16"]), default="auto", show_default=True
)
def main(citations: Path, tokens: Path, out: Path, name: str, precision: str) -> None:
    """Fit the weights of the verification of citations."""
    check_distinct_paths(out, citations, tokens)
    labelled = read_wice(citations)
    words = read_token_claims(tokens)
    stems = pool_stems([*(each.source for each in labelled), *(one.source for one in words)])
    factory = VerifierFactory(CitationConfig().changed(precision=precision), stems)
    names = mixed_verifiers([*FEATURES, *_SINGLE])
    rows = extract_features(
        [(each.claim, each.source) for each in labelled],
        {verifier: factory.verifier(verifier) for verifier in names},
        factory.reader(),
    )
    title = name or f"{citations.stem} ({len(labelled)} citations)"
    mixed, calibrations = fit_weights(labelled, rows, title)
    missing = fit_missing_words(words, stems)
    text = CitationWeights(mixed, calibrations, missing).to_json()
    write_atomically(out, [text.encode()])
    click.echo(f"{out}: fitted on {len(labelled)} citations and {len(words)} claims", err=True)
