"""Links behind the sentences that the hop retriever reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from admiral import Admiral
from admiral.records import DocumentSet, Sentence
from admiral.retrieval.hyperlinks import LinkedRetriever
from admiral.retrieval.stage_assembly import build_stages

CLAIM = "The 66th Primetime Emmy Awards was hosted by an Iraqi comedian."


@pytest.fixture
def linked(system: Admiral) -> Sentence:
    """A sentence of the demo corpus that links somewhere."""
    for row in range(len(system.kb)):
        document = system.kb.document_at(row)
        for index, links in enumerate(document.links):
            if len(links) > 1:
                return Sentence(document.title, index, document.sentences[index])
    raise AssertionError("the demo corpus has links")


class Reads:
    """Keeps the texts that it is given."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def expand(
        self, claims: Sequence[str], evidence: Sequence[Sequence[Sentence]], hop: int
    ) -> list[list[DocumentSet]]:
        self.texts = [s.text for sentences in evidence for s in sentences]
        return [[] for _ in claims]


def test_links_stand_behind_their_sentence(system: Admiral, linked: Sentence) -> None:
    reads = Reads()
    LinkedRetriever(reads, system.kb).expand([CLAIM], [[linked]], [1])
    links = system.kb.document(linked.title).links[linked.index]
    assert reads.texts == [f"{linked.text} {', '.join(links)}"]


def test_the_setting_changes_the_scores(system: Admiral, linked: Sentence) -> None:
    config = replace(system.config, hyperlinks=True)
    retriever = build_stages(system.kb, system.checkpoint, config).retriever
    found = retriever.expand([CLAIM], [[linked]], [1])
    assert found[0] and found != system.stages.retriever.expand([CLAIM], [[linked]], [1])
    assert retriever.expand([CLAIM], [()], [0]) == system.stages.retriever.expand(
        [CLAIM], [()], [0]
    )
