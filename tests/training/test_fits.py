"""Fits of judges, calibration, networks and the scorer of documents."""

import json
import math
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from admiral import Admiral, Claim, RetrievalConfig
from admiral.citations.citation_weights import word_features
from admiral.citations.passage_verifiers import CoverageVerifier
from admiral.citations.source_scorers import SourceScorer
from admiral.citations.term_weights import TermWeights
from admiral.errors import AdmiralError
from admiral.gold import read_gold
from admiral.retrieval.document_ranking import FEATURES, document_features, ranked_documents
from proofs.reader.automaton import verdict_shares
from proofs.verifier import LABELS, Reading, Scale
from tests.admiral.citations.cited_pages import BRIDGE, CLAIM, HARBOUR, passage
from training.calibration import fit_scale, labels_at
from training.citations import (
    extract_features,
    fit_missing_words,
    pool_stems,
    read_token_claims,
    surest_span_is_right,
)
from training.data.examples import NOT_ENTAILMENT, Example
from training.feature_fits import fit_ordinal, linear_score, page_folds
from training.ranking import fit_document_scorer, ranking_examples
from training.sufficiency import threshold_at_recall
from training.verification.example_program import measure


@given(
    st.lists(st.tuples(st.integers(-5, 5).map(float), st.booleans()), min_size=1).filter(
        lambda rows: any(positive for _, positive in rows)
    ),
    st.floats(0.05, 1.0),
)
def test_the_threshold_is_the_highest_with_the_recall(rows, recall):
    scores, positive = [s for s, _ in rows], [p for _, p in rows]

    def reached(threshold):
        hits = sum(p and s > threshold for s, p in rows)
        return hits / sum(positive)

    chosen = threshold_at_recall(scores, positive, recall)
    assert reached(chosen) >= recall - 1e-9
    assert all(reached(s) < recall for s in scores if s > chosen)
    assert chosen not in scores


def random_readings(rng, is_reader):
    """Return uncalibrated readings, of a verifier or of a reader with up to four spans."""
    if not is_reader:
        shares = rng.dirichlet([0.5] * 3, 2000)
        return [Reading(row, np.zeros((0, 3))) for row in shares]
    spans = [np.log(rng.dirichlet([0.3] * 6, rng.integers(1, 5))) for _ in range(2000)]
    return [
        Reading(verdict_shares(own), np.zeros((0, 3)), spans=((0, 1),) * len(own), operators=own)
        for own in spans
    ]


@pytest.mark.parametrize("is_reader", [False, True])
@pytest.mark.parametrize("truth", [Scale(0.6, 0.0), Scale(1.6, 1.0)])
def test_probabilities_become_calibrated(truth, is_reader):
    rng = np.random.default_rng(0)
    readings = random_readings(rng, is_reader)
    right = np.array([labels_at(reading, truth) for reading in readings])
    drawn = [LABELS[rng.choice(3, p=row)] for row in right]
    # Every third example is only known not to be entailed, where that is so.
    names = [
        NOT_ENTAILMENT if at % 3 == 0 and label != "entailment" else label
        for at, label in enumerate(drawn)
    ]
    examples = [Example("A claim", (("", "Text"),), name, "s") for name in names]
    fitted = fit_scale(readings, examples, [1.0] * len(names))
    assert fitted.temperature == pytest.approx(truth.temperature, rel=0.15)
    assert fitted.neutral == pytest.approx(truth.neutral, abs=0.25)
    found = np.array([labels_at(reading, fitted) for reading in readings])
    assert measure(names, found)["ece"] < 0.03


DEMO = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"
# Stages that take little time.
QUICK = {"reranker": "bm25", "judge": "never", "title_beams": 0, "beam_size": 4, "max_hops": 2}


