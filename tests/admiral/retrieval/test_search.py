"""The hop loop with fake stages: what each stage is given, when claims stop, and how errors end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from admiral import AdmiralError
from admiral.records import Claim, DocumentSet, Proximity, Sentence
from admiral.retrieval.document_ranking import FEATURES, ranked_documents
from admiral.retrieval.search import Search, checked_scores
from admiral.retrieval.stage_assembly import Stages
from admiral.retrieval.state import SearchState
from proofs import Judgement, Verdict
from tests.admiral.retrieval.fakes import (
    FakeDocumentReader,
    FakeDocumentScorer,
    FakeFirstStage,
    FakeGraphProximity,
    FakeHopRetriever,
    FakeJudge,
    FakeMentionFinder,
    FakeReranker,
    fake_stages,
    small_config,
)

# Each hop finds a better document than the one before.
RISING = {"new1": 9, "new2": 19, "new3": 29}


def run(stages: Stages, text: str = "A claim.", **settings: Any) -> SearchState:
    """Search for a claim."""
    (state,) = Search(stages, small_config(**settings)).run([Claim("1", text)])
    return state


def titles(sentences: tuple[Sentence, ...]) -> list[str]:
    return [sentence.title for sentence in sentences]


def test_the_first_hop_reads_candidates_and_later_hops_read_document_sets() -> None:
    reranker = FakeReranker({"a": 1, "b": 5, "c": 3, "new1": 9})
    state = run(fake_stages(reranker=reranker), hops="2", rerank_documents=4)
    first, second = state.hops
    assert [s.titles for s in first.document_sets] == [("b",), ("c",), ("a",)]
    assert first.read == ("b", "c", "a")
    assert titles(first.evidence) == ["b", "c"]
    assert [s.titles for s in second.document_sets] == [("b", "new1")]
    assert titles(second.evidence) == ["new1", "b"]
    (_, read1, kept1), (_, read2, kept2) = reranker.calls
    assert read1 == [["a", "b", "c"]]
    assert kept1 == [[]]
    assert read2 == [["b", "c", "a", "new1"]]
    assert kept2 == [[first.evidence[0]]]  # the best sentence of the set's kept document
    assert state.stopped == "max_hops"


@pytest.mark.parametrize(
    ("settings", "sufficient_from", "hops", "stopped"),
    [
        ({"hops": "dynamic"}, 1, 2, "sufficient"),  # min_hops is 2 by default
        ({"hops": "dynamic", "min_hops": 1}, 1, 1, "sufficient"),
        ({"hops": "dynamic"}, 3, 3, "sufficient"),
        ({"hops": "dynamic", "max_hops": 3}, 99, 3, "max_hops"),
        ({"hops": "dynamic", "max_hops": 1}, 1, 1, "sufficient"),
        ({"hops": "3"}, 1, 3, "max_hops"),  # a fixed number ignores the judge
        ({"hops": "1"}, 99, 1, "max_hops"),
        ({"hops": "0"}, 1, 0, "max_hops"),
    ],
)
def test_when_a_claim_stops(
    settings: dict[str, Any], sufficient_from: int, hops: int, stopped: str
) -> None:
    stages = fake_stages(judge=FakeJudge(sufficient_from), reranker=FakeReranker(RISING))
    state = run(stages, **settings)
    assert (len(state.hops), state.stopped) == (hops, stopped)


def test_a_hop_shows_as_many_document_sets_as_the_beam_holds() -> None:
    state = run(fake_stages(), hops="1", beam_size=2)
    (record,) = state.records
    assert record.hop.document_sets == tuple(record.document_sets[:2])
    assert len(record.document_sets) == 3


def test_a_hop_that_changes_nothing_ends_a_dynamic_search() -> None:
    repeating = FakeReranker({"a": 9, "b": 8})
    state = run(fake_stages(judge=FakeJudge(99), reranker=repeating), hops="dynamic")
    assert (len(state.hops), state.stopped) == (2, "dead_end")
    changed = run(fake_stages(judge=FakeJudge(99), reranker=repeating), hops="4")
    assert (len(changed.hops), changed.stopped) == (4, "max_hops")


def test_later_hops_build_on_the_leading_sentences_of_a_long_claim() -> None:
    claim = "Aster Birch Cedar Dahlia Elder Fern Gorse Holly Iris Juniper Kalmia Larch."
    reranker, seen = FakeReranker({"a": 3, "b": 9, "c": 5}), []

    class Retriever(FakeHopRetriever):
        def expand(self, claims, evidence, hops):
            seen.append([titles(tuple(own)) for own in evidence])
            return super().expand(claims, evidence, hops)

    stages = fake_stages(reranker=reranker, hop_retriever=Retriever())
    state = run(stages, claim, hops="2", evidence=1, max_evidence=3)
    assert titles(state.hops[0].evidence) == ["b", "c", "a"]
    assert seen == [[["b"]]]
    assert reranker.calls[1][2] == [[state.hops[0].evidence[0]]]
    judged = stages.judge.calls[0][1]
    assert [title for title, _ in judged[0]] == ["b", "c", "a"]


class CertainJudge:
    """Supports every claim with some confidence, and by one sentence alone with another."""

    def __init__(self, confidence: float, alone: float | None = None) -> None:
        self._alone = alone
        self._shares = {
            Verdict.SUPPORTS: confidence,
            Verdict.REFUTES: 1 - confidence,
            Verdict.NOT_ENOUGH_INFO: 0.0,
        }

    def judge(
        self, claims: Sequence[str], evidence: Sequence[Sequence[tuple[str, str]]]
    ) -> list[Judgement]:
        return [Judgement.decided(self._shares, 0.7, alone=self._alone) for _ in claims]


@pytest.mark.parametrize(("alone", "hops"), [(0.61, 1), (0.6, 1), (0.59, 2), (None, 2)])
def test_one_sentence_that_decides_alone_stops_the_first_hop(
    alone: float | None, hops: int
) -> None:
    state = run(fake_stages(judge=CertainJudge(0.99, alone=alone)), hops="dynamic")
    assert (len(state.hops), state.stopped) == (hops, "sufficient")


def test_stages_are_reported_when_they_begin() -> None:
    reported: list[tuple[str, list[str]]] = []

    def report(text: str, claims: Sequence[Claim]) -> None:
        reported.append((text, [claim.text for claim in claims]))

    stages = fake_stages(judge=FakeJudge(99), reranker=FakeReranker(RISING))
    search = Search(stages, small_config(hops="2"), report)
    search.run([Claim("1", "A claim.")])
    assert [text for text, _ in reported] == [
        "Hop 1: searching for candidates",
        "Hop 1: reading 3 documents",
        "Hop 1: judging the evidence",
        "Hop 2: generating documents",
        "Hop 2: reading 3 documents",
        "Hop 2: judging the evidence",
    ]
    del reported[:]
    search.run([Claim("1", "A claim."), Claim("2", "Another.")])
    assert reported[-1] == ("2 claims: judging the evidence", ["A claim.", "Another."])


def test_without_hops_documents_keep_the_order_of_the_first_stage() -> None:
    reranker, judge = FakeReranker({"c": 9}), FakeJudge(1)
    stages = fake_stages(reranker=reranker, judge=judge, document_scorer=FakeDocumentScorer(0, 1.0))
    state = run(stages, hops="0")
    documents = ranked_documents(state, small_config(), stages.document_scorer)
    expected = [(each.title, each.score, 0) for each in state.candidates or ()]
    assert [(d.title, d.score, d.hop) for d in documents] == expected
    assert [title for title, _, _ in expected] == ["a", "b", "c"]
    assert (state.evidence, reranker.calls) == ((), [])


def test_no_document_set_is_a_dead_end_that_keeps_the_hops_before() -> None:
    state = run(fake_stages(hop_retriever=FakeHopRetriever(dead_end_at=2), judge=FakeJudge(99)))
    assert (len(state.hops), state.stopped) == (2, "dead_end")
    assert state.evidence == state.hops[1].evidence != ()


def test_without_a_generator_hops_read_mentions_and_candidates() -> None:
    reranker = FakeReranker({"a": 5, "b": 4, "c": 3, "m": 9})
    stages = fake_stages(reranker=reranker, hop_retriever=None, mention_finder=FakeMentionFinder())
    state = run(stages, hops="3", generator=False, rerank_documents=4)
    assert (len(state.hops), state.stopped) == (3, "max_hops")
    assert [len(hop.document_sets) for hop in state.hops] == [3, 0, 0]
    assert [titles(hop.evidence) for hop in state.hops] == [["a", "b"], ["m", "a"], ["m", "a"]]
    (_, _, kept1), (_, read2, kept2), (_, read3, kept3) = reranker.calls
    assert read2 == [["a", "b", "m", "c"]]  # evidence, then mentions and candidates in turn
    assert read3 == [["m", "a", "b", "c"]]
    assert [kept1, kept2] == [[[]], [[state.hops[0].evidence[0]]]]  # one document a completed hop
    assert kept3 == [list(state.hops[1].evidence)]
    documents = ranked_documents(state, small_config(generator=False), None)
    assert {document.title for document in documents} == set("abcm")


def test_no_candidate_is_a_dead_end() -> None:
    state = run(fake_stages(first_stage=FakeFirstStage("")))
    assert (len(state.hops), state.stopped, state.evidence) == (1, "dead_end", ())


def test_claims_leave_the_batch_as_they_stop() -> None:
    class Judge(FakeJudge):
        def judge(self, claims, evidence):
            judgements = super().judge(claims, evidence)
            return [
                replace(each, sufficient=claim != "long")
                for each, claim in zip(judgements, claims, strict=True)
            ]

    retriever, reranker = FakeHopRetriever(dead_end_at=3), FakeReranker(RISING)
    stages = fake_stages(hop_retriever=retriever, reranker=reranker, judge=Judge(99))
    search = Search(stages, small_config(hops="dynamic"))
    states = search.run([Claim("1", "short"), Claim("2", "long"), Claim("3", "short")])
    assert [len(state.hops) for state in states] == [2, 3, 2]
    assert [state.stopped for state in states] == ["sufficient", "dead_end", "sufficient"]
    assert retriever.calls[-1] == (["long"], [3])
    assert [len(texts) for texts, _, _ in reranker.calls] == [3, 3, 1]


def test_the_claim_is_searched_for_mentions_once() -> None:
    finder, first_stage = FakeMentionFinder(), FakeFirstStage()
    stages = fake_stages(mention_finder=finder, first_stage=first_stage, judge=FakeJudge(99))
    state = run(stages, "all about xy", hops="3", first_stage_documents=2)
    assert finder.texts == ["all about xy"]
    assert first_stage.calls == [(["all about xy"], [["x", "y"]], 2)]
    assert state.claim_mentions == ["x", "y"]
    assert [record.mentioned for record in state.records] == [["m"]] * 3
    assert finder.evidence_calls == 3  # once per hop, without a document scorer
    assert "m" in state.hops[1].read


def test_mentioned_documents_gain_at_the_next_hop() -> None:
    reranker = FakeReranker({"a": 1.0, "b": 0.9, "m": 0.8})
    without = run(fake_stages(reranker=reranker), hops="2", rerank_documents=5)
    assert titles(without.evidence) == ["a", "b"]
    stages = fake_stages(reranker=reranker, mention_finder=FakeMentionFinder())
    assert titles(run(stages, hops="2", rerank_documents=5).evidence)[0] == "m"


@pytest.mark.parametrize(("weight", "expected"), [(1.0, {"a", "x"}), (-1.0, {"b", "c"})])
def test_evidence_comes_from_documents_that_the_scorer_prefers(
    weight: float, expected: set[str]
) -> None:
    scorer = FakeDocumentScorer(FEATURES.index("named"), weight)
    stages = fake_stages(
        first_stage=FakeFirstStage("abcx"),
        mention_finder=FakeMentionFinder(),
        document_scorer=scorer,
        reranker=FakeReranker({"a": 0.3, "b": 0.2, "c": 0.1}),
    )
    state = run(stages, "about ax", hops="1", rerank_documents=4)
    assert set(titles(state.evidence)) == expected
    scores = [sentence.score for sentence in state.evidence]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(("most", "expected"), [(3, ""), (4, "b"), (5, "bm"), (9, "bm")])
def test_openings_of_named_documents_complete_the_evidence(most: int, expected: str) -> None:
    class LaterFirst(FakeReranker):
        def _scored(self, documents):  # type: ignore[no-untyped-def]
            later = [replace(s, score=s.score + 2 * s.index) for s in super()._scored(documents)]
            return sorted(later, key=lambda s: -s.score)

    reranker = LaterFirst({"b": 1.0, "m": 0.7, "a": 0.5})
    stages = fake_stages(
        first_stage=FakeFirstStage("abm"), mention_finder=FakeMentionFinder(), reranker=reranker
    )
    state = run(stages, "about b", hops="1", evidence=3, max_evidence=most)
    assert [s.key for s in state.leading] == [("b", 2), ("m", 2), ("a", 2)]
    assert [s.key for s in state.evidence[3:]] == [(title, 0) for title in expected]


@pytest.mark.parametrize(("weight", "expected"), [(0.0, ["a", "b"]), (1.0, ["a", "c"])])
def test_proximity_in_the_graph_counts_for_the_choice_of_evidence(
    weight: float, expected: list[str]
) -> None:
    stages = fake_stages(
        graph=FakeGraphProximity({"c": Proximity(-1.0, 0.0)}),
        document_scorer=FakeDocumentScorer(FEATURES.index("near_evidence"), weight),
        reranker=FakeReranker({"a": 0.3, "b": 0.2, "c": 0.1}),
    )
    assert titles(run(stages, hops="1").evidence) == expected


def test_numbers_of_other_types_become_floats_and_floats_stay() -> None:
    whole, single = Sentence("A", 0, "a", 2), Sentence("A", 1, "b", np.float32(0.5))  # type: ignore[arg-type]
    checked = checked_scores("reranker", [whole, single])
    assert [(s.key, s.score, type(s.score)) for s in checked] == [
        (("A", 0), 2.0, float),
        (("A", 1), 0.5, float),
    ]
    assert checked_scores("reranker", checked)[0] is checked[0]


def test_entries_with_minus_infinity_are_left_out() -> None:
    sets = [DocumentSet(("A",), -1.0), DocumentSet(("B",), -math.inf)]
    assert checked_scores("hop_retriever", sets) == sets[:1]
    assert checked_scores("hop_retriever", sets[1:]) == []


def test_an_invalid_score_of_a_stage_is_an_error() -> None:
    with pytest.raises(AdmiralError, match=r"stage 'reranker': a score is nan, of .*'b'"):
        run(fake_stages(reranker=FakeReranker({"b": math.nan})))


def test_the_document_reader_chooses_what_hops_read() -> None:
    reader = FakeDocumentReader(second_only=True)
    reranker = FakeReranker({"a": 1, "b": 5, "c": 3, "new1": 9})
    state = run(fake_stages(reranker=reranker, document_reader=reader), hops="2")
    first, _ = state.hops
    assert reader.calls == [
        (["A claim."], [[]], [["a", "b", "c"]]),
        (["A claim."], [[first.evidence[0]]], [["b", "c", "a"]]),
    ]
    assert {sentence.index for hop in state.hops for sentence in hop.evidence} == {1}
