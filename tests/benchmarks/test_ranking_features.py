"""Cross-validation of groups of features, on made-up documents."""

from __future__ import annotations

import torch

from admiral.ranking.features import FEATURES, GRAPH_FEATURES
from benchmarks.ranking_features import (
    ClaimExamples,
    cross_validated,
    shares,
    table,
    without,
)

NEAR = FEATURES.index("near_evidence")


def claims(count: int) -> list[ClaimExamples]:
    """Return claims whose gold documents differ from the others in the graph alone."""
    generator = torch.Generator().manual_seed(0)
    made = []
    for _ in range(count):
        features = torch.rand(30, len(FEATURES), generator=generator)
        gold = torch.zeros(30, dtype=torch.bool)
        gold[:2] = True
        features[:, NEAR] += 2.0 * gold
        made.append([(features, gold), (features, gold)])
    return made


def test_only_a_fit_with_the_features_of_the_graph_finds_what_they_tell() -> None:
    made = claims(10)
    with_graph = shares(made, cross_validated(made, 2, seed=0))
    plain = without(GRAPH_FEATURES, made)
    assert all(features[:, NEAR].eq(0).all() for own in plain for features, _ in own)
    blind = shares(plain, cross_validated(plain, 2, seed=0))
    assert with_graph[0] > 0.8 > 0.3 > blind[0]
    assert with_graph[:4] == with_graph[4:]  # all hops found what one hop had found
    assert with_graph[1:4] == sorted(with_graph[1:4])


def test_the_table_has_a_line_for_each_fit() -> None:
    lines = list(table(claims(4), 2, seed=0))
    assert [line.split(" | ")[0] for line in lines[2:]] == [
        "| bundled, without a graph",
        "| bundled, with a graph",
        "| fitted",
        "| fitted without the graph",
        "| fitted without the generator",
    ]
    assert {line.count("|") for line in lines} == {10}
