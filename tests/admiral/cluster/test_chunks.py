"""The retry queue under any order of successes and failures."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.cluster.distributed_retrieval import Chunk, FailedClaim, RetryQueue
from admiral.records import Claim


def claims(count):
    return [Claim(f"c{number}", f"Claim {number}.") for number in range(count)]


def record(claim):
    return {"id": claim.id}


@given(data=st.data())
def test_every_claim_gets_one_outcome_in_order_and_only_bad_claims_fail(data):
    count = data.draw(st.integers(0, 40))
    size, workers = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 4))
    ahead, attempts = size + data.draw(st.integers(0, 20)), data.draw(st.integers(1, 3))
    bad = data.draw(st.sets(st.integers(0, max(count - 1, 0))))
    # Number of chunks of good claims that fail because their node dies.
    losses = data.draw(st.integers(0, 5))
    queue = RetryQueue(claims(count), size=size, ahead=ahead, attempts=attempts)
    outcomes = []
    busy = []
    single = Counter()
    lost_single = Counter()
    while not queue.done:
        while len(busy) < workers and (chunk := queue.take()):
            assert len(chunk.claims) <= size
            assert chunk.first + len(chunk.claims) <= len(outcomes) + ahead
            busy.append(chunk)
        assert busy, "no chunk is running, and the run is not done"
        chunk = busy.pop(data.draw(st.integers(0, len(busy) - 1)))
        is_bad = any(int(claim.id[1:]) in bad for claim in chunk.claims)
        lost = losses > 0 and data.draw(st.booleans())
        if is_bad or lost:
            losses -= not is_bad
            if len(chunk.claims) == 1:
                single[chunk.claims[0].id] += 1
                lost_single[chunk.claims[0].id] += not is_bad
            queue.failed(chunk, "crashed")
        else:
            queue.succeeded(chunk, [record(claim) for claim in chunk.claims])
        outcomes += queue.in_order()
    ids = [o.claim.id if isinstance(o, FailedClaim) else o["id"] for o in outcomes]
    assert ids == [claim.id for claim in claims(count)]
    for outcome in outcomes:
        if isinstance(outcome, FailedClaim):
            assert (outcome.attempts, outcome.error) == (attempts, "crashed")
            assert single[outcome.claim.id] == attempts
            blamed = int(outcome.claim.id[1:]) in bad
            assert blamed or lost_single[outcome.claim.id] == attempts
        else:
            assert int(outcome["id"][1:]) not in bad


def test_a_failed_chunk_is_retried_whole_and_then_split():
    queue = RetryQueue(claims(3), size=2, ahead=4, attempts=2)
    first = queue.take()
    assert first == Chunk(0, tuple(claims(3)[:2]))
    queue.failed(first, "node")
    again = queue.take()
    assert again == Chunk(0, first.claims, 1), "failed chunks come before new claims"
    queue.failed(again, "node")
    left, right = queue.take(), queue.take()
    assert left is not None
    assert right is not None
    assert [left.claims, right.claims] == [(claims(3)[0],), (claims(3)[1],)]
    queue.succeeded(right, [record(right.claims[0])])
    assert list(queue.in_order()) == [], "the first has no outcome yet"
    queue.failed(left, "first")
    assert queue.take() == Chunk(0, left.claims, 1)
    queue.failed(Chunk(0, left.claims, 1), "second")
    outcomes = list(queue.in_order())
    assert outcomes == [FailedClaim(claims(3)[0], 2, "second"), {"id": "c1"}]
    assert not queue.done


def test_a_chunk_that_timed_out_is_split_at_once():
    queue = RetryQueue(claims(2), size=2, ahead=4, attempts=1)
    chunk = queue.take()
    assert chunk is not None
    queue.failed(chunk, "no answer", split=True)
    assert [queue.take(), queue.take()] == [Chunk(n, (claims(2)[n],)) for n in range(2)]


def test_the_number_of_claims_read_ahead_is_bounded():
    read = []

    def stream():
        for claim in claims(100):
            read.append(claim)
            yield claim

    queue = RetryQueue(stream(), size=4, ahead=10, attempts=1)
    chunks = []
    while chunk := queue.take():
        chunks.append(chunk)
    assert [len(chunk.claims) for chunk in chunks] == [4, 4, 2]
    assert len(read) == 11, "one more is read, to know whether there is one"
    for chunk in chunks[1:]:
        queue.succeeded(chunk, [record(claim) for claim in chunk.claims])
    assert queue.take() is None, "the first chunk has no outcome yet"
    queue.succeeded(chunks[0], [record(claim) for claim in chunks[0].claims])
    assert len(list(queue.in_order())) == 10
    assert queue.take() is not None


def test_records_of_other_claims_are_refused():
    queue = RetryQueue(claims(2), size=2, ahead=2, attempts=1)
    chunk = queue.take()
    assert chunk is not None
    with pytest.raises(ValueError, match="for other claims"):
        queue.succeeded(chunk, [{"id": "c1"}, {"id": "c0"}])
    with pytest.raises(ValueError, match="for other claims"):
        queue.succeeded(chunk, [{"id": "c0"}])
