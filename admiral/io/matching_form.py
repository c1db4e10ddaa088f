"""One form of texts in which spellings that look the same are the same, for matching only.

Texts are stored as they were. The form is NFKC with plain apostrophes and hyphens, and without
soft hyphens and signs of no width. Raised numbers and fractions never join the digits before them.
"""

from __future__ import annotations

import re
import unicodedata

#: The number of this form; indexes note with which one they were built. 1 is the text as it is.
MATCHING_FORM = 2

_APOSTROPHE = re.compile("[‘’‚‛ʼʹʻˈ′´＇՚Ꞌꞌ]")
_HYPHEN = re.compile("[‐-―−﹘﹣－⁃]")
# Soft hyphens, signs of no width and variation selectors.
_LEFT_OUT = re.compile("[\u00ad\u180e\ufeff\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f]+")
_RAISED, _LOWERED = "⁰¹²³⁴-⁹", "₀-₉"
# Fractions, numbers in circles and others that NFKC writes with digits.
_OTHER = "¼-¾⅐-⅞①-⓪㉑-㉟㊱-㊿㋀-㋋㍘-㍰㏠-㏾"
_ODD = _RAISED + _LOWERED + _OTHER
# What is inserted between digits of different kinds.
_BETWEEN = (
    (re.compile(rf"(?<=\d)(?=[{_RAISED}]|[⁺⁻][{_RAISED}])"), "^"),
    (re.compile(rf"(?<=\d)(?=[{_LOWERED}])"), "_"),
    (re.compile(rf"(?<=[{_ODD}])(?=\d)|(?<=[\d{_ODD}])(?=[{_OTHER}])"), " "),
    (re.compile(rf"(?<=[{_OTHER}{_LOWERED}])(?=[{_RAISED}])"), " "),
    (re.compile(rf"(?<=[{_OTHER}{_RAISED}])(?=[{_LOWERED}])"), " "),
)
# A character with the marks that combine with it, and the signs that are left out between them.
_CLUSTER = re.compile(
    rf"\d*[{_ODD}⁺⁻][\d{_ODD}⁺⁻]*|[^\W_](?:[\u0300-\u036f\u1100-\u11ff\u3099\u309a\ufe00-\ufe0f"
    r"\u00ad\u180e\ufeff\u200b-\u200f\u2060-\u2064]+)?|[\s\S]"
)


def matching_form(text: str) -> str:
    """Return a text in the form for matching. The function is idempotent."""
    if text.isascii():
        return text
    while (form := _normalised(text)) != text:
        text = form
    return text


def _normalised(text: str) -> str:
    text = _LEFT_OUT.sub("", _HYPHEN.sub("-", _APOSTROPHE.sub("'", text)))
    if unicodedata.is_normalized("NFKC", text):  # digits of other kinds are not
        return text
    for place, sign in _BETWEEN:
        text = place.sub(sign, text)
    return unicodedata.normalize("NFKC", text)


def matching_form_with_offsets(text: str) -> tuple[str, list[int]]:
    """Return the form of a text, and the offset in the text of each of its characters and its end.

    Each character is taken with the marks that combine with it.
    """
    if text.isascii():
        return text, list(range(len(text) + 1))
    forms: list[str] = []
    offsets: list[int] = []
    for match in _CLUSTER.finditer(text):
        form = matching_form(match.group())
        forms.append(form)
        offsets += [match.start()] * len(form)
    return "".join(forms), [*offsets, len(text)]
