"""What the next hop reads, and what is kept of each hop."""

from copy import deepcopy
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from admiral.records import Claim, DocumentSet, ScoredTitle, Sentence
from admiral.retrieval.state import SearchState

TITLES = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


def new_state(candidates):
    return SearchState(Claim("1", "A claim."), [ScoredTitle(t, 0.0) for t in candidates])


def after_hop(state, evidence, mentioned):
    record = state.add_hop(evidence)
    record.hop = replace(record.hop, evidence=tuple(evidence))
    record.leading, record.mentioned = evidence, mentioned
    return state


def test_the_first_hop_reads_the_candidates_and_sorts_them_by_their_best_sentences():
    state = new_state(["a", "b", "c", "d"])
    assert state.titles_to_read(2) == ["a", "b"]
    assert (state.evidence, state.next_titles, state.kept_sentences()) == ((), (), [])
    sentences = [Sentence("b", 0, "x", 2.0), Sentence("a", 3, "y", 1.0), Sentence("b", 1, "z")]
    record = state.add_hop(sentences)
    assert record.hop.read == ("b", "a")
    assert record.best_scores == {"b": 2.0, "a": 1.0}
    assert [s.titles for s in record.document_sets] == [("b",), ("a",), ("c",), ("d",)]


def test_later_hops_read_the_evidence_then_sets_mentions_and_candidates_interleaved():
    evidence = [Sentence("e", 0, "x"), Sentence("a", 0, "y"), Sentence("a", 1, "z")]
    state = after_hop(new_state(["a", "b", "c"]), evidence, ["m", "a", "n"])
    state.next_sets = [DocumentSet(("a", "s"), -1.0), DocumentSet(("e", "t"), -2.0)]
    assert state.titles_to_read(10) == ["e", "a", "m", "s", "b", "n", "c", "t"]
    assert state.titles_to_read(4) == ["e", "a", "m", "s"]
    assert state.titles_to_read(1) == ["e", "a", "m"]  # at least one besides the evidence
    assert state.kept_sentences() == [evidence[1]]  # the best sentence of each kept document
    sets = state.next_sets
    record = state.add_hop([Sentence("s", 0, "x")])
    assert (record.hop.number, record.hop.read) == (2, ("s",))
    assert (record.document_sets, state.next_sets) == (sets, [])


def test_copies_leave_the_state_unchanged():
    state = new_state(["a", "b"])
    assert state.first_hops(1) == state
    first = [Sentence("b", 0, "x", 2.0), Sentence("a", 0, "y", 1.0)]
    after_hop(state, first, ["m"])
    assert (state.evidence, state.next_titles) == (tuple(first), ["m"])
    one_hop = deepcopy(state)
    sets = state.next_sets = [DocumentSet(("a", "c"), -1.0)]
    after_hop(state, [Sentence("c", 0, "z", 1.0)], [])
    assert [h.number for h in state.hops] == [1, 2]
    assert state.first_hops(1) == one_hop
    assert state.first_hops(2).records == state.records
    assert state.before_reading(1) == replace(one_hop, next_sets=sets)
    assert state.before_reading(1).kept_sentences() == [first[1]]
    assert state.before_reading(0).kept_sentences() == []


@given(TITLES, TITLES, TITLES, st.integers(1, 9))
def test_every_title_is_read_once(candidates, in_evidence, mentioned, count):
    evidence = [Sentence(t, 0, "x") for t in in_evidence]
    state = after_hop(new_state(candidates), evidence, mentioned)
    titles = state.titles_to_read(count)
    assert len(titles) == len(set(titles)) <= max(count, len(in_evidence) + 1)
    assert titles[: len(in_evidence)] == in_evidence
    assert set(state.titles_to_read(100)) == {*candidates, *in_evidence, *mentioned}


def test_documents_of_the_graph_are_interleaved_last():
    state = after_hop(new_state(["a", "b"]), [Sentence("e", 0, "x")], ["m"])
    state.next_sets = [DocumentSet(("e", "s"), -1.0)]
    without = state.titles_to_read(10)
    assert without == ["e", "m", "a", "s", "b"]
    state.graph_titles = ["g", "b", "h"]
    assert state.titles_to_read(10) == ["e", "m", "a", "g", "s", "b", "h"]
