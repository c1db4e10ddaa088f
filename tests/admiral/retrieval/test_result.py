"""Results of finished searches, from fake states."""

import pytest

from admiral.records import Claim, ScoredTitle, Sentence
from admiral.retrieval.result import build_result, cut_claim_warnings, ranked_documents
from admiral.retrieval.state import SearchState
from tests.admiral.retrieval.fakes import (
    FakeDocumentScorer,
    FakeReranker,
    fake_stages,
    small_config,
)


class Words:
    """A tokenizer whose tokens are words."""

    def encode_with_offsets(self, text):
        spans, start = [], 0
        for word in text.split(" "):
            spans.append((start, start + len(word)))
            start += len(word) + 1
        return [0] * len(spans), spans


def one_hop():
    state = SearchState(Claim("7", "one two three"), [ScoredTitle(t, 1.0) for t in "abc"])
    sentences = [Sentence("b", 0, "B.", 2.0), Sentence("a", 0, "A.", 1.0)]
    state = state.with_record(state.reading(sentences, (sentences[0],)))
    state.stopped = "max_hops"
    return state


def test_a_result_holds_the_ranked_documents_and_the_last_evidence():
    state = one_hop()
    result = build_result(state, fake_stages(), small_config(top_k=2), Words())
    assert result.claim == state.claim
    assert [d.title for d in result.documents] == ["a", "b"]
    assert result.evidence == state.evidence
    assert result.hops == tuple(state.hops)
    assert (result.stopped, result.warnings) == ("max_hops", ())


def test_the_document_scorer_ranks_last():
    config = small_config()
    by_votes = ranked_documents(one_hop(), config, None)
    scorer = FakeDocumentScorer(0, 1.0)
    assert ranked_documents(one_hop(), config, scorer) == by_votes[::-1]


def test_the_setting_selects_the_rule():
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
def test_a_warning_names_the_models_that_cut_the_claim(limits, warnings):
    assert cut_claim_warnings("one two three", limits, Words()) == warnings


def test_a_warning_quotes_the_beginning_of_the_unread_part():
    (warning,) = cut_claim_warnings("a " + "b" * 61, {"x": 1}, Words())
    assert warning.endswith("cut from: '" + "b" * 60 + "…'")


def test_stages_state_the_limits():
    reranker = FakeReranker()
    reranker.claim_limits = {"the fake": 2}
    result = build_result(one_hop(), fake_stages(reranker=reranker), small_config(), Words())
    assert result.warnings == ("of the claim's 3 tokens the fake reads 2; cut from: 'three'",)
