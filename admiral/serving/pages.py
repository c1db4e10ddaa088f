"""The pages of the service for browsers: static files with a strict Content-Security-Policy."""

from __future__ import annotations

from importlib.resources import files
from mimetypes import guess_type

from fastapi import APIRouter, Response

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}

router = APIRouter(include_in_schema=False)


def _add_file(name: str, content: bytes) -> str:
    """Add the route of a file, and return its path."""
    path = {"index.html": "/", "audit.html": "/audit"}.get(name, f"/page/{name}")
    media_type, _ = guess_type(name)

    @router.api_route(path, methods=["GET", "HEAD"], name=name)
    def page_file() -> Response:
        return Response(content, headers=_HEADERS, media_type=media_type)

    return path


#: The paths of the pages, which hold no data and need no key.
PAGE_PATHS = tuple(
    _add_file(file.name, file.read_bytes())
    for file in (files("admiral") / "serving" / "page").iterdir()
    if file.is_file()
)
