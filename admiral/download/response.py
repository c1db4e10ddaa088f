"""What a server answers to a request for a file or for the rest of one."""

from __future__ import annotations

import http.client
import re
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Body:
    """The bytes of a file from a place on.

    Attributes
    ----------
    start
        Their place in the file; 0 where the server gives the whole file, asked for or not.
    total
        The length of the whole file, None where the server does not tell.
    validator
        What the server knows this version of the file by, None where it has nothing strong.
    """

    start: int
    total: int | None
    validator: str | None
    response: Any

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; none at the end."""
        return bytes(self.response.read1(size))


@contextmanager
def opened(request: urllib.request.Request, timeout: float) -> Iterator[Body]:
    """Send a request and give the body of the answer."""
    with urllib.request.urlopen(request, timeout=timeout) as response:
        start, total = 0, _number(response.headers.get("Content-Length"))
        if response.status == http.client.PARTIAL_CONTENT:
            found = re.fullmatch(
                r"bytes (\d{1,30})-\d+/(\d+|\*)", response.headers.get("Content-Range", "")
            )
            if found is None:
                raise http.client.HTTPException("a part of unknown place")
            start, total = int(found[1]), None if found[2] == "*" else _number(found[2])
        yield Body(start, total, _strong(response.headers), response)


def _number(text: str | None) -> int | None:
    """Return the length that a header tells; a wrong one is an answer that cannot be trusted."""
    if text is not None and not re.fullmatch(r"[0-9]{1,30}", text.strip()):
        raise http.client.HTTPException(f"a length of {text[:20]!r}")
    return None if text is None else int(text)


def _strong(headers: Any) -> str | None:
    """Return the entity tag, unless it is a weak one, which says nothing about bytes."""
    tag = headers.get("ETag")
    if tag and not tag.startswith("W/"):
        return str(tag)
    return headers.get("Last-Modified") if not tag else None
