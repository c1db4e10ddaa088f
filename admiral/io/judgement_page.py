"""Render a judgement as a self-contained HTML page."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources

from admiral.io.claim_notes import claim_notes
from admiral.io.text_rendering import (
    conflict_statement,
    sufficiency_statement,
    verdict_statement,
)
from proofs import Judgement
from proofs.logic.wording import escaped

# Nothing but the page's own style sheets: texts and titles are of untrusted corpora.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light dark; }
body { font-family: sans-serif; line-height: 1.4; max-width: 60em; margin: auto; padding: 1em; }
"""


def page_file(name: str) -> str:
    """Return a style sheet or a script of a page, after a line break."""
    return "\n" + (resources.files("admiral") / "data" / "pages" / name).read_text("utf-8")


def script_policy(script: str) -> str:
    """Return the content security policy of a page that loads nothing but its own script."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def page_head(title: str, style: str = STYLE, policy: str = "") -> str:
    """Return the beginning of a page up to ``<body>``.

    `title`, `style`: title and CSS, inserted without escaping.
    """
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n' if policy else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
{meta}<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
"""


def judgement_page(claim: str, evidence: Sequence[tuple[str, str]], judgement: Judgement) -> str:
    """Return a page with a claim, its proof, the conclusions and the evidence.

    `evidence`: (title, sentence) pairs.
    """
    parts = [page_head("Proof", policy=_POLICY), f"<h1>{escaped(claim)}</h1>\n"]
    parts.append(judgement.proof.to_html(evidence) if judgement.proof else "<p>No proof.</p>\n")
    parts += [f"<p>{line}</p>\n" for line in _conclusions(evidence, judgement)]
    parts += [f"<p>{escaped(note)}</p>\n" for note in claim_notes(claim)]
    parts.append("<h2>Evidence</h2>\n")
    items = [
        f"<li>{f'<cite>{escaped(title)}</cite>: ' if title else ''}{escaped(text)}</li>\n"
        for title, text in evidence
    ]
    parts.append(f"<ul>\n{''.join(items)}</ul>\n" if items else "<p>None.</p>\n")
    return "".join([*parts, "</body>\n</html>\n"])


def _conclusions(evidence: Sequence[tuple[str, str]], judgement: Judgement) -> list[str]:
    lines = []
    if judgement.proof is not None and judgement.missing:
        spans = ", ".join(
            f"“{escaped(span)}”" + (f" ({escaped(question)})" if question else "")
            for span, question in judgement.proof.questions()
        )
        lines.append(f"Not covered by the evidence: {spans}")
    lines += [f"Decided by comparison: {escaped(one.reason)}" for one in judgement.comparisons]
    if judgement.conflict is not None:
        texts = {(title, number): text for number, (title, text) in enumerate(evidence)}
        lines.append(escaped(conflict_statement(judgement.conflict, texts)))
    lines.append(sufficiency_statement(judgement))
    if judgement.verdict is not None:
        lines.append(verdict_statement(judgement, f"<strong>{judgement.verdict.value}</strong>"))
    return lines
