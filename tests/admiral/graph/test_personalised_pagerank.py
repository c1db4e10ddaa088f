"""PageRank by local pushing, against power iteration on the full matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.graph import personalised_pagerank
from admiral.graph.graph_ranking import inverse_frequency
from tests.admiral.graph.random_graphs import SmallGraph, small_graphs


def slow_pagerank(small, seeds, restart, link_weight):
    """Return the exact scores of all rows; a walk ends at documents without edges."""
    rows = len(small.pages)
    frequency = np.zeros(rows)
    for _, mentions in small.frames:
        frequency[list(mentions)] += 1
    steps = np.zeros((rows, rows))
    for page, mentions in small.frames:
        for row, kind in mentions.items():
            if row != page:
                weight = link_weight if kind == 0 else 1 / kind
                steps[page, row] += weight / np.log2(2 + frequency[row])
                steps[row, page] += weight / np.log2(2 + frequency[page])
    totals = steps.sum(axis=1, keepdims=True)
    ends = totals[:, 0] == 0
    steps = np.divide(steps, totals, where=totals > 0, out=np.zeros_like(steps))
    mass, scores = np.zeros(rows), np.zeros(rows)
    mass[list(seeds)] = np.array(list(seeds.values())) / sum(seeds.values())
    for _ in range(400):
        scores += np.where(ends, mass, restart * mass)
        mass = ((1 - restart) * np.where(ends, 0, mass)) @ steps
    return scores


def dense(ranks, rows):
    scores = np.zeros(rows)
    scores[ranks.rows] = ranks.scores
    return scores


WEIGHTS = st.dictionaries(st.integers(0, 8), st.floats(0.01, 2), min_size=1, max_size=4)


@given(
    small_graphs(),
    WEIGHTS,
    st.floats(0.2, 0.9),
    st.sampled_from([1e-1, 1e-3, 1e-7]),
    st.sampled_from([0.0, 0.5, 2.0]),
)
def test_pushing_is_within_its_bound_of_power_iteration(
    small, weights, restart, tolerance, link_weight
):
    rows = len(small.pages)
    seeds = {row % rows: weight for row, weight in weights.items()}
    graph = small.build()
    ranks = personalised_pagerank(
        graph, seeds, restart=restart, tolerance=tolerance, link_weight=link_weight
    )
    exact, scores = slow_pagerank(small, seeds, restart, link_weight), dense(ranks, rows)
    assert (scores <= exact + 1e-9).all()
    assert exact.sum() - scores.sum() == pytest.approx(ranks.residual, abs=1e-9)
    degrees = graph.mentions_within(np.arange(rows)) + graph.frequency(np.arange(rows))
    assert ranks.residual <= tolerance * np.maximum(degrees, 1).sum()
    assert ranks.edges <= 1 / (restart * tolerance)


@given(small_graphs(), WEIGHTS, st.floats(0.2, 0.9))
def test_arrivals_are_what_other_documents_lead_to(small, weights, restart):
    rows = len(small.pages)
    seeds = {row % rows: weight for row, weight in weights.items()}
    ranks = personalised_pagerank(small.build(), seeds, restart=restart, tolerance=1e-9)
    exact = slow_pagerank(small, seeds, restart, 1.0)
    for row, weight in seeds.items():
        alone = slow_pagerank(SmallGraph([[] for _ in small.pages]), {row: 1.0}, restart, 1.0)
        share = weight / sum(seeds.values())
        has_edges = any(
            page != other and row in (page, other)
            for page, mentions in small.frames
            for other in mentions
        )
        exact[row] -= share * (restart if has_edges else alone[row])
    arrivals = np.zeros(rows)
    arrivals[ranks.rows] = ranks.arrivals
    assert arrivals == pytest.approx(exact, abs=1e-6)


@given(small_graphs(), WEIGHTS)
def test_sentences_carry_what_documents_pass_on(small, weights):
    seeds = {row % len(small.pages): weight for row, weight in weights.items()}
    ranks = personalised_pagerank(small.build(), seeds, tolerance=1e-6)
    assert (ranks.flows >= 0).all()
    passing = [row for row, frame in enumerate(small.frames) if set(frame[1]) - {frame[0]}]
    assert set(ranks.frames.tolist()) <= set(passing)
    # With restart 0.5, all steps together carry at most as much as stays.
    assert ranks.flows.sum() <= 1.0


def test_without_seeds_nothing_is_scored():
    ranks = personalised_pagerank(SmallGraph([[{0: 1}]]).build(), {})
    assert len(ranks.rows) == len(ranks.frames) == ranks.edges == 0


def test_a_document_without_edges_keeps_its_mass():
    ranks = personalised_pagerank(SmallGraph([[], [{}]]).build(), {0: 3.0, 1: 1.0})
    assert ranks.scores.tolist() == [0.75, 0.25]
    assert ranks.residual == 0


def test_rare_entities_attract_more_than_common_ones():
    # Page 0 mentions 1 and 2; ten other sentences mention 2.
    graph = SmallGraph([[{1: 1, 2: 1}], [], [], [{2: 1}] * 10]).build()
    scores = dense(personalised_pagerank(graph, {0: 1.0}), 4)
    assert scores[1] > scores[2] > 0
    assert inverse_frequency(np.array([0, 2])).tolist() == [1.0, 0.5]


def test_ambiguous_mentions_count_less_than_certain_ones():
    graph = SmallGraph([[{1: 1, 2: 4}], [], []]).build()
    scores = dense(personalised_pagerank(graph, {0: 1.0}), 3)
    assert scores[1] == pytest.approx(4 * scores[2])


def test_an_entity_with_many_mentions_stays_within_the_bound():
    graph = SmallGraph([[], [{0: 1}], *([{0: 1}] for _ in range(20_000))]).build()
    ranks = personalised_pagerank(graph, {1: 1.0}, tolerance=1e-3)
    assert ranks.edges < 2_000
    assert dense(ranks, graph.rows)[0] > 0  # weighed down, not dropped
