"""The option to read the hyperlinks of each evidence sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from admiral import Admiral
from admiral.records import Document, DocumentSet, Sentence
from admiral.retrieval.hyperlinks import HyperlinkHopRetriever
from admiral.retrieval.stage_assembly import build_stages

CLAIM = "The 66th Primetime Emmy Awards was hosted by an Iraqi comedian."


class LinkedDocuments:
    """Documents whose first sentence has two links; "Plain" has none."""

    def document(self, title: str) -> Document:
        links = () if title == "Plain" else (("Rome", "Paris"), ())
        return Document(title, ("One.", "Two."), links)


class Recorder:
    """Record the texts of the evidence."""

    max_evidence = 7

    def __init__(self) -> None:
        self.texts: list[str] = []

    def expand(
        self, claims: Sequence[str], evidence: Sequence[Sequence[Sentence]], hops: Sequence[int]
    ) -> list[list[DocumentSet]]:
        self.texts = [s.text for sentences in evidence for s in sentences]
        return [[] for _ in claims]


def test_links_are_appended_to_their_sentence() -> None:
    recorder = Recorder()
    retriever = HyperlinkHopRetriever(recorder, LinkedDocuments())
    sentences = [Sentence("A", 0, "One."), Sentence("A", 1, "Two."), Sentence("Plain", 0, "One.")]
    retriever.expand([CLAIM], [sentences], [1])
    assert recorder.texts == ["One. Rome, Paris", "Two.", "One."]


def test_the_limits_are_those_of_the_retriever() -> None:
    retriever = HyperlinkHopRetriever(Recorder(), LinkedDocuments())
    assert (retriever.max_evidence, retriever.claim_limits) == (7, {})


def test_the_setting_changes_the_scores(quick: Admiral) -> None:
    """End to end, on a sentence of the demo corpus with links."""
    documents = (quick.kb.document_at(row) for row in range(len(quick.kb)))
    linked = next(
        Sentence(document.title, index, document.sentences[index])
        for document in documents
        for index, links in enumerate(document.links)
        if len(links) > 1
    )
    with_links = build_stages(
        quick.kb, quick.checkpoint, replace(quick.config, hyperlinks=True)
    ).hop_retriever
    without = quick.stages.hop_retriever
    (document_sets,) = with_links.expand([CLAIM], [[linked]], [1])
    assert document_sets
    assert [document_sets] != without.expand([CLAIM], [[linked]], [1])
    assert with_links.expand([CLAIM], [()], [0]) == without.expand([CLAIM], [()], [0])
