"""A service that is opened when it is first needed, so that an assistant need not wait for it."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from admiral.serving.service import Service

logger = logging.getLogger(__name__)


class LateService:
    """Open a service once; after an error, the next use tries again."""

    def __init__(self, open_service: Callable[[], Service]) -> None:
        self._open_service = open_service
        self._service: Service | None = None
        self._lock = threading.Lock()

    @classmethod
    def opened(cls, service: Service) -> LateService:
        """Return a service that is open already."""
        late = cls(lambda: service)
        late._service = service
        return late

    @property
    def is_open(self) -> bool:
        """Whether it has been opened."""
        return self._service is not None

    async def get(self) -> Service:
        """Return the service; the first call opens it in another thread."""
        if self._service is not None:
            return self._service
        return await asyncio.to_thread(self._get)

    def _get(self) -> Service:
        with self._lock:
            if self._service is None:
                started = time.perf_counter()
                logger.info("opening the model and the knowledge bases")
                self._service = self._open_service()
                logger.info("opened in %.1f seconds", time.perf_counter() - started)
            return self._service

    def close(self) -> None:
        """Close the service if it was opened."""
        with self._lock:
            if self._service is not None:
                self._service.close()
