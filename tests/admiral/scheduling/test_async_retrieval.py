"""Reference counting: closing waits for the threads inside and refuses new ones."""

import asyncio
import threading

import pytest

from admiral import AdmiralError, Claim, RetrievalConfig, RetrievalResult
from admiral.records import as_claim
from admiral.scheduling import AsyncRetrieval, ReferenceCount


def test_close_waits_for_threads_inside_and_refuses_new_ones():
    references, closed = ReferenceCount(), threading.Event()
    closer = threading.Thread(target=lambda: (references.close(), closed.set()))
    errors = []

    def enter_late():
        try:
            with references:
                pass
        except AdmiralError as error:
            errors.append(error)

    with references:
        closer.start()
        assert not closed.wait(0.05)
        late = threading.Thread(target=enter_late)
        late.start()
        late.join()
        with references:  # a thread that is inside may enter again
            pass
        assert not closed.is_set()
    assert closed.wait(10)
    closer.join()
    assert [str(error) for error in errors] == ["the system was closed. Open another one."]
    with pytest.raises(AdmiralError, match="was closed"), references:
        pass
    references.close()


def test_an_error_inside_the_block_releases_the_reference():
    references = ReferenceCount()
    with pytest.raises(KeyError), references:
        raise KeyError
    references.close()


CLAIMS = [
    Claim("a", "The 66th Primetime Emmy Awards was hosted by an Iraqi comedian born in 1973."),
    Claim("b", "A river of Paris."),
]


class FakeSystem(AsyncRetrieval):
    """Returns results when allowed to, and records the claims of each call."""

    def __init__(self, batch_size=2):
        super().__init__()
        self.config = RetrievalConfig(batch_size=batch_size)
        self.started = threading.Semaphore(0)
        self.allowed = threading.Semaphore(0)
        self.calls = []
        self.threads = set()
        self.closed = False

    def retrieve(self, claim, hops=None):
        return next(self.retrieve_many([claim], hops))

    def retrieve_many(self, claims, hops=None):
        batch = [as_claim(claim, number) for number, claim in enumerate(claims, 1)]
        self.calls.append([claim.text for claim in batch])
        self.threads.add(threading.current_thread().name)
        self.started.release()
        assert self.allowed.acquire(timeout=10)
        if any(claim.text == "bad" for claim in batch):
            raise AdmiralError("a bad claim")
        return (RetrievalResult(claim, (), (), (), "dead_end") for claim in batch)

    def close(self):
        self._worker.close()
        self.closed = True

    async def until_started(self):
        assert await asyncio.to_thread(self.started.acquire, timeout=10)


def allowing(count, batch_size=2):
    system = FakeSystem(batch_size)
    system.allowed.release(count)
    return system


async def collect(stream, results):
    async for result in stream:
        results.append(result)


def texts(results):
    return [result.claim.text for result in results]


def test_results_equal_those_of_the_blocking_methods(quick):
    async def run_calls():
        first, second = await asyncio.gather(
            quick.aretrieve(CLAIMS[0], hops=1), quick.aretrieve(CLAIMS[1].text, hops=2)
        )
        return [first, second, *[result async for result in quick.aretrieve_many(CLAIMS, hops=1)]]

    expected = [quick.retrieve(CLAIMS[0], hops=1), quick.retrieve(CLAIMS[1].text, hops=2)]
    expected += quick.retrieve_many(CLAIMS, hops=1)
    for result, wanted in zip(asyncio.run(run_calls()), expected, strict=True):
        assert result.claim == wanted.claim
        assert [d.title for d in result.documents] == [d.title for d in wanted.documents]
        assert (result.evidence, result.stopped) == (wanted.evidence, wanted.stopped)


