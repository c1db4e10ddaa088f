"""The awaitable methods: the same answers, in their turn, and whatever is cancelled."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

import pytest

from admiral import Admiral, AdmiralError, Claim, RetrievalConfig, RetrievalResult
from admiral.records import given_claim
from admiral.scheduling.async_retrieval import AwaitableRetrieval

CLAIMS = [
    Claim("a", "The 66th Primetime Emmy Awards was hosted by an Iraqi comedian born in 1973."),
    Claim("b", "A river of Paris."),
]


class Gate(AwaitableRetrieval):
    """Answers when it is let, and notes what it was asked."""

    def __init__(self, batch_size: int = 2) -> None:
        super().__init__()
        self.config = RetrievalConfig(batch_size=batch_size)
        self.begun = threading.Semaphore(0)
        self.let = threading.Semaphore(0)
        self.asked: list[list[str]] = []
        self.threads: set[str] = set()
        self.closed = False

    def retrieve(self, claim: str | Claim, hops: str | int | None = None) -> RetrievalResult:
        return next(self.retrieve_many([claim], hops))

    def retrieve_many(
        self, claims: Iterable[str | Claim], hops: str | int | None = None
    ) -> Iterator[RetrievalResult]:
        batch = [given_claim(claim, number) for number, claim in enumerate(claims, 1)]
        self.asked.append([claim.text for claim in batch])
        self.threads.add(threading.current_thread().name)
        self.begun.release()
        assert self.let.acquire(timeout=10)
        if any(claim.text == "bad" for claim in batch):
            raise AdmiralError("a bad claim")
        return (RetrievalResult(claim, (), (), (), "dead_end") for claim in batch)

    def close(self) -> None:
        self._worker.close()
        self.closed = True

    async def until_begun(self) -> None:
        assert await asyncio.to_thread(self.begun.acquire, timeout=10)


def opened(count: int, batch_size: int = 2) -> Gate:
    """A gate that lets `count` batches through."""
    gate = Gate(batch_size)
    gate.let.release(count)
    return gate


def texts(results: Sequence[RetrievalResult]) -> list[str]:
    return [result.claim.text for result in results]


def test_the_answers_are_those_of_the_blocking_methods(quick: Admiral) -> None:
    async def ask() -> list[RetrievalResult]:
        one, other = await asyncio.gather(
            quick.aretrieve(CLAIMS[0], hops=1), quick.aretrieve(CLAIMS[1].text, hops=2)
        )
        return [one, other, *[found async for found in quick.aretrieve_many(CLAIMS, hops=1)]]

    expected = [quick.retrieve(CLAIMS[0], hops=1), quick.retrieve(CLAIMS[1].text, hops=2)]
    expected += quick.retrieve_many(CLAIMS, hops=1)
    for found, wanted in zip(asyncio.run(ask()), expected, strict=True):
        assert found.claim == wanted.claim
        assert [d.title for d in found.documents] == [d.title for d in wanted.documents]
        assert (found.evidence, found.stopped) == (wanted.evidence, wanted.stopped)


def test_threads_may_share_one(quick: Admiral) -> None:
    wanted = quick.retrieve(CLAIMS[1], hops=1)
    found: list[RetrievalResult] = []
    threads = [
        threading.Thread(target=lambda: found.append(quick.retrieve(CLAIMS[1], hops=1)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [(one.documents, one.evidence) for one in found] == [
        (wanted.documents, wanted.evidence)
    ] * 2


def test_texts_are_numbered_through_all_batches() -> None:
    async def stream() -> AsyncIterator[str | Claim]:
        for claim in given:
            yield claim

    async def ask(claims: Iterable[str | Claim] | AsyncIterator[str | Claim]) -> list[Claim]:
        gate = opened(2)
        found = [one.claim async for one in gate.aretrieve_many(claims)]
        gate.close()
        return found

    given = ["one", Claim("x", "two"), "three"]
    for claims in (given, stream()):
        found = asyncio.run(ask(claims))
        assert [(one.id, one.text) for one in found] == [("1", "one"), ("x", "two"), ("3", "three")]
    with pytest.raises(AdmiralError, match="claims: is a single text"):
        asyncio.run(ask("A river of Paris."))


def test_many_are_taken_a_batch_at_a_time_from_any_stream() -> None:
    async def stream() -> AsyncIterator[Claim]:
        for number in range(5):
            yield Claim(str(number), f"claim {number}")

    async def ask(gate: Gate, claims: Iterable[Claim] | AsyncIterator[Claim]) -> list[str]:
        return texts([one async for one in gate.aretrieve_many(claims)])

    wanted = [f"claim {number}" for number in range(5)]
    for claims in (stream(), [Claim(str(n), f"claim {n}") for n in range(5)]):
        gate = opened(3)
        assert asyncio.run(ask(gate, claims)) == wanted
        assert gate.asked == [wanted[:2], wanted[2:4], wanted[4:]]
        gate.close()
    gate = Gate()
    assert asyncio.run(ask(gate, [])) == []
    gate.close()


def test_the_event_loop_is_free_and_one_thread_works() -> None:
    async def ask() -> int:
        gate = Gate()
        calls = [asyncio.create_task(gate.aretrieve(f"claim {n}")) for n in range(3)]
        await gate.until_begun()
        turns = 0
        for _ in range(100):  # the loop goes on while the thread is stuck
            await asyncio.sleep(0)
            turns += 1
        assert gate.asked == [["claim 0"]]
        gate.let.release(3)
        assert texts(await asyncio.gather(*calls)) == [f"claim {n}" for n in range(3)]
        assert len(gate.threads) == 1
        await gate.aclose()
        return turns

    assert asyncio.run(ask()) == 100


def test_who_is_cancelled_while_waiting_is_never_begun() -> None:
    async def ask() -> None:
        async with Gate() as gate:
            first = asyncio.create_task(gate.aretrieve("first"))
            await gate.until_begun()
            second = asyncio.create_task(gate.aretrieve("second"))
            third = asyncio.create_task(gate.aretrieve("third"))
            await asyncio.sleep(0)
            second.cancel()
            await asyncio.wait([second])
            gate.let.release(2)
            assert texts(await asyncio.gather(first, third)) == ["first", "third"]
            assert second.cancelled()
            assert gate.asked == [["first"], ["third"]]

    asyncio.run(ask())


def test_what_has_begun_is_finished_and_dropped_when_cancelled() -> None:
    async def ask() -> None:
        async with Gate() as gate:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(gate.aretrieve("slow"), 0.01)
            gate.let.release(2)
            assert (await gate.aretrieve("next")).claim.text == "next"
            assert gate.asked == [["slow"], ["next"]]

    asyncio.run(ask())


def test_a_run_that_is_given_up_asks_for_no_more() -> None:
    async def stream() -> AsyncIterator[Claim]:
        for number in range(1000):
            yield Claim(str(number), f"claim {number}")

    async def ask() -> None:
        async with opened(2) as gate:
            run = gate.aretrieve_many(stream())
            async for one in run:
                assert one.claim.id == "0"
                break
            await run.aclose()
            assert gate.asked == [["claim 0", "claim 1"]]
            assert (await gate.aretrieve("next")).claim.text == "next"

    asyncio.run(ask())


def test_a_single_call_need_not_wait_for_the_end_of_a_long_run() -> None:
    async def ask() -> None:
        async with Gate() as gate:
            claims = [Claim(str(number), f"claim {number}") for number in range(6)]

            async def long() -> list[RetrievalResult]:
                return [one async for one in gate.aretrieve_many(claims)]

            run = asyncio.create_task(long())
            await gate.until_begun()
            one = asyncio.create_task(gate.aretrieve("one"))
            await asyncio.sleep(0)
            gate.let.release(4)
            await one
            assert len(await run) == 6
            assert gate.asked[1] == ["one"]

    asyncio.run(ask())


def test_errors_reach_the_caller_and_nobody_else() -> None:
    async def ask() -> None:
        async with opened(3) as gate:
            good, bad = await asyncio.gather(
                gate.aretrieve("good"), gate.aretrieve("bad"), return_exceptions=True
            )
            assert isinstance(good, RetrievalResult)
            assert isinstance(bad, AdmiralError)
            with pytest.raises(AdmiralError, match="a bad claim"):
                [one async for one in gate.aretrieve_many([Claim("1", "bad")])]

    asyncio.run(ask())


def test_claims_before_a_failure_are_answered() -> None:
    """Whether the stream fails, of either kind, or a claim in the middle of a batch."""

    def stream() -> Iterator[Claim]:
        for number in range(5):
            yield Claim(str(number), f"claim {number}")
        raise ValueError("line 6 is bad")

    async def slow() -> AsyncIterator[Claim]:
        for claim in stream():
            yield claim

    async def ask() -> None:
        for claims in (stream(), slow()):
            async with opened(3) as gate:
                found = []
                with pytest.raises(ValueError, match="line 6"):
                    async for one in gate.aretrieve_many(claims):
                        found.append(one)
                assert texts(found) == [f"claim {number}" for number in range(5)]

    asyncio.run(ask())


def test_claims_before_an_empty_one_are_answered(quick: Admiral) -> None:
    async def ask() -> None:
        found = []
        with pytest.raises(AdmiralError, match="claim 'c': is empty"):
            async for one in quick.aretrieve_many([*CLAIMS, Claim("c", " ")], hops=1):
                found.append(one)
        assert [one.claim for one in found] == CLAIMS

    asyncio.run(ask())


def test_closing_waits_for_what_has_begun_and_refuses_the_rest() -> None:
    async def ask() -> None:
        gate = Gate()
        first = asyncio.create_task(gate.aretrieve("first"))
        await gate.until_begun()
        second = asyncio.create_task(gate.aretrieve("second"))
        await asyncio.sleep(0)
        closing = asyncio.create_task(gate.aclose())
        with pytest.raises(AdmiralError, match="was closed"):
            await second
        assert not gate.closed
        gate.let.release()
        assert (await first).claim.text == "first"
        await closing
        assert gate.closed
        with pytest.raises(AdmiralError, match="was closed"):
            await gate.aretrieve("third")

    asyncio.run(ask())
