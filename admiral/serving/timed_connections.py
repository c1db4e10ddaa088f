"""Connections that are closed unless they begin with a request in time."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol


def timed_connections(seconds: float) -> type[asyncio.Protocol]:
    """Return a class of connections for uvicorn, which itself waits for headers without end.

    Once a request is complete, uvicorn closes a connection that remains idle.

    Parameters
    ----------
    seconds
        Time until the headers of the first request have to be there.
    """

    class TimedConnection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.loop.call_later(seconds, self._close_if_idle)

        def _close_if_idle(self) -> None:
            if self.cycle is None:
                self.transport.close()

    return TimedConnection