def test_threads_may_share_a_system(quick):
    wanted = quick.retrieve(CLAIMS[1], hops=1)
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(quick.retrieve(CLAIMS[1], hops=1)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [(result.documents, result.evidence) for result in results] == [
        (wanted.documents, wanted.evidence)
    ] * 2


def test_default_ids_count_across_batches():
    async def stream():
        for claim in given:
            yield claim

    async def run_calls(claims):
        system = allowing(2)
        results = [result.claim async for result in system.aretrieve_many(claims)]
        system.close()
        return results

    given = ["one", Claim("x", "two"), "three"]
    for claims in (given, stream()):
        results = asyncio.run(run_calls(claims))
        assert [(claim.id, claim.text) for claim in results] == [
            ("1", "one"),
            ("x", "two"),
            ("3", "three"),
        ]
    with pytest.raises(AdmiralError, match="claims: is a single text"):
        asyncio.run(run_calls("A river of Paris."))


def test_claims_are_taken_a_batch_at_a_time_from_any_stream():
    async def stream():
        for number in range(5):
            yield Claim(str(number), f"claim {number}")

    async def run_calls(system, claims):
        return texts([result async for result in system.aretrieve_many(claims)])

    wanted = [f"claim {number}" for number in range(5)]
    for claims in (stream(), [Claim(str(n), f"claim {n}") for n in range(5)]):
        system = allowing(3)
        assert asyncio.run(run_calls(system, claims)) == wanted
        assert system.calls == [wanted[:2], wanted[2:4], wanted[4:]]
        system.close()
    system = FakeSystem()
    assert asyncio.run(run_calls(system, [])) == []
    system.close()


def test_one_thread_runs_all_calls_and_the_event_loop_stays_free():
    async def run_calls():
        system = FakeSystem()
        calls = [asyncio.create_task(system.aretrieve(f"claim {n}")) for n in range(3)]
        await system.until_started()
        turns = 0
        for _ in range(100):  # the loop runs while the thread is blocked
            await asyncio.sleep(0)
            turns += 1
        assert system.calls == [["claim 0"]]
        system.allowed.release(3)
        assert texts(await asyncio.gather(*calls)) == [f"claim {n}" for n in range(3)]
        assert len(system.threads) == 1
        await system.aclose()
        return turns

    assert asyncio.run(run_calls()) == 100


def test_a_call_cancelled_while_waiting_never_starts():
    async def run_calls():
        async with FakeSystem() as system:
            first = asyncio.create_task(system.aretrieve("first"))
            await system.until_started()
            second = asyncio.create_task(system.aretrieve("second"))
            third = asyncio.create_task(system.aretrieve("third"))
            await asyncio.sleep(0)
            second.cancel()
            await asyncio.wait([second])
            system.allowed.release(2)
            assert texts(await asyncio.gather(first, third)) == ["first", "third"]
            assert second.cancelled()
            assert system.calls == [["first"], ["third"]]

    asyncio.run(run_calls())


def test_a_started_call_is_completed_and_its_results_dropped_when_cancelled():
    async def run_calls():
        async with FakeSystem() as system:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(system.aretrieve("slow"), 0.01)
            system.allowed.release(2)
            assert (await system.aretrieve("next")).claim.text == "next"
            assert system.calls == [["slow"], ["next"]]

    asyncio.run(run_calls())


def test_an_abandoned_run_reads_no_more_claims():
    async def stream():
        for number in range(1000):
            yield Claim(str(number), f"claim {number}")

    async def run_calls():
        async with allowing(2) as system:
            run = system.aretrieve_many(stream())
            async for result in run:
                assert result.claim.id == "0"
                break
            await run.aclose()
            assert system.calls == [["claim 0", "claim 1"]]
            assert (await system.aretrieve("next")).claim.text == "next"

    asyncio.run(run_calls())


def test_a_single_call_runs_between_the_batches_of_a_long_run():
    async def run_calls():
        async with FakeSystem() as system:
            claims = [Claim(str(number), f"claim {number}") for number in range(6)]

            async def long():
                return [result async for result in system.aretrieve_many(claims)]

            run = asyncio.create_task(long())
            await system.until_started()
            single = asyncio.create_task(system.aretrieve("one"))
            await asyncio.sleep(0)
            system.allowed.release(4)
            await single
            assert len(await run) == 6
            assert system.calls[1] == ["one"]

    asyncio.run(run_calls())


def test_an_error_reaches_only_its_caller():
    async def run_calls():
        async with allowing(3) as system:
            good, bad = await asyncio.gather(
                system.aretrieve("good"), system.aretrieve("bad"), return_exceptions=True
            )
            assert isinstance(good, RetrievalResult)
            assert isinstance(bad, AdmiralError)
            with pytest.raises(AdmiralError, match="a bad claim"):
                [result async for result in system.aretrieve_many([Claim("1", "bad")])]

    asyncio.run(run_calls())


def test_claims_before_an_error_get_their_results():
    """The same for a synchronous and an asynchronous stream."""

    def stream():
        for number in range(5):
            yield Claim(str(number), f"claim {number}")
        raise ValueError("line 6 is bad")

    async def slow():
        for claim in stream():
            yield claim

    async def run_calls():
        for claims in (stream(), slow()):
            async with allowing(3) as system:
                results = []
                with pytest.raises(ValueError, match="line 6"):
                    await collect(system.aretrieve_many(claims), results)
                assert texts(results) == [f"claim {number}" for number in range(5)]

    asyncio.run(run_calls())


def test_claims_before_an_empty_one_get_their_results(quick):
    async def run_calls():
        results = []
        with pytest.raises(AdmiralError, match="claim 'c': is empty"):
            await collect(quick.aretrieve_many([*CLAIMS, Claim("c", " ")], hops=1), results)
        assert [result.claim for result in results] == CLAIMS

    asyncio.run(run_calls())


def test_closing_waits_for_the_running_call_and_refuses_the_others():
    async def run_calls():
        system = FakeSystem()
        first = asyncio.create_task(system.aretrieve("first"))
        await system.until_started()
        second = asyncio.create_task(system.aretrieve("second"))
        await asyncio.sleep(0)
        closing = asyncio.create_task(system.aclose())
        with pytest.raises(AdmiralError, match="was closed"):
            await second
        assert not system.closed
        system.allowed.release()
        assert (await first).claim.text == "first"
        await closing
        assert system.closed
        with pytest.raises(AdmiralError, match="was closed"):
            await system.aretrieve("third")

    asyncio.run(run_calls())
