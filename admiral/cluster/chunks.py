"""Who answers which claims: lots are handed out, tried again when they fail, and told in order.

A lot that fails, because it raised an error or because its worker or node died, is tried again as
it is; the second time, or if its worker hung, it is taken apart. From then on each of its claims is
alone, so that a claim is blamed for nothing but its own failures: after so many of these it is
passed over.
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
class Lot:
    """Claims that are answered together.

    Attributes
    ----------
    first
        The place of the first claim in the run, from 0; the others follow it.
    claims
        The claims.
    failures
        How often these very claims have failed.
    """

    first: int
    claims: tuple[Claim, ...]
    failures: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """A claim that was passed over, how often it was tried alone, and what went wrong last."""

    claim: Claim
    attempts: int
    error: str

    def to_json(self) -> Record:
        """Return the record of the file beside the results, which can be read as a claim."""
        return {
            "id": self.claim.id,
            "claim": self.claim.text,
            "attempts": self.attempts,
            "error": self.error,
        }


class Ledger:
    """The state of a run, whoever does the work.

    Parameters
    ----------
    claims
        Read as they are needed.
    size
        Claims of a lot.
    ahead
        So many claims are read at most beyond the first that has no outcome yet: what is kept in
        memory, and lost with this process, is bounded.
    attempts
        So often a claim fails alone before it is passed over.
    """

    def __init__(self, claims: Iterable[Claim], *, size: int, ahead: int, attempts: int) -> None:
        if min(size, attempts) < 1 or ahead < size:
            raise ValueError(f"lots of {size}, {ahead} ahead, {attempts} attempts")
        self._claims = iter(claims)
        self._next = next(self._claims, None)
        self._size, self._ahead, self._attempts = size, ahead, attempts
        self._again: deque[Lot] = deque()
        self._outcomes: dict[int, Record | Failure] = {}  # by place, until it is their turn
        self._read = self._told = 0

    @property
    def done(self) -> bool:
        """Whether every claim has been told of."""
        return self._next is None and self._told == self._read

    def take(self) -> Lot | None:
        """Return a lot to be answered: a failed one first; None if there is none for now."""
        if self._again:
            return self._again.popleft()
        room = self._told + self._ahead - self._read
        if room <= 0 or self._next is None:
            return None
        claims = (self._next, *islice(self._claims, min(self._size, room) - 1))
        self._next = next(self._claims, None)
        lot = Lot(self._read, claims)
        self._read += len(claims)
        return lot

    def answered(self, lot: Lot, records: Sequence[Record]) -> None:
        """Note the records of a lot, one for each claim in order."""
        ids = [record["id"] for record in records]
        if ids != [claim.id for claim in lot.claims]:
            raise ValueError(f"records of {ids} for other claims")
        self._outcomes.update(enumerate(records, lot.first))

    def failed(self, lot: Lot, error: str, *, apart: bool = False) -> None:
        """Note that nothing came of a lot, and why; `apart` is whether not to try it as it is."""
        failures = lot.failures + 1
        if len(lot.claims) == 1:
            if failures < self._attempts:
                self._again.append(replace(lot, failures=failures))
            else:
                self._outcomes[lot.first] = Failure(lot.claims[0], failures, error)
        elif failures == 1 and not apart:
            self._again.append(replace(lot, failures=failures))
        else:
            self._again.extend(Lot(n, (c,)) for n, c in enumerate(lot.claims, lot.first))

    def in_order(self) -> Iterator[Record | Failure]:
        """Yield the outcomes whose turn has come, each once, in the order of the claims."""
        while (outcome := self._outcomes.pop(self._told, None)) is not None:
            self._told += 1
            yield outcome
