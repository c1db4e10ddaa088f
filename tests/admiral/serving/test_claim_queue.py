"""The queue of claims with a system that retrieves nothing."""

import threading
from typing import cast

import pytest

from admiral import Admiral, AdmiralError, RetrievalConfig
from admiral.pipeline import ReferenceCount
from admiral.records import Claim, Hop, RetrievalResult
from admiral.serving.claim_queue import ClaimQueue


class FakeSystem:
    """Return a result without hops for each claim, in batches; `bad` claims are errors."""

    def __init__(self):
        self.config = RetrievalConfig()
        self.in_use = ReferenceCount()
        self.batches = []
        self.start = threading.Event()

    def retrieve_many(self, claims, hops, on_stage, on_hop, on_timing):
        assert self.start.wait(10)
        batch = list(claims)
        self.batches.append([claim.text for claim in batch])
        if any(claim.text == "bad" for claim in batch):
            raise AdmiralError("a bad claim")
        on_stage("reading", batch)
        for claim in batch:
            on_hop(claim, Hop(False, None, number=1))
            yield RetrievalResult(claim.id, claim.text, (), (), (), "dead_end")


@pytest.fixture
def system():
    return FakeSystem()


@pytest.fixture
def queue(system):
    opened = ClaimQueue(cast(Admiral, system), places=3)
    yield opened
    system.start.set()
    opened.close()


def test_waiting_claims_share_a_batch_and_keep_their_ids(system, queue):
    events = []
    futures = queue.submit([Claim("1", "a"), Claim("1", "b")], "2", events.append)
    futures += queue.submit([Claim("7", "c")], "3")
    system.start.set()
    claims = [future.result(10).claim for future in futures]
    assert claims == [Claim("1", "a"), Claim("1", "b"), Claim("7", "c")]
    assert system.batches == [["a", "b"], ["c"]]
    assert events == [*["reading"] * 2, *[Hop(False, None, number=1)] * 2]


def test_an_error_hits_only_its_claim(system, queue):
    good, bad = queue.submit([Claim("1", "good"), Claim("1", "bad")])
    system.start.set()
    assert good.result(10).claim.text == "good"
    with pytest.raises(AdmiralError, match="a bad claim"):
        bad.result(10)
    (later,) = queue.submit([Claim("1", "later")])
    assert later.result(10).claim.text == "later"


def test_a_cancelled_claim_is_never_processed(system, queue):
    (first,) = queue.submit([Claim("1", "first")], "1")
    (second,) = queue.submit([Claim("1", "second")], "2")
    assert second.cancel()
    system.start.set()
    assert first.result(10).claim.text == "first"
    (third,) = queue.submit([Claim("1", "third")], "2")
    assert third.result(10).claim.text == "third"
    assert ["second"] not in system.batches


def test_accepted_claims_are_completed_before_the_queue_closes(system):
    queue = ClaimQueue(cast(Admiral, system), places=3)
    (future,) = queue.submit([Claim("1", "a")])
    system.start.set()
    queue.close()
    assert future.done()
    with pytest.raises(AdmiralError, match="closed"):
        queue.submit([Claim("1", "b")])
