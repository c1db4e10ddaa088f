"""Replace the escape sequences of roff by the characters that they print."""

from __future__ import annotations

import re

_SPECIAL = {
    "lq": "“", "rq": "”", "oq": "‘", "cq": "’", "aq": "'", "dq": '"', "em": "—", "en": "–",
    "hy": "-", "bu": "•", "co": "©", "rg": "®", "tm": "™", "de": "°", "ha": "^", "ti": "~",
    "rs": "\\", "mi": "-", "mu": "×", "+-": "±", "<=": "≤", ">=": "≥", "!=": "≠", "->": "→",
    "<-": "←", "sc": "§", "ga": "`", "aa": "´", "ss": "ß", "ul": "_", "sl": "/", "ba": "|",
    "at": "@", "sh": "#", "Do": "$", "Fo": "«", "Fc": "»", "lB": "[", "rB": "]", "lC": "{",
    "rC": "}", "la": "⟨", "ra": "⟩", "Bq": "„", "bq": "‚", "12": "½", "14": "¼", "34": "¾",
    "R": "®", "Tm": "™", "c,": "ç", "/o": "ø", "/O": "Ø", "oa": "å", "AE": "Æ", "ae": "æ",
}  # fmt: skip
_ACCENTS = {
    "'": "\u0301",
    "`": "\u0300",
    ":": "\u0308",
    "^": "\u0302",
    "~": "\u0303",
    "v": "\u030c",
}
_ESCAPE = re.compile(
    r"\\(?:"
    r"(?P<none>[&|^%/,:)!?{}acdprtu]|f(?:\((?:..)|\[[^\]]*\]|.)|s(?:[+-]?\d{1,2}|\[[^\]]*\])"
    r"|[mMFgkn](?:\(..|\[[^\]]*\]|[^(\[])|[hvwlLoDHSRXYZAbBN]'[^']*')"
    r"|(?P<space>[ ~0])|(?P<minus>-)|(?P<backslash>[e\\E])|(?P<self>['`.\"])"
    r"|\((?P<two>..)|\[(?P<long>[^\]]*)\]|\*(?:\((?P<string>..)|\[(?P<name>[^\]]*)\]|(?P<one>.))"
    r")"
)
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)(?:"|$)|((?:\\ |\\.|\S)+)')


def without_escapes(line: str) -> str:
    """Return the characters that a line of roff prints."""
    return _ESCAPE.sub(_printed, line) if "\\" in line else line


def arguments(line: str) -> list[str]:
    """Return the arguments of a macro, which may be in quotes, without escapes."""
    found = (
        without_escapes(match.group(2) or (match.group(1) or "").replace('""', '"'))
        for match in _ARGUMENT.finditer(line)
    )
    return list(found)


def _printed(match: re.Match[str]) -> str:
    kind = match.lastgroup
    value = match.group(kind) if kind else ""
    if kind == "space":
        return " "
    if kind == "minus":
        return "-"
    if kind == "backslash":
        return "\\"
    if kind == "self":
        return str(value)
    if kind in ("two", "long", "string", "name"):
        return _character(str(value))
    return ""


def _character(name: str) -> str:
    if name in _SPECIAL:
        return _SPECIAL[name]
    if re.fullmatch(r"u[0-9A-F]{4,5}", name):
        return chr(int(name[1:], 16))
    if len(name) == 2 and name[0] in _ACCENTS and name[1].isalpha():
        return name[1] + _ACCENTS[name[0]]
    return ""
