"""The page of the service: static files with a strict Content-Security-Policy."""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter, Response

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_FILES = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}

#: The paths of the page, which holds no data and needs no key.
PAGE_PATHS = tuple(_FILES)

router = APIRouter(include_in_schema=False)


def _add_file(path: str, name: str, media_type: str) -> None:
    content = (files("admiral") / "serving" / "page" / name).read_bytes()

    @router.get(path, name=name)
    def page_file() -> Response:
        headers = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-cache"}
        return Response(content, headers=headers, media_type=media_type)


for _path, _file in _FILES.items():
    _add_file(_path, *_file)
