"""What the clients share: requests, server-sent events, and when to try again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

import admiral
from admiral.client.response_records import (
    Record,
    hop_from_event,
    problem_error,
    result_from_record,
)
from admiral.errors import AdmiralError
from admiral.records import Claim, Hop, RetrievalResult

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
            else:
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
