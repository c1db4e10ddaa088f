"""What is read next, and what is kept of a hop."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from admiral.records import Claim, DocumentSet, Hop, ScoredTitle, Sentence
from admiral.retrieval.state import Progress

TITLES = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


def progress(candidates: list[str]) -> Progress:
    return Progress(Claim("1", "A claim."), [ScoredTitle(t, 0.0) for t in candidates])


def hop(number: int, evidence: list[Sentence]) -> Hop:
    return Hop(number, (), tuple(evidence), None, False, 0.0)


def test_the_first_hop_reads_candidates_and_keeps_their_order() -> None:
    one = progress(["a", "b", "c", "d"])
    assert one.to_read(2) == ["a", "b"]
    assert (one.evidence, one.mentioned, one.kept()) == ((), [], [])
    one.note_read([Sentence("b", 0, "x", 2.0), Sentence("a", 3, "y", 1.0), Sentence("b", 1, "z")])
    assert one.read == [["b", "a"]]
    assert [s.titles for s in one.sets[0]] == [("b",), ("a",), ("c",), ("d",)]


def test_later_hops_read_evidence_then_sets_mentions_and_candidates_by_turns() -> None:
    one = progress(["a", "b", "c"])
    evidence = [Sentence("e", 0, "x"), Sentence("a", 0, "y"), Sentence("a", 1, "z")]
    one.note_read(evidence)
    one.hops.append(hop(1, evidence))
    one.linked.append(["m", "a", "n"])
    one.sets.append([DocumentSet(("a", "s"), -1.0), DocumentSet(("e", "t"), -2.0)])
    assert one.to_read(10) == ["e", "a", "m", "s", "b", "n", "c", "t"]
    assert one.to_read(4) == ["e", "a", "m", "s"]
    assert one.to_read(1) == ["e", "a", "m"]  # one beside the evidence at the least
    assert one.kept() == [evidence[1]]  # the best sentence of what the best set keeps
    one.note_read([Sentence("s", 0, "x")])
    assert one.read[1] == ["s"]
    assert len(one.sets) == 2  # only the first hop makes its own


def test_what_is_supposed_or_left_out_changes_nothing() -> None:
    one = progress(["a", "b"])
    assert one.until(1) == one
    first = [Sentence("b", 0, "x", 2.0), Sentence("a", 0, "y", 1.0)]
    supposed = one.supposing(first, (first[1],), ["m"])
    assert one == progress(["a", "b"])
    assert (supposed.evidence, supposed.mentioned) == ((first[1],), ["m"])
    assert supposed.read == [["b", "a"]] and supposed.best == [{"b": 2.0, "a": 1.0}]
    assert [s.titles for s in supposed.sets[0]] == [("b",), ("a",)]
    supposed.sets.append([DocumentSet(("c",), -1.0)])
    second = [Sentence("c", 0, "z", 1.0)]
    further = supposed.supposing(second, tuple(second), [])
    assert [h.number for h in further.hops] == [1, 2]
    assert further.until(2) == further
    assert further.until(1) == replace(supposed, sets=supposed.sets[:1])


@given(TITLES, TITLES, TITLES, st.integers(1, 9))
def test_nothing_is_read_twice_or_forgotten(
    candidates: list[str], read: list[str], mentioned: list[str], count: int
) -> None:
    one = progress(candidates)
    evidence = [Sentence(t, 0, "x") for t in read]
    one.note_read(evidence)
    one.hops.append(hop(1, evidence))
    one.linked.append(mentioned)
    one.sets.append([])
    found = one.to_read(count)
    assert len(found) == len(set(found)) <= max(count, len(read) + 1)
    assert found[: len(read)] == read
    assert set(one.to_read(100)) == {*candidates, *read, *mentioned}
