"""Chunks of claims, retried when they fail, with the outcomes in the order of the claims.

A chunk that fails, because of an error or because its worker or node died, is retried as a whole.
If it fails again, or if its worker timed out, it is split into single claims, so that a claim is
only blamed for its own failures. A single claim that fails `attempts` times is given up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from admiral.records import Claim

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive claims that a worker retrieves together."""

    first: int
    claims: tuple[Claim, ...]
    failures: int = 0  # how often this chunk has failed


@dataclass(frozen=True, slots=True)
class FailedClaim:
    """A claim that was given up."""

    claim: Claim
    attempts: int  # how often it was tried alone
    error: str

    def to_json(self) -> Record:
        """Return the record for the file of failed claims, which can be read as claims."""
        return {
            "id": self.claim.id,
            "claim": self.claim.text,
            "attempts": self.attempts,
            "error": self.error,
        }


class RetryQueue:
    """The chunks to process, including failed ones, and the outcomes that wait for their turn.

    `ahead`: maximum number of claims that are read after the first one without an outcome. This
    bounds the memory, and what is lost if this process dies. `attempts`: number of times that a
    single claim may fail before it is given up.
    """

    def __init__(self, claims: Iterable[Claim], *, size: int, ahead: int, attempts: int) -> None:
        if min(size, attempts) < 1 or ahead < size:
            raise ValueError(f"chunks of {size}, {ahead} ahead, {attempts} attempts")
        self._claims = iter(claims)
        self._next = next(self._claims, None)
        self._size, self._ahead, self._attempts = size, ahead, attempts
        self._retries: deque[Chunk] = deque()
        self._outcomes: dict[int, Record | FailedClaim] = {}  # by index, until their turn
        self._read = self._yielded = 0

    @property
    def done(self) -> bool:
        """Whether the outcomes of all claims have been yielded."""
        return self._next is None and self._yielded == self._read

    def take(self) -> Chunk | None:
        """Return the next chunk to process, failed ones first; None if there is none for now."""
        if self._retries:
            return self._retries.popleft()
        count = min(self._size, self._yielded + self._ahead - self._read)
        if count <= 0 or self._next is None:
            return None
        claims = (self._next, *islice(self._claims, count - 1))
        self._next = next(self._claims, None)
        chunk = Chunk(self._read, claims)
        self._read += len(claims)
        return chunk

    def succeeded(self, chunk: Chunk, records: Sequence[Record]) -> None:
        """Store the records of a chunk, one for each claim in order."""
        ids = [record["id"] for record in records]
        if ids != [claim.id for claim in chunk.claims]:
            raise ValueError(f"records of {ids} for other claims")
        self._outcomes.update(enumerate(records, chunk.first))

    def failed(self, chunk: Chunk, error: str, *, split: bool = False) -> None:
        """Schedule a failed chunk again, or give up its claim.

        `split`: split it into single claims even after its first failure.
        """
        failures = chunk.failures + 1
        if len(chunk.claims) == 1:
            if failures < self._attempts:
                self._retries.append(replace(chunk, failures=failures))
            else:
                self._outcomes[chunk.first] = FailedClaim(chunk.claims[0], failures, error)
        elif failures == 1 and not split:
            self._retries.append(replace(chunk, failures=failures))
        else:
            self._retries.extend(Chunk(n, (c,)) for n, c in enumerate(chunk.claims, chunk.first))

    def in_order(self) -> Iterator[Record | FailedClaim]:
        """Yield each outcome once, in the order of the claims, as far as they are available."""
        while (outcome := self._outcomes.pop(self._yielded, None)) is not None:
            self._yielded += 1
            yield outcome
