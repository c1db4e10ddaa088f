"""The pages of the service: static files with a strict Content-Security-Policy."""

from __future__ import annotations

from importlib.resources import files
from pathlib import PurePath

from fastapi import APIRouter, Response

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_PAGE = files("admiral") / "serving" / "page"
_PATHS = {"index.html": "/", "audit.html": "/audit"}

router = APIRouter(include_in_schema=False)


def _add_file(name: str) -> str:
    """Add the route of a file, and return its path."""
    content = (_PAGE / name).read_bytes()
    path = _PATHS.get(name, f"/page/{name}")
    media_type = _TYPES[PurePath(name).suffix]

    @router.api_route(path, methods=["GET", "HEAD"], name=name)
    def page_file() -> Response:
        return Response(content, headers=_HEADERS, media_type=media_type)

    return path


#: The paths of the pages, which hold no data and need no key.
PAGE_PATHS = tuple(_add_file(entry.name) for entry in _PAGE.iterdir() if entry.is_file())
