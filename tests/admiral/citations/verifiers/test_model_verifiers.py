"""Verifiers that read models: as defined, the same in batches as alone, and finite."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from admiral.citations.passage_verifiers import (
    CascadeVerifier,
    CoverageVerifier,
    LateInteractionVerifier,
    PairClassifierVerifier,
)
from admiral.citations.source_scorers import SourceScorer
from admiral.citations.term_weights import TermWeights
from admiral.io.sentence_splitter import split_sentences
from admiral.requirements import MINILM, minilm_directory
from admiral.retrieval.rerankers import MeanPoolingEncoder
from proofs.verifier.classifier_verifier import ClassifierVerifier
from tests.admiral.citations.cited_pages import BRIDGE, CLAIM, HARBOUR, claim, passage
from tests.proofs.verifier.tiny_classifier import write_classifier_directory

NAMES = ["coverage", "late", "cross-encoder", "cascade"]
PASSAGES = [passage(BRIDGE.text), passage(HARBOUR.text, 1, HARBOUR.title)]


@pytest.fixture(scope="module")
def encoder():
    return MeanPoolingEncoder(minilm_directory(), MINILM)


@pytest.fixture(scope="module")
def verifiers(encoder, tmp_path_factory):
    directory: Path = write_classifier_directory(tmp_path_factory.mktemp("classifier") / "tiny")
    coverage = CoverageVerifier(TermWeights.background())
    classifier = ClassifierVerifier.open(directory)
    late = LateInteractionVerifier(encoder)
    return {
        "coverage": coverage,
        "late": late,
        "cross-encoder": PairClassifierVerifier(classifier),
        "cascade": CascadeVerifier(coverage, late, 1),
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["", " ", "the", "?!", "\u200b", "\ud800 x", "日本語", "a" * 3000])
def test_hostile_texts_have_finite_scores(verifiers, name, text):
    scores = verifiers[name].score(
        [claim(text), CLAIM], [[*PASSAGES, passage(text)], [passage(text)]]
    )
    assert all(math.isfinite(score) for own in scores for score in own)


@pytest.mark.parametrize("name", ["coverage", "late", "cascade"])
def test_the_right_source_is_first(verifiers, name):
    (scores,) = verifiers[name].score([CLAIM], [PASSAGES])
    assert scores[0] > scores[1] or (name == "cascade" and scores[0] == scores[1])


def test_late_interaction_is_as_defined(encoder, verifiers):
    """Against the states of each sentence, encoded by itself."""
    query = encoder.token_states([CLAIM.claim])[0]
    best = []
    for sentence in split_sentences(BRIDGE.text):
        (states,) = encoder.token_states([sentence])
        tokens = torch.nn.functional.normalize(query[1:-1], dim=-1)
        others = torch.nn.functional.normalize(states[1:-1], dim=-1)
        best.append((tokens @ others.T).amax(1))
    (late,) = verifiers["late"].score([CLAIM], [PASSAGES[:1]])
    assert late == pytest.approx([float(torch.stack(best).amax(0).mean())], abs=2e-3)


def test_the_context_reaches_the_models(encoder):
    own = claim("It was first lit in 1911.", page="Lighthouse of Belmar Harbour")
    plain = LateInteractionVerifier(encoder).score([own], [PASSAGES])
    assert LateInteractionVerifier(encoder, "all").score([own], [PASSAGES]) != plain


def test_the_cascade_reads_the_best_passages_only(verifiers):
    (close,) = verifiers["late"].score([CLAIM], [PASSAGES])
    (scores,) = verifiers["cascade"].score([CLAIM], [PASSAGES])
    assert scores == [pytest.approx(close[0]), pytest.approx(close[0])]


def test_sources_are_scored_by_their_passages_and_the_parts_of_the_claim(verifiers):
    """Evidence that is spread over two passages counts with parts, not with the maximum alone."""
    spread = claim("The Eastern Bridge was opened in 1932, and the lighthouse was lit in 1911.")

    def scored(whole):
        scorer = SourceScorer.of("coverage", verifiers["coverage"], whole)
        (score,) = scorer.score_sources([spread], [PASSAGES])
        return score

    by_max, by_parts = scored(1.0), scored(0.0)
    assert by_max.score == max(by_max.passages)
    assert not by_max.features.parts
    assert [part.passage for part in by_parts.features.parts] == [0, 1]
    assert by_parts.score > by_max.score + 0.2
    assert scored(0.5).score == pytest.approx((by_max.score + by_parts.score) / 2)
