"""The claims of a stream that have been read and whose results are not out yet, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from admiral.retrieval.state import Progress

# Claims that may be on their way or wait for one before them, in batches: no claim has more than
# so many hops, mostly, so that a slow one keeps nobody waiting.
AHEAD = 4


class Window:
    """Hands out claims for a hop each, and lets them out in the order in which they came in.

    Parameters
    ----------
    claims
        The stream. Where it fails, the claims before are answered first.
    batch_size
        The window holds `AHEAD` times as many.
    ready
        Whether the stream would give its next claim at once.
    """

    def __init__(
        self, claims: Iterable[Progress], batch_size: int, ready: Callable[[], bool]
    ) -> None:
        self._stream, self._ready = self._read(claims), ready
        self._room = AHEAD * batch_size
        self._claims: deque[Progress] = deque()
        self._travelling: set[int] = set()
        self._failure: Exception | None = None

    def take(self, count: int) -> list[Progress]:
        """Return claims that wait, the first ones first, and new ones if they are too few.

        It waits for the stream only where there is nothing else to do.
        """
        found = [
            one for one in self._claims if one.stopped is None and id(one) not in self._travelling
        ][:count]
        while len(found) < count and len(self._claims) < self._room:
            if self._claims and not self._ready():
                break
            one = next(self._stream, None)
            if one is None:
                break
            self._claims.append(one)
            found.append(one)
        self._travelling.update(map(id, found))
        return found

    def give_back(self, batch: Sequence[Progress]) -> None:
        """Take note that claims have made a hop."""
        self._travelling.difference_update(map(id, batch))

    def finished(self) -> Iterator[Progress]:
        """Yield the claims that have stopped, up to the first one that has not."""
        while self._claims and self._claims[0].stopped is not None:
            yield self._claims.popleft()

    def end(self) -> None:
        """Raise what the stream raised; to be called when no claim is left."""
        if self._failure is not None:
            raise self._failure

    def _read(self, claims: Iterable[Progress]) -> Iterator[Progress]:
        try:
            yield from claims
        except Exception as error:
            self._failure = error
