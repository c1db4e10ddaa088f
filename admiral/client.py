"""A client of `admiral serve` with the methods of `Admiral`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count, islice
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
    from_json,
)
from proofs import Judgement

_CONNECT_SECONDS = 10.0
# Longer than the pause between the comments that keep a stream open.
_SILENCE_SECONDS = 60.0
_PAUSE = 1.0  # seconds until a claim is sent again


class Client:
    """Retrieve with a service, by the methods of `Admiral`. Several threads may share one object.

    `connections`: how many claims of `retrieve_many` are sent at a time. `patience`: seconds for
    which a claim is sent again while the queue of the service is full. `transport`: another
    transport of httpx, for proxies and tests. By all methods: if the service does not answer or
    reports a problem.
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
        if not url.startswith(("http://", "https://")):
            example = "http://127.0.0.1:8080"
            raise AdmiralError(f"{url!r}: is not an address; give one such as {example}")
        headers = {"User-Agent": f"admiral/{admiral.__version__}"}
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self._url, self._connections, self._patience = url, connections, patience
        self._kb = {} if kb is None else {"kb": kb}
        self._http = httpx.Client(
            base_url=url,
            headers=headers,
            timeout=httpx.Timeout(_SILENCE_SECONDS, connect=_CONNECT_SECONDS, pool=None),
            limits=httpx.Limits(max_connections=None),
            transport=transport,
        )

    def retrieve(self, claim: str | Claim, hops: str | int | None = None) -> RetrievalResult:
        """Retrieve the documents and the evidence for one claim; see `Admiral.retrieve`."""
        # The stream is read to its end, so that its connection can be used again.
        *_, result = self.stream(claim, hops)
        assert isinstance(result, RetrievalResult)
        return result

    def retrieve_many(
        self, claims: Iterable[str | Claim], hops: str | int | None = None
    ) -> Iterator[RetrievalResult]:
        """Yield the result of each claim, in order; see `Admiral.retrieve_many`."""
        numbered = zip(check_claims(claims), count(1))
        with ThreadPoolExecutor(self._connections, thread_name_prefix="admiral-client") as pool:
            while batch := list(islice(numbered, self._connections)):
                yield from pool.map(lambda given: self.retrieve(as_claim(*given), hops), batch)

    def stream(
        self, claim: str | Claim, hops: str | int | None = None
    ) -> Iterator[Hop | RetrievalResult]:
        """Yield each hop of a claim as it is completed, then the result."""
        given, end = as_claim(claim, 1), time.monotonic() + self._patience
        body: dict[str, Any] = {"claim": given.text, **self._kb}
        if hops is not None:
            body["hops"] = int(hops) if str(hops).isdecimal() else str(hops)
        while True:
            try:
                with self._http.stream("POST", "/v1/retrieve/stream", json=body) as response:
                    if response.is_success:
                        yield from self._outcomes(given, response.iter_bytes())
                        return
                    response.read()
            except httpx.HTTPError as error:
                raise self._no_answer(error) from error
            is_full = response.status_code == httpx.codes.TOO_MANY_REQUESTS
            if not is_full or time.monotonic() > end:
                raise self._error(response)
            time.sleep(_PAUSE)

    def prove(self, claim: str, evidence: Sequence[tuple[str, str]]) -> Judgement:
        """Judge a claim against (title, sentence) pairs; see `Admiral.prove`."""
        sentences = [{"title": title, "text": text} for title, text in evidence]
        body = {"claim": claim, "evidence": sentences, **self._kb}
        return from_json(Judgement, self._json("POST", "/v1/prove", json=body))

    def document(self, title: str) -> Document:
        """Return the document with a title."""
        path = f"/v1/documents/{quote(title, safe='')}"
        return from_json(Document, self._json("GET", path, params=self._kb))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _outcomes(self, claim: Claim, parts: Iterable[bytes]) -> Iterator[Hop | RetrievalResult]:
        """Yield what the server-sent events of a claim tell; a repeated hop is yielded once."""
        hops: dict[int, Hop] = {}
        is_complete = False
        for event, record in _events(parts):
            if event == b"hop":
                hop = from_json(Hop, record)
                if hop.number not in hops:
                    yield hop
                hops[hop.number] = hop
            elif event == b"result":
                is_complete = True
                result = from_json(RetrievalResult, record)
                yield replace(result, id=claim.id, hops=tuple(hops.values()))
            elif event == b"problem":
                raise self._problem(record)
        if not is_complete:
            raise AdmiralError(f"{self._url}: closed the connection early. Try again")

    def _json(self, method: str, path: str, **options: Any) -> Record:
        try:
            response = self._http.request(method, path, **options)
        except httpx.HTTPError as error:
            raise self._no_answer(error) from error
        if not response.is_success:
            raise self._error(response)
        record: Record = response.json()
        return record

    def _error(self, response: httpx.Response) -> AdmiralError:
        try:
            return self._problem(response.json())
        except (ValueError, TypeError, KeyError):  # is no problem record
            status = response.status_code
            return AdmiralError(
                f"{self._url}: answered with status {status}. Check that it is admiral serve"
            )

    def _problem(self, record: Record) -> AdmiralError:
        field = f"field {record['field']!r}: " if record.get("field") else ""
        return AdmiralError(f"{self._url}: {field}{record['detail']}. {record['remedy']}")

    def _no_answer(self, error: httpx.HTTPError) -> AdmiralError:
        reason = str(error) or type(error).__name__
        return AdmiralError(
            f"{self._url}: no answer ({reason}). Check that admiral serve runs there"
        )


def _events(parts: Iterable[bytes]) -> Iterator[tuple[bytes, Record]]:
    """Yield the name and the record of each server-sent event; comments are left out."""
    rest = b""
    for part in parts:
        *blocks, rest = (rest + part).split(b"\n\n")
        for block in blocks:
            event, _, data = block.partition(b"\n")
            if event.startswith(b"event: "):
                yield event.removeprefix(b"event: "), json.loads(data.removeprefix(b"data: "))