def test_a_rule_is_recovered_and_generalises():
    """Gold documents have a high value of either of two features, of any scale."""
    rng = torch.Generator().manual_seed(0)
    scale = torch.logspace(-2, 2, len(FEATURES))

    def claims(count):
        rows = [torch.rand(12, len(FEATURES), generator=rng) for _ in range(count)]
        gold = [(one[:, 0] > 0.8) | (one[:, 5] > 0.9) for one in rows]
        usable = [at for at, one in enumerate(gold) if one.any() and not one.all()]
        return [rows[at] * scale for at in usable], [gold[at] for at in usable]

    fitted = fit_document_scorer(*claims(200))
    rows, gold = claims(100)
    right = 0
    for one, wanted in zip(rows, gold, strict=True):
        scores = torch.tensor([fitted.score(row) for row in one.tolist()])
        right += bool(scores[wanted].min() > scores[~wanted].max())
    assert right > 0.85 * len(rows)
    state = torch.get_rng_state()
    rows, gold = rows[:10], gold[:10]
    first, again, other = (fit_document_scorer(rows, gold, seed=seed) for seed in (3, 3, 4))
    assert first == again != other
    assert torch.equal(torch.get_rng_state(), state)  # the caller's generator is unchanged


def test_there_is_an_example_for_each_number_of_hops(user_cache):
    claims = [replace(c, id=str(n)) for n, c in enumerate(list(read_gold(DEMO))[:3])]
    with Admiral.from_pretrained(config=RetrievalConfig(**QUICK)) as system:
        by_claim = list(ranking_examples(system, claims))
        for examples, claim in zip(by_claim, claims, strict=True):
            for features, gold in examples:
                assert features.shape == (len(gold), len(FEATURES))
                assert 0 < int(gold.sum()) <= len(claim.titles)
        assert 2 in map(len, by_claim)
        # The search states are those of a retrieval.
        query = Claim("1", claims[0].claim)
        (state,) = system.search_states([query])
        result = system.retrieve(query)
        assert [hop.evidence for hop in state.hops] == [hop.evidence for hop in result.hops]
        # The first hop is the one of a run with one hop.
        (single,) = system.search_states([query], hops=1)
        first = state.first_hops(1)
        assert len(state.hops) == 2
        assert document_features(first) == document_features(single)
        assert ranked_documents(first, system.config, None) == ranked_documents(
            single, system.config, None
        )


_ROWS = [{"a": float(n % 7), "b": float(n % 3)} for n in range(40)]
_LABELS = [min(2, int(row["a"] + 0.4 * row["b"]) // 3) for row in _ROWS]


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


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=30), st.integers(2, 5))
def test_no_page_is_in_two_folds(pages, folds):
    divided = page_folds(pages, folds)
    assert sorted(at for fold in divided for at in fold) == list(range(len(pages)))
    for page in set(pages):
        assert sum(any(pages[at] == page for at in fold) for fold in divided) == 1


def test_the_mixed_score_is_the_weighted_sum_of_its_features():
    stems = TermWeights.background()
    verifiers = {"coverage": CoverageVerifier(stems)}
    claims = [(CLAIM, BRIDGE), (CLAIM, HARBOUR)]
    rows = extract_features(claims, verifiers)
    names = ["coverage", "coverage_parts", "uncovered"]
    weights = fit_ordinal(rows, [1, 0], names, ridge=0.1)
    scorer = SourceScorer(verifiers, weights)
    sources = [[passage(source.text)] for _, source in claims]
    scores = scorer.score_sources([CLAIM, CLAIM], sources)
    expected = [linear_score(weights, row) for row in rows]
    assert [one.score for one in scores] == pytest.approx(expected)
    assert scores[0].score > scores[1].score
    assert scores[0].passages[0] > scores[1].passages[0]


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
        rows = word_features(claim.claim, claim.words, [passage(BRIDGE.text)], 0)
        scores = list(map(fitted.score, rows))
        expected = True if any(claim.unsupported) else None
        assert surest_span_is_right(claim, scores) is expected
        assert surest_span_is_right(claim, [-1.0] * len(scores)) is None
        assert surest_span_is_right(claim, [1.0] * len(scores)) is False
    path.write_text('{"claim_tokens": ["a"], "non_supported_spans": [], "evidence": []}\n')
    with pytest.raises(AdmiralError, match=r"tokens.jsonl:1: field 'non_supported_spans'"):
        read_token_claims(path)
