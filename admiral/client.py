"""Clients of `admiral serve` with the methods of `Admiral`: `Client` and `AsyncClient`."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Iterable,
    Iterator,
    Sequence,
)
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass
from itertools import count
from typing import Any, Self
from urllib.parse import quote

import httpx

import admiral
from admiral.errors import AdmiralError
from admiral.records import (
    Claim,
    Document,
    Hop,
    Record,
    RetrievalResult,
    as_claim,
    check_claims,
    document_from_record,
    hop_from_event,
    judgement_from_record,
    result_from_record,
)
from proofs import Judgement


def problem_error(url: str, status: int, problem: Record | None) -> AdmiralError:
    """Return the error for a problem record, or for an answer of that status without one."""
    if problem is None or "detail" not in problem:
        return AdmiralError(f"{url}: answered with status {status}. Check that it is admiral serve")
    field = f"field {problem['field']!r}: " if problem.get("field") else ""
    return AdmiralError(f"{url}: {field}{problem['detail']}. {problem.get('remedy', '')}".strip())


_CONNECT_SECONDS = 10.0
# Longer than the pause between the comments that keep a stream open.
_SILENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Connection:
    """The address of a service, and how requests are sent to it."""

    url: str
    kb: str | None
    api_key: str | None
    # seconds for which a claim is sent again while the queue of the service is full
    patience: float
    claims: int  # most claims that are sent at a time

    def __post_init__(self) -> None:
        if self.claims < 1:
            raise AdmiralError(f"connections={self.claims} is too small; the minimum is 1")

    def httpx_options(self) -> dict[str, Any]:
        """Return the parameters of the clients of httpx.

        Raises AdmiralError if the address is none.
        """
        try:
            parsed = httpx.URL(self.url)
        except httpx.InvalidURL as error:
            raise AdmiralError(f"{self.url!r}: is not an address ({error})") from error
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise AdmiralError(
                f"{self.url!r}: is not an address; give one such as http://127.0.0.1:8080"
            )
        headers = {"User-Agent": f"admiral/{admiral.__version__}"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        timeout = httpx.Timeout(_SILENCE_SECONDS, connect=_CONNECT_SECONDS, pool=None)
        limits = httpx.Limits(max_connections=None)
        return {"base_url": parsed, "headers": headers, "timeout": timeout, "limits": limits}

    def claim_body(self, claim: Claim, hops: str | int | None) -> dict[str, Any]:
        """Return the body of a request to retrieve for a claim."""
        body: dict[str, Any] = {"claim": claim.text, **self.kb_field()}
        if hops is not None:
            text = str(hops)
            body["hops"] = int(text) if text.isdecimal() else text
        return body

    def proof_body(self, claim: str, evidence: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """Return the body of a request to prove a claim."""
        sentences = [{"title": title, "text": text} for title, text in evidence]
        return {"claim": claim, "evidence": sentences, **self.kb_field()}

    def kb_field(self) -> dict[str, str]:
        """Return the field that names the knowledge base, if there is a name."""
        return {} if self.kb is None else {"kb": self.kb}

    def error(self, response: httpx.Response) -> AdmiralError:
        """Return the error of a response that was read."""
        try:
            problem = response.json()
        except ValueError:
            problem = None
        return problem_error(
            self.url, response.status_code, problem if isinstance(problem, dict) else None
        )

    def failure(self, error: Exception) -> AdmiralError:
        """Return the error for a connection that failed."""
        reason = str(error) or type(error).__name__
        return AdmiralError(
            f"{self.url}: no answer ({reason}). Check that admiral serve runs there"
        )


class ClaimStream:
    """The hops and the result of one claim, from the bytes of its server-sent events."""

    def __init__(self, connection: Connection, claim: Claim) -> None:
        self._connection, self._claim = connection, claim
        self._rest = b""
        self._hops: dict[int, Hop] = {}
        self.is_complete = False

    def feed(self, data: bytes) -> Iterator[Hop | RetrievalResult]:
        """Yield what the next bytes complete; a hop that is repeated is yielded once.

        Raises AdmiralError if the service reports a problem.
        """
        *blocks, self._rest = (self._rest + data).split(b"\n\n")
        for block in blocks:
            name, _, content = block.partition(b"\n")
            if name.startswith(b":"):
                continue
            record: Record = json.loads(content.removeprefix(b"data: "))
            if name == b"event: hop":
                hop = hop_from_event(record)
                if hop.number not in self._hops:
                    yield hop
                self._hops[hop.number] = hop
            elif name == b"event: result":
                self.is_complete = True
                yield result_from_record(self._claim, list(self._hops.values()), record)
            elif name == b"event: problem":
                raise problem_error(self._connection.url, record.get("status", 0), record)

    def end(self) -> None:
        """Raise `AdmiralError` if the stream ended before its result."""
        if not self.is_complete:
            raise AdmiralError(f"{self._connection.url}: closed the connection early. Try again")


def seconds_to_wait(response: httpx.Response, waited: float, patience: float) -> float | None:
    """Return after how many seconds to send a request again; None if it is not to be sent again."""
    if response.status_code != httpx.codes.TOO_MANY_REQUESTS:
        return None
    given = response.headers.get("retry-after", "1")
    pause = float(given) if given.isdecimal() else 1.0
    return pause if waited + pause <= patience else None


OnHop = Callable[[Claim, Hop], object]


class Client:
    """Retrieve with a service, by the methods of `Admiral`. Several threads may share one object.

    `connections`: how many claims of `retrieve_many` are sent at a time. `patience`: seconds for
    which a claim is sent again while the queue of the service is full. `transport`: another
    transport of httpx, for proxies and tests. Raises AdmiralError if `url` is not an address. By
    all methods: if the service does not answer or reports a problem.
    """

    def __init__(
        self,
        url: str,
        *,
        kb: str | None = None,
        api_key: str | None = None,
        connections: int = 16,
        patience: float = 300.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._connection = Connection(url, kb, api_key, patience, connections)
        self._http = httpx.Client(transport=transport, **self._connection.httpx_options())

    def retrieve(self, claim: str | Claim, hops: str | int | None = None) -> RetrievalResult:
        """Retrieve the documents and the evidence for one claim; see `Admiral.retrieve`."""
        return self._result(as_claim(claim, 1), hops, None)

    def retrieve_many(
        self,
        claims: Iterable[str | Claim],
        hops: str | int | None = None,
        on_hop: OnHop | None = None,
    ) -> Iterator[RetrievalResult]:
        """Yield the result of each claim, in order; see `Admiral.retrieve_many`.

        An error of a claim or of the stream is raised after the results of all claims before it.
        """
        waiting: deque[Future[RetrievalResult]] = deque()
        stream_error: Exception | None = None
        given = map(as_claim, check_claims(claims), count(1))
        pool = ThreadPoolExecutor(self._connection.claims, thread_name_prefix="admiral-client")
        try:
            while True:
                try:
                    claim = next(given)
                except StopIteration:
                    break
                except Exception as error:
                    stream_error = error
                    break
                if len(waiting) == self._connection.claims:
                    yield waiting.popleft().result()
                waiting.append(pool.submit(self._result, claim, hops, on_hop))
            while waiting:
                yield waiting.popleft().result()
            if stream_error is not None:
                raise stream_error
        finally:
            pool.shutdown(cancel_futures=True)

    def stream(
        self, claim: str | Claim, hops: str | int | None = None
    ) -> Iterator[Hop | RetrievalResult]:
        """Yield each hop of a claim as it is completed, then the result."""
        given, waited = as_claim(claim, 1), 0.0
        body = self._connection.claim_body(given, hops)
        parsed = ClaimStream(self._connection, given)
        while True:
            try:
                with self._http.stream("POST", "/v1/retrieve/stream", json=body) as response:
                    if response.is_success:
                        for data in response.iter_bytes():
                            yield from parsed.feed(data)
                        parsed.end()
                        return
                    response.read()
            except httpx.HTTPError as error:
                raise self._connection.failure(error) from error
            pause = seconds_to_wait(response, waited, self._connection.patience)
            if pause is None:
                raise self._connection.error(response)
            time.sleep(pause)
            waited += pause

    def prove(self, claim: str, evidence: Sequence[tuple[str, str]]) -> Judgement:
        """Judge a claim against (title, sentence) pairs; see `Admiral.prove`."""
        body = self._connection.proof_body(claim, evidence)
        return judgement_from_record(self._json("POST", "/v1/prove", json=body))

    def document(self, title: str) -> Document:
        """Return the document with a title."""
        path = f"/v1/documents/{quote(title, safe='')}"
        return document_from_record(self._json("GET", path, params=self._connection.kb_field()))

    async def aretrieve(self, claim: str | Claim, hops: str | int | None = None) -> RetrievalResult:
        """Retrieve for one claim in a thread, so that an event loop is not blocked."""
        return await asyncio.to_thread(self.retrieve, claim, hops)

    async def aretrieve_many(
        self, claims: Iterable[str | Claim], hops: str | int | None = None
    ) -> AsyncGenerator[RetrievalResult, None]:
        """Yield the result of each claim, in order, without blocking an event loop."""
        results = self.retrieve_many(claims, hops)
        while (result := await asyncio.to_thread(next, results, None)) is not None:
            yield result

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _result(
        self, claim: Claim, hops: str | int | None, on_hop: OnHop | None
    ) -> RetrievalResult:
        # The stream is read to its end, so that its connection can be used again.
        for each in self.stream(claim, hops):
            if isinstance(each, RetrievalResult):
                result = each
            elif on_hop is not None:
                on_hop(claim, each)
        return result

    def _json(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        try:
            response = self._http.request(method, path, **options)
        except httpx.HTTPError as error:
            raise self._connection.failure(error) from error
        if not response.is_success:
            raise self._connection.error(response)
        record: dict[str, Any] = response.json()
        return record


class AsyncClient:
    """Retrieve with a service, by the methods of `Client` as coroutines.

    The parameters and the errors are those of `Client`.
    """

    def __init__(
        self,
        url: str,
        *,
        kb: str | None = None,
        api_key: str | None = None,
        connections: int = 16,
        patience: float = 300.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._connection = Connection(url, kb, api_key, patience, connections)
        self._http = httpx.AsyncClient(transport=transport, **self._connection.httpx_options())

    async def retrieve(self, claim: str | Claim, hops: str | int | None = None) -> RetrievalResult:
        """Retrieve the documents and the evidence for one claim."""
        return await self._result(as_claim(claim, 1), hops, None)

    async def retrieve_many(
        self,
        claims: Iterable[str | Claim] | AsyncIterable[str | Claim],
        hops: str | int | None = None,
        on_hop: OnHop | None = None,
    ) -> AsyncGenerator[RetrievalResult, None]:
        """Yield the result of each claim, in order.

        An error of a claim or of the stream is raised after the results of all claims before it.
        """
        waiting: deque[asyncio.Task[RetrievalResult]] = deque()
        stream_error: Exception | None = None
        given = _numbered(claims)
        try:
            while True:
                try:
                    claim = await anext(given)
                except StopAsyncIteration:
                    break
                except Exception as error:
                    stream_error = error
                    break
                if len(waiting) == self._connection.claims:
                    yield await waiting.popleft()
                waiting.append(asyncio.create_task(self._result(claim, hops, on_hop)))
            while waiting:
                yield await waiting.popleft()
            if stream_error is not None:
                raise stream_error
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def stream(
        self, claim: str | Claim, hops: str | int | None = None
    ) -> AsyncGenerator[Hop | RetrievalResult, None]:
        """Yield each hop of a claim as it is completed, then the result."""
        given, waited = as_claim(claim, 1), 0.0
        body = self._connection.claim_body(given, hops)
        parsed = ClaimStream(self._connection, given)
        while True:
            try:
                async with self._http.stream("POST", "/v1/retrieve/stream", json=body) as response:
                    if response.is_success:
                        async for data in response.aiter_bytes():
                            for each in parsed.feed(data):
                                yield each
                        parsed.end()
                        return
                    await response.aread()
            except httpx.HTTPError as error:
                raise self._connection.failure(error) from error
            pause = seconds_to_wait(response, waited, self._connection.patience)
            if pause is None:
                raise self._connection.error(response)
            await asyncio.sleep(pause)
            waited += pause

    async def prove(self, claim: str, evidence: Sequence[tuple[str, str]]) -> Judgement:
        """Judge a claim against (title, sentence) pairs."""
        body = self._connection.proof_body(claim, evidence)
        return judgement_from_record(await self._json("POST", "/v1/prove", json=body))

    async def document(self, title: str) -> Document:
        """Return the document with a title."""
        path = f"/v1/documents/{quote(title, safe='')}"
        record = await self._json("GET", path, params=self._connection.kb_field())
        return document_from_record(record)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _result(
        self, claim: Claim, hops: str | int | None, on_hop: OnHop | None
    ) -> RetrievalResult:
        # The stream is read to its end, so that its connection can be used again.
        async with aclosing(self.stream(claim, hops)) as stream:
            async for each in stream:
                if isinstance(each, RetrievalResult):
                    result = each
                elif on_hop is not None:
                    on_hop(claim, each)
        return result

    async def _json(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        try:
            response = await self._http.request(method, path, **options)
        except httpx.HTTPError as error:
            raise self._connection.failure(error) from error
        if not response.is_success:
            raise self._connection.error(response)
        record: dict[str, Any] = response.json()
        return record


async def _numbered(
    claims: Iterable[str | Claim] | AsyncIterable[str | Claim],
) -> AsyncIterator[Claim]:
    numbers = count(1)
    if isinstance(claims, AsyncIterable):
        async for claim in claims:
            yield as_claim(claim, next(numbers))
    else:
        for claim in check_claims(claims):
            yield as_claim(claim, next(numbers))
