"""Weights for ordered labels, folds by pages, and missing words."""

import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.citations.coverage_verifier import CoverageVerifier, TermWeights
from admiral.citations.source_scorers import MixedScorer
from admiral.errors import AdmiralError
from tests.admiral.citations.cited_pages import BRIDGE, CLAIM, HARBOUR, passage
from training.citations import (
    extract_features,
    fit_missing_words,
    pool_stems,
    read_token_claims,
    surest_span_is_right,
)
from training.feature_fits import (
    fit_binary,
    fit_ordinal,
    linear_score,
    out_of_fold_scores,
    page_folds,
)

_ROWS = [{"a": float(n % 7), "b": float(n % 3)} for n in range(40)]
_LABELS = [min(2, int(row["a"] + 0.4 * row["b"]) // 3) for row in _ROWS]


def test_higher_labels_get_higher_scores():
    weights = fit_ordinal(_ROWS, _LABELS, ["a", "b"], ridge=0.01)
    scores = [linear_score(weights, row) for row in _ROWS]
    means = [
        sum(s for s, y in zip(scores, _LABELS, strict=True) if y == label) / _LABELS.count(label)
        for label in range(3)
    ]
    assert means == sorted(means)
    assert sum(scores) == pytest.approx(0, abs=1e-6)  # features are standardised


def test_two_labels_are_logistic_regression():
    """The gradient of the penalised loss is zero at the fit, by finite differences."""
    labels = [int(label > 0) for label in _LABELS]
    weights = fit_ordinal(_ROWS, labels, ["a"], ridge=0.1)
    own = weights["a"]
    inputs = [(row["a"] - own.mean) / own.deviation for row in _ROWS]

    def loss(weight):
        def at(offset):
            total = 0.0
            for value, label in zip(inputs, labels, strict=True):
                score = weight * value + offset
                total += math.log1p(math.exp(-score if label else score))
            return total / len(labels) + 0.1 * weight**2

        return min(at(-3 + 0.001 * step) for step in range(6000))

    assert loss(own.weight) <= min(loss(own.weight - 0.02), loss(own.weight + 0.02))


def test_a_constant_feature_has_no_weight():
    rows = [row | {"c": 3.0} for row in _ROWS]
    assert fit_ordinal(rows, _LABELS, ["a", "c"], ridge=0.01)["c"].weight == 0


def test_the_log_odds_of_the_data_are_recovered():
    rng = random.Random(0)
    rows = [{"a": rng.gauss(0, 1), "b": rng.gauss(5, 20), "c": 7.0} for _ in range(3000)]
    positive = [
        rng.random() < 1 / (1 + math.exp(-(1 + 1.5 * row["a"] - row["b"] / 20))) for row in rows
    ]
    bias, weights = fit_binary(rows, positive, ["a", "b", "c"])
    assert bias == pytest.approx(1, abs=0.15)
    assert weights == pytest.approx({"a": 1.5, "b": -0.05, "c": 0}, rel=0.1)


def test_a_separable_rule_has_finite_weights():
    rows = [{"a": float(at)} for at in range(-5, 6)]
    bias, weights = fit_binary(rows, [row["a"] > 0 for row in rows], ["a"])
    found = [bias + weights["a"] * row["a"] for row in rows]
    assert all(map(math.isfinite, found))
    assert [score > 0 for score in found] == [row["a"] > 0 for row in rows]


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=30), st.integers(2, 5))
def test_no_page_is_in_two_folds(pages, folds):
    divided = page_folds(pages, folds)
    assert sorted(at for fold in divided for at in fold) == list(range(len(pages)))
    for page in set(pages):
        assert sum(any(pages[at] == page for at in fold) for fold in divided) == 1


def test_scores_of_a_fold_do_not_depend_on_its_labels():
    folds = page_folds([str(n) for n in range(40)], 4)
    before = out_of_fold_scores(_ROWS, _LABELS, folds, ["a", "b"], ridge=0.01)
    changed = [2 - y if at in folds[0] else y for at, y in enumerate(_LABELS)]
    after = out_of_fold_scores(_ROWS, changed, folds, ["a", "b"], ridge=0.01)
    assert [after[at] for at in folds[0]] == [before[at] for at in folds[0]]
    assert after != before


def test_the_mixed_score_is_the_weighted_sum_of_its_features():
    stems = TermWeights.background()
    verifiers = {"coverage": CoverageVerifier(stems)}
    claims = [(CLAIM, BRIDGE), (CLAIM, HARBOUR)]
    rows = extract_features(claims, verifiers, stems)
    names = ["coverage", "coverage_parts", "uncovered_values"]
    weights = fit_ordinal(rows, [1, 0], names, ridge=0.1)
    scorer = MixedScorer(verifiers, stems, weights)
    sources = [[passage(source.text)] for _, source in claims]
    scores = scorer.score_sources([CLAIM, CLAIM], sources)
    expected = [linear_score(weights, row) for row in rows]
    assert [one.score for one in scores] == pytest.approx(expected)
    assert scores[0].score > scores[1].score
    assert scores[0].passages[0] > scores[1].passages[0]
    with pytest.raises(ValueError, match="late"):
        MixedScorer(verifiers, stems, weights | {"late": weights["coverage"]})


def test_missing_words_are_fitted(tmp_path):
    path = tmp_path / "tokens.jsonl"
    records = []
    for year, marked in ((1932, False), (1934, True), (1978, False), (1950, True)):
        tokens = ["The", "bridge", "was", "opened", "in", str(year), "."]
        records.append(
            {
                "claim_tokens": tokens,
                "non_supported_spans": [marked and token == str(year) for token in tokens],
                "evidence": ["(meta data) TITLE: Bridge", *BRIDGE.text.split(". ")],
            }
        )
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    claims = read_token_claims(path)
    assert claims[0].claim == "The bridge was opened in 1932 ."
    assert [claims[0].claim[a:b] for a, b in claims[0].words] == records[0]["claim_tokens"]
    fitted = fit_missing_words(claims, pool_stems([claim.source for claim in claims]))
    for claim in claims:
        scores = fitted.scores(claim.claim, claim.words, [passage(BRIDGE.text)], 0)
        expected = True if any(claim.unsupported) else None
        assert surest_span_is_right(claim, scores) is expected
        assert surest_span_is_right(claim, [-1.0] * len(scores)) is None
        assert surest_span_is_right(claim, [1.0] * len(scores)) is False
    path.write_text('{"claim_tokens": ["a"], "non_supported_spans": [], "evidence": []}\n')
    with pytest.raises(AdmiralError, match=r"tokens.jsonl:1: field 'non_supported_spans'"):
        read_token_claims(path)
