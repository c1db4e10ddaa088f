"""What the next hop reads, and what is kept of each hop."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.records import Claim, DocumentSet, Hop, ScoredTitle, Sentence
from admiral.retrieval.state import (
    NextStep,
    SearchState,
    build_result,
    cut_claim_warnings,
    ranked_documents,
)
from tests.admiral.retrieval.fakes import (
    FakeDocumentScorer,
    FakeReranker,
    fake_stages,
    small_config,
)

TITLES = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


def new_state(candidates: list[str]) -> SearchState:
    return SearchState(Claim("1", "A claim."), [ScoredTitle(t, 0.0) for t in candidates])


def hop(number: int, evidence: list[Sentence]) -> Hop:
    return Hop(number, (), tuple(evidence), None, False, 0.0)


def test_the_first_hop_reads_the_candidates_and_sorts_them_by_their_best_sentences() -> None:
    state = new_state(["a", "b", "c", "d"])
    assert state.titles_to_read(2) == ["a", "b"]
    assert (state.evidence, state.next_titles, state.kept_sentences()) == ((), [], [])
    sentences = [Sentence("b", 0, "x", 2.0), Sentence("a", 3, "y", 1.0), Sentence("b", 1, "z")]
    state.record_reading(sentences)
    assert state.read == [["b", "a"]]
    assert [s.titles for s in state.document_sets[0]] == [("b",), ("a",), ("c",), ("d",)]


def test_later_hops_read_the_evidence_then_sets_mentions_and_candidates_interleaved() -> None:
    state = new_state(["a", "b", "c"])
    evidence = [Sentence("e", 0, "x"), Sentence("a", 0, "y"), Sentence("a", 1, "z")]
    state.record_reading(evidence)
    state.hops.append(hop(1, evidence))
    state.mentioned.append(["m", "a", "n"])
    state.document_sets.append([DocumentSet(("a", "s"), -1.0), DocumentSet(("e", "t"), -2.0)])
    assert state.titles_to_read(10) == ["e", "a", "m", "s", "b", "n", "c", "t"]
    assert state.titles_to_read(4) == ["e", "a", "m", "s"]
    assert state.titles_to_read(1) == ["e", "a", "m"]  # at least one besides the evidence
    assert state.kept_sentences() == [evidence[1]]  # the best sentence of each kept document
    state.record_reading([Sentence("s", 0, "x")])
    assert state.read[1] == ["s"]
    assert len(state.document_sets) == 2  # only the first hop adds its own


def test_copies_leave_the_state_unchanged() -> None:
    state = new_state(["a", "b"])
    assert state.first_hops(1) == state
    first = [Sentence("b", 0, "x", 2.0), Sentence("a", 0, "y", 1.0)]
    one_hop = state.with_hop(first, (first[1],), ["m"])
    assert state == new_state(["a", "b"])
    assert (one_hop.evidence, one_hop.next_titles) == ((first[1],), ["m"])
    assert one_hop.read == [["b", "a"]]
    assert one_hop.best_scores == [{"b": 2.0, "a": 1.0}]
    assert one_hop.next_step is NextStep.EXPAND
    assert [s.titles for s in one_hop.document_sets[0]] == [("b",), ("a",)]
    one_hop.document_sets.append([DocumentSet(("c",), -1.0)])
    second = [Sentence("c", 0, "z", 1.0)]
    two_hops = one_hop.with_hop(second, tuple(second), [])
    assert [h.number for h in two_hops.hops] == [1, 2]
    assert two_hops.first_hops(2) == two_hops
    assert two_hops.first_hops(1) == replace(one_hop, document_sets=one_hop.document_sets[:1])


@given(TITLES, TITLES, TITLES, st.integers(1, 9))
def test_every_title_is_read_once(
    candidates: list[str], in_evidence: list[str], mentioned: list[str], count: int
) -> None:
    state = new_state(candidates)
    evidence = [Sentence(t, 0, "x") for t in in_evidence]
    state.record_reading(evidence)
    state.hops.append(hop(1, evidence))
    state.mentioned.append(mentioned)
    state.document_sets.append([])
    titles = state.titles_to_read(count)
    assert len(titles) == len(set(titles)) <= max(count, len(in_evidence) + 1)
    assert titles[: len(in_evidence)] == in_evidence
    assert set(state.titles_to_read(100)) == {*candidates, *in_evidence, *mentioned}


def test_documents_of_the_graph_are_interleaved_last() -> None:
    state = new_state(["a", "b"])
    evidence = [Sentence("e", 0, "x")]
    state.record_reading(evidence)
    state.hops.append(hop(1, evidence))
    state.mentioned.append(["m"])
    state.document_sets.append([DocumentSet(("e", "s"), -1.0)])
    without = state.titles_to_read(10)
    assert without == ["e", "m", "a", "s", "b"]
    state.graph_titles = ["g", "b", "h"]
    assert state.titles_to_read(10) == ["e", "m", "a", "g", "s", "b", "h"]


class Words:
    """A tokenizer whose tokens are words."""

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        spans, start = [], 0
        for word in text.split(" "):
            spans.append((start, start + len(word)))
            start += len(word) + 1
        return [0] * len(spans), spans


def one_hop() -> SearchState:
    state = SearchState(Claim("7", "one two three"), [ScoredTitle(t, 1.0) for t in "abc"])
    sentences = [Sentence("b", 0, "B.", 2.0), Sentence("a", 0, "A.", 1.0)]
    state = state.with_hop(sentences, (sentences[0],), [])
    state.stopped = "max_hops"
    return state


def test_a_result_holds_the_ranked_documents_and_the_last_evidence() -> None:
    state = one_hop()
    result = build_result(state, fake_stages(), small_config(top_k=2), Words())  # type: ignore[arg-type]
    assert result.claim == state.claim
    assert [d.title for d in result.documents] == ["a", "b"]
    assert result.evidence == state.evidence
    assert result.hops == tuple(state.hops)
    assert (result.stopped, result.warnings) == ("max_hops", ())


def test_the_document_scorer_ranks_last() -> None:
    config = small_config()
    by_votes = ranked_documents(one_hop(), config, None)
    scorer = FakeDocumentScorer(0, 1.0)
    assert ranked_documents(one_hop(), config, scorer) == by_votes[::-1]


def test_the_setting_selects_the_rule() -> None:
    last_hop = ranked_documents(one_hop(), small_config(ranking="last-hop"), None)
    assert [(d.title, d.hop, d.score) for d in last_hop] == [
        ("b", 1, 1.0),
        ("a", 1, 1.0),
        ("c", 1, 1.0),
    ]
    assert last_hop != ranked_documents(one_hop(), small_config(), None)


@pytest.mark.parametrize(
    ("limits", "warnings"),
    [
        ({}, ()),
        ({"x": 3}, ()),
        ({"x": 2, "y": 3}, ("of the claim's 3 tokens x reads 2; cut from: 'three'",)),
        (
            {"x": 2, "y": 1},
            ("of the claim's 3 tokens y reads 1, x reads 2; cut from: 'two three'",),
        ),
    ],
)
def test_a_warning_names_the_models_that_cut_the_claim(
    limits: dict[str, int], warnings: tuple[str, ...]
) -> None:
    assert cut_claim_warnings("one two three", limits, Words()) == warnings  # type: ignore[arg-type]


def test_a_warning_quotes_the_beginning_of_the_unread_part() -> None:
    (warning,) = cut_claim_warnings("a " + "b" * 61, {"x": 1}, Words())  # type: ignore[arg-type]
    assert warning.endswith("cut from: '" + "b" * 60 + "…'")


def test_stages_state_the_limits() -> None:
    reranker = FakeReranker()
    reranker.claim_limits = {"the fake": 2}  # type: ignore[attr-defined]
    result = build_result(one_hop(), fake_stages(reranker=reranker), small_config(), Words())  # type: ignore[arg-type]
    assert result.warnings == ("of the claim's 3 tokens the fake reads 2; cut from: 'three'",)
