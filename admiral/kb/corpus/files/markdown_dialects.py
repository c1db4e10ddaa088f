"""Rewrite what extensions of Markdown add to it as plain Markdown, line by line.

Admonitions and tabs (``!!! note``, ``=== "Tab"``), containers (``:::note``), directives of MyST,
lists of attributes (``{: .wide}``), definitions of abbreviations, comments and marked changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r"\s*(?:[-*+>]\s+)*(`{3,}|~{3,})([^`]*)$")
_INDENTED = re.compile(r"( *)(?:(?:!!!|\?\?\?\+?)[ \t]+[A-Za-z][^\"']*|===[!+]?[ \t]+(?=[\"']))")
_CONTAINER = re.compile(r":{3,}[ \t]*(?:\{[^{}]*\}|[\w.-]+)?")
_DIRECTIVE = re.compile(
    r"\{(?:admonition|attention|caution|danger|dropdown|epigraph|error|hint|important|margin|note|"
    r"seealso|sidebar|tip|topic|warning)\}\s*(.*)"
)
_OPTION = re.compile(r"\s*:[\w-]+:(?:\s|$)")
_NOT_SHOWN = re.compile(
    r"\s*(?:\{:[^{}]*\}|\*\[[^\[\]]+\]:.*|\[(?:toc|\[(?:toc|_toc_)\])\]|\\(?:newpage|pagebreak))\s*$",
    re.IGNORECASE,
)
# CriticMarkup: deletions, remarks, replacements, insertions and highlights; comments of Obsidian.
_CHANGES = (
    (re.compile(r"\{--.{0,2000}?--\}|\{>>.{0,2000}?<<\}", re.DOTALL), ""),
    (re.compile(r"\{~~[^~]*~>([^~]*)~~\}"), r"\1"),
    (re.compile(r"\{(\+\+|==)(.{0,2000}?)\1\}", re.DOTALL), r"\2"),
    (re.compile(r"(?<!\w)%%[^%]{1,2000}%%(?!\w)"), ""),
)
# What any of these lines begins with.
_SPECIAL = frozenset("`~!?=:{*[\\-+>")
_STEP = 4  # columns


def plain_markdown(source: str) -> str:
    """Return Markdown without what CommonMark, its tables and its footnotes do not know."""
    lines = "\n".join(_lines(source.split("\n")))
    for pattern, text in _CHANGES:
        lines = pattern.sub(text, lines)
    return lines


def _lines(lines: list[str]) -> Iterator[str]:
    inner: list[int] = []  # columns where the text of open admonitions begins
    directives: list[str] = []  # fences of open directives
    fence = ""
    in_options = False
    for line in lines:
        if inner:
            line = line.expandtabs(_STEP)
            indent = len(line) - len(line.lstrip())
            while inner and line.strip() and not fence and indent < inner[-1]:
                inner.pop()
            line = line[min(_STEP * len(inner), indent) :] if line.strip() else ""
        elif not fence and not in_options and line.lstrip()[:1] not in _SPECIAL:
            yield line
            continue
        mark = _FENCE.match(line)
        if in_options and _OPTION.match(line):
            continue
        in_options = False
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
            yield line
        elif mark and directives and mark[1] == directives[-1] and not mark[2].strip():
            directives.pop()
            yield ""
        elif mark and (directive := _DIRECTIVE.match(mark[2].strip())):
            directives.append(mark[1])
            in_options = True
            yield from ("", directive[1], "")
        elif mark:
            fence = mark[1]
            yield line
        elif match := _INDENTED.match(line):
            inner.append(len(match[1]) + _STEP * (len(inner) + 1))
            yield from ("", match[1] + line[match.end() :].strip(" \t\"'"), "")
        elif match := _CONTAINER.match(line.lstrip()):
            yield from ("", line.lstrip()[match.end() :].strip(" \t:[]"), "")
        elif not _NOT_SHOWN.match(line):
            yield line
