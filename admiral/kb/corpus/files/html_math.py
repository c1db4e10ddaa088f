"""Write formulas of MathML on one line: their TeX source, or else ``a^2 + b_1``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_DEEPEST = 100
_JOINTS = {"msup": "^", "msub": "_", "mfrac": "/", "mover": "^", "munder": "_", "mroot": "^1/"}
_STYLE = re.compile(r"\{\\(?:display|text)style\s*(.*)\}", re.DOTALL)
_STYLE_ALONE = re.compile(r"\\(?:display|text)style\b\s*")
_SHORT_SCRIPT = re.compile(r"([\^_])\{(\w+)\}")


def formula_text(math: LexborNode) -> str:
    """Return the text of an element ``math``."""
    source = math.css_first("annotation[encoding*=tex i]")
    if source is not None:
        return tex_text(source.text())
    return " ".join(_text(math, 0).split())


def tex_text(source: str) -> str:
    """Return TeX without what only says how it is set."""
    source = source.strip()
    if match := _STYLE.fullmatch(source):
        source = match[1]
    return _SHORT_SCRIPT.sub(r"\1\2", " ".join(_STYLE_ALONE.sub("", source).split()))


def _text(node: LexborNode, depth: int) -> str:
    if depth > _DEEPEST:
        return node.text()
    parts = []
    for child in node.iter(include_text=True):
        if child.tag == "-text":
            parts.append((child.text_content or "").strip())
        elif child.tag not in ("annotation", "annotation-xml"):
            parts.append(_text(child, depth + 1))
    tag = node.tag or ""
    if tag in _JOINTS and len(parts) == 2:
        return _JOINTS[tag].join(map(_grouped, parts))
    if tag in ("msubsup", "munderover") and len(parts) == 3:
        base, low, high = map(_grouped, parts)
        return f"{base}_{low}^{high}"
    if tag == "msqrt":
        return f"√({''.join(parts)})"
    if tag == "mtr":
        return " ".join(parts) + "; "
    # Two numbers side by side are two numbers.
    joined = ""
    for part in parts:
        joined += (" " if joined[-1:].isdigit() and part[:1].isdigit() else "") + part
    return joined


def _grouped(text: str) -> str:
    return text if len(text) < 2 or text.isalnum() else f"({text})"
