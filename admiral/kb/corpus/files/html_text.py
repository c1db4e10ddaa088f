"""Remove the tags of short pieces of HTML with the standard library, as in Markdown files."""

from __future__ import annotations

from html.parser import HTMLParser

_HIDDEN = {"script", "style", "pre", "svg", "template"}


class _Words(HTMLParser):
    """Collect the text outside of hidden elements."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in _HIDDEN
        self.parts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in _HIDDEN and self._hidden > 0

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)


def plain_html(html: str) -> str:
    """Return the text of a piece of HTML."""
    words = _Words()
    words.feed(html)
    words.close()
    return "".join(words.parts)
