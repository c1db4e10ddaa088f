"""The wikitext of a reference to a source, to be pasted into a page."""

from __future__ import annotations

import re

from admiral.sources import Source

_UNSAFE = re.compile(r"[\x00-\x20\x7f-\xa0\s|{}\[\]<>\"]|[\ud800-\udfff]")
# What ends a parameter or opens markup, and how it is written inside one.
_MARKUP = {"|": "{{!}}", "{{": "{&#123;", "}}": "}&#125;", "[": "&#91;", "]": "&#93;", "<": "&lt;"}
_ANY_MARKUP = re.compile("|".join(map(re.escape, _MARKUP)))


def cite_web(source: Source) -> str:
    """Return a source as a ``{{cite web}}`` template; empty if it has no web address.

    The editor who reads the source adds the access date.
    """
    if not re.match(r"https?://", source.url, re.IGNORECASE):
        return ""
    language = "" if source.states_english else source.language
    parameters = {
        "url": _address(source.url),
        "title": _value(source.title) or _address(source.url),
        "website": _value(source.site),
        "date": _value(source.date),
        "language": _value(language),
        "archive-url": _address(source.archive_url),
    }
    given = "".join(f" |{name}={value}" for name, value in parameters.items() if value)
    return f"{{{{cite web{given}}}}}"


def _address(url: str) -> str:
    def escaped(match: re.Match[str]) -> str:
        return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace"))

    return _UNSAFE.sub(escaped, url)


def _value(text: str) -> str:
    printable = "".join(c for c in text if c.isprintable() or c.isspace())
    return _ANY_MARKUP.sub(lambda match: _MARKUP[match[0]], " ".join(printable.split()))
