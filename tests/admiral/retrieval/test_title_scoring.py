"""Generative scores of given titles: against beam search over everything that may be generated."""

from __future__ import annotations

import math

import pytest

from admiral import Admiral
from admiral.records import Sentence
from admiral.retrieval.hop_retriever import TrieHopRetriever, log_sum_exp
from admiral.retrieval.title_scoring import MIN_LOG_PROBABILITY, ForcedTitleScorer
from trie import TokenTrie

CLAIM = "The 66th Primetime Emmy Awards was hosted by an Iraqi comedian."
EVIDENCE = [
    Sentence("66th Primetime Emmy Awards", 0, "Seth Meyers hosted the show."),
    Sentence("Seth Meyers", 0, "Seth Meyers is an American comedian."),
    Sentence("Seth Meyers", 1, "He was born in 1973."),
]
NAMES = ["Rome", "Seth Meyers", "66th Primetime Emmy Awards", "Conan O'Brien", "Late Night"]


class Titles:
    def title(self, row: int) -> str:
        return NAMES[row]


def small_trie(system: Admiral) -> TokenTrie:
    return TokenTrie.build([system.checkpoint.tokens.encode(name) for name in NAMES])


def scorer(system: Admiral, *, normalise: bool = False, variant: str = "ours") -> ForcedTitleScorer:
    checkpoint = system.checkpoint
    trie = small_trie(system)
    return ForcedTitleScorer(checkpoint.model, checkpoint.tokens, trie, normalise, variant)


@pytest.mark.parametrize("normalise", [False, True])
def test_titles_from_the_claim_alone_have_the_scores_of_beam_search(
    system: Admiral, normalise: bool
) -> None:
    checkpoint = system.checkpoint
    retriever = TrieHopRetriever(
        checkpoint.model, checkpoint.tokens, small_trie(system), Titles(),
        title_beams=8, normalise=normalise,
    )  # fmt: skip
    (sets,) = retriever.expand([CLAIM], [[]], [0])
    expected = {s.titles[0]: s.score for s in sets}
    (scores,) = scorer(system, normalise=normalise).score([CLAIM], [[]], [0], [NAMES])
    assert set(expected) == set(NAMES)
    assert scores == {
        title: pytest.approx(max(score, MIN_LOG_PROBABILITY), abs=0.05)
        for title, score in expected.items()
    }


def test_normalised_over_the_trie_one_new_document_is_certain(system: Admiral) -> None:
    # Every sequence names the evidence's only document and one title, possibly the same one.
    (scores,) = scorer(system, normalise=True).score([CLAIM], [EVIDENCE[1:]], [1], [NAMES])
    assert scores["Seth Meyers"] == pytest.approx(0.0, abs=1e-6)
    others = [score for title, score in scores.items() if title != "Seth Meyers"]
    assert len(others) == 4
    assert log_sum_exp(others) <= 1e-6


def test_sentences_count_for_their_documents(system: Admiral) -> None:
    (scores,) = scorer(system, normalise=True).score([CLAIM], [EVIDENCE], [1], [NAMES])
    named = [scores["Seth Meyers"], scores["66th Primetime Emmy Awards"]]
    assert log_sum_exp(named) >= -1e-6  # exactly one of the two is named, and both may be titles
    (both,) = scorer(system, normalise=True).score([CLAIM], [EVIDENCE], [2], [NAMES])
    assert both["Seth Meyers"] == pytest.approx(0.0, abs=1e-6)
    assert both["66th Primetime Emmy Awards"] == pytest.approx(0.0, abs=1e-6)


def test_scores_do_not_depend_on_the_batch(system: Admiral) -> None:
    stage = scorer(system)
    together = stage.score(
        [CLAIM, "Rome is old.", CLAIM], [EVIDENCE, [], EVIDENCE[:1]], [1, 1, 1], [NAMES, NAMES, []]
    )
    assert together[1] == {}  # no evidence to hop from
    assert together[2] == {}
    assert [together[0]] == stage.score([CLAIM], [EVIDENCE], [1], [NAMES])


def test_a_title_outside_the_trie_is_improbable_when_normalised(system: Admiral) -> None:
    names = ["66th Primetime Emmy Awards", "Atlantis"]
    (scores,) = scorer(system, normalise=True).score([CLAIM], [[]], [0], [names])
    assert scores["Atlantis"] == MIN_LOG_PROBABILITY < scores["66th Primetime Emmy Awards"] <= 0.0
    (scores,) = scorer(system).score([CLAIM], [[]], [0], [["Atlantis"]])
    assert MIN_LOG_PROBABILITY <= scores["Atlantis"] < 0.0


def test_a_long_title_is_scored_by_its_beginning(system: Admiral) -> None:
    (scores,) = scorer(system).score([CLAIM], [[]], [0], [["very " * 2000]])
    assert all(math.isfinite(score) for score in scores.values())


@pytest.mark.parametrize("variant", ["top-1", "not-joint"])
def test_variants_of_the_method_have_scores_too(system: Admiral, variant: str) -> None:
    (scores,) = scorer(system, variant=variant).score([CLAIM], [EVIDENCE], [2], [NAMES])
    assert set(scores) == set(NAMES)
    assert all(MIN_LOG_PROBABILITY <= score <= 1e-6 for score in scores.values())
