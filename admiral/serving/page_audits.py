"""Audits of pages that editors send: one after the other in a thread; the latest are kept."""

from __future__ import annotations

import logging
import queue
import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from admiral.citations.audit_page import audit_page
from admiral.citations.citation_records import CitationVerdict
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.citer import Citer, urgency
from admiral.citations.extract import ReadPage
from admiral.citations.source_collections import source_texts
from admiral.errors import AdmiralError
from admiral.library import Library
from admiral.serving.claim_queue import QueueFullError

logger = logging.getLogger(__name__)

#: Audits that may wait, audits that are kept once they have ended, and statements of a page.
WAITING, KEPT, STATEMENTS = 4, 32, 2_000
State = Literal["waiting", "running", "complete", "failed"]


@dataclass(slots=True)
class PageAudit:
    """The audit of a page. Its `id` cannot be guessed; anyone who has it may read the audit."""

    id: str
    page: ReadPage
    state: State = "waiting"
    done: int = 0  # statements
    html: bytes = b""  # the audit, once it is complete
    problem: str = ""  # why it failed

    @property
    def statements(self) -> int:
        """The number of statements of the page."""
        return len(self.page.claims)


class PageAudits:
    """Audits pages by the sources of a library.

    `citer`, `library`: are closed with this object.
    """

    def __init__(self, citer: Citer, library: Library) -> None:
        self._citer, self._library = citer, library
        self._audits: OrderedDict[str, PageAudit] = OrderedDict()
        self._waiting: queue.Queue[PageAudit | None] = queue.Queue()
        self._places = threading.BoundedSemaphore(WAITING)
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="admiral-audits", daemon=True)
        self._thread.start()

    @classmethod
    def open(cls, library: Path, config: CitationConfig) -> Self:
        """Open a library and the verifier of the settings.

        Raises AdmiralError if one of them cannot be opened.
        """
        with ExitStack() as stack:
            citer = stack.enter_context(Citer.open(library, config=config))
            sources = stack.enter_context(Library.open(library))
            stack.pop_all()
        return cls(citer, sources)

    def submit(self, page: ReadPage) -> PageAudit:
        """Return the audit of a page, which waits for its turn.

        Raises AdmiralError if the page has no statement with a reference, or too many; raises
        QueueFullError if too many pages wait.
        """
        if not page.claims:
            raise AdmiralError("the page has no statement with a reference. Check its format")
        if len(page.claims) > STATEMENTS:
            raise AdmiralError(
                f"the page has {len(page.claims):,} statements, more than {STATEMENTS:,}. Send its "
                "sections one by one"
            )
        if not self._places.acquire(blocking=False):
            raise QueueFullError
        audit = PageAudit(secrets.token_urlsafe(16), page)
        with self._lock:
            self._audits[audit.id] = audit
            ended = [each.id for each in self._audits.values() if each.state in _ENDED]
            for id in ended[: max(0, len(ended) - KEPT)]:
                del self._audits[id]
        self._waiting.put(audit)
        return audit

    def audit(self, id: str) -> PageAudit | None:
        """Return an audit; None if there is none, or no longer."""
        with self._lock:
            return self._audits.get(id)

    def close(self) -> None:
        """End the audit that runs, and close the library."""
        self._stopping.set()
        self._waiting.put(None)
        self._thread.join()
        self._citer.close()
        self._library.close()

    def _run(self) -> None:
        while (audit := self._waiting.get()) is not None and not self._stopping.is_set():
            self._places.release()
            audit.state = "running"
            try:
                audit.html = "".join(self._parts(audit)).encode("utf-8", "replace")
                audit.state = "complete"
            except _StoppedError:
                return
            except AdmiralError as error:
                audit.problem, audit.state = str(error), "failed"
            except Exception:
                logger.exception("an audit has failed")
                audit.problem, audit.state = "internal error; see the log of the service", "failed"

    def _parts(self, audit: PageAudit) -> Iterator[str]:
        verdicts: list[CitationVerdict] = []
        for verdict in self._citer.verify_many(each.claim for each in audit.page.claims):
            if self._stopping.is_set():
                raise _StoppedError
            verdicts.append(verdict)
            audit.done = len(verdicts)
        verdicts.sort(key=urgency)
        title = audit.page.title or "a page without a title"
        return audit_page(title, verdicts, (), source_texts(self._library), audit.page)


_ENDED = ("complete", "failed")


class _StoppedError(Exception):
    """The service ends."""
