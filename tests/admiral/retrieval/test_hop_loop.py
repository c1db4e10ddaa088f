"""What a hop takes for evidence, by the sentences and by what is known of their documents."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from admiral import Admiral, RetrievalResult
from admiral.ranking.document_scorer import Relevance
from admiral.ranking.features import CLUES
from proofs.judges.network import Unit

CLAIM = "Gladiator and Blade Runner are films that Ridley Scott directed."
NAMED = {"Gladiator (2000 film)", "Blade Runner", "Ridley Scott"}


@pytest.fixture
def asked(quick: Admiral, tmp_path: Path) -> dict[str, RetrievalResult]:
    """The claim by the votes, by documents that it names, and by those that it does not name."""
    answers = {"votes": replace(quick.config, ranking="fused")}
    for name, vote in (("for", 1.0), ("against", -1.0)):
        weights = Relevance((Unit(vote, 0.0, dict.fromkeys(CLUES, 0.0) | {"named": 1.0}),))
        path = tmp_path / f"{name}.json"
        path.write_text(weights.to_json())
        answers[name] = replace(quick.config, ranking_weights=str(path))
    return {
        name: Admiral(quick.kb, quick.checkpoint, config).retrieve(CLAIM, hops=2)
        for name, config in answers.items()
    }


def test_evidence_is_of_documents_that_the_weights_prefer(
    asked: dict[str, RetrievalResult],
) -> None:
    for at in range(2):
        shown = {
            name: {s.title for s in result.hops[at].evidence} & NAMED
            for name, result in asked.items()
        }
        assert shown["against"] < shown["for"]
        assert shown["against"] <= shown["votes"] <= shown["for"]
    for result in asked.values():
        for hop in result.hops:
            assert len(hop.evidence) == 5
            scores = [s.score for s in hop.evidence]
            assert scores == sorted(scores, reverse=True)
            assert len(set(hop.read)) == len(hop.read)


def test_what_is_read_at_the_first_hop_does_not_depend_on_the_weights(
    asked: dict[str, RetrievalResult],
) -> None:
    reads = {result.hops[0].read for result in asked.values()}
    assert len(reads) == 1
