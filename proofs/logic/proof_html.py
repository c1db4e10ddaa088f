"""Proofs as HTML: a table with the claim span, the operator in words and the evidence span.

The fragment refers to nothing outside itself and can be placed in any page.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable, Sequence

from proofs.logic.operators import NatOp
from proofs.logic.wording import cited_steps, contrasting_words

STYLE = """
.proof { border-collapse: collapse; }
.proof th, .proof td { padding: 0.3em 0.8em; text-align: left; vertical-align: top; }
.proof tr { border-bottom: 1px solid #ccc; border-left: 0.4em solid #ccc; }
.proof .equivalence, .proof .forward { border-left-color: #2a7d4f; }
.proof .negation, .proof .alternation { border-left-color: #b3261e; }
.proof .reverse, .proof .independence { border-left-color: #b07d00; }
.proof cite { color: #666; }
"""


def proof_table(
    steps: Iterable[tuple[str, str, NatOp]],
    evidence: Sequence[tuple[str, str]] = (),
    styled: bool = True,
) -> str:
    """Return the HTML table of (claim span, evidence span, operator) triples.

    Parameters
    ----------
    steps
        The steps of a proof.
    evidence
        Pairs of title and sentence. The title of the quoted document is shown beside each span.
    styled
        Whether to include the style sheet. A page of many proofs includes `STYLE` once instead.
    """
    rows = []
    for (claim, quoted, operator), title in cited_steps(steps, evidence):
        closest = "closest: " if operator is NatOp.INDEPENDENCE and quoted else ""
        cell = closest + (f"“{escaped(quoted)}”" if quoted else "")
        cell += f" <cite>{escaped(title)}</cite>" if title else ""
        contrast = contrasting_words(claim, quoted, operator)
        if contrast is not None:
            ours, theirs = map(escaped, contrast)
            cell += f"<br>the claim says “{ours}”, the evidence “{theirs}”"
        rows.append(
            f'<tr class="{operator.name.lower()}"><td>“{escaped(claim)}”</td>'
            f"<td>{escaped(operator.phrase)}</td><td>{cell}</td></tr>\n"
        )
    head = "<tr><th>The claim</th><th></th><th>The evidence</th></tr>\n"
    style = f"<style>{STYLE}</style>\n" if styled else ""
    return f'{style}<table class="proof">\n{head}{"".join(rows)}</table>\n'


def escaped(text: str) -> str:
    """Return a text on one line, escaped for use between HTML tags.

    Changes of writing direction are isolated from the surrounding text. Otherwise as
    `escaped_text`.
    """
    return f"<bdi>{escaped_text(text)}</bdi>"


def escaped_text(text: str) -> str:
    """Return a text on one line, escaped for use where HTML has no elements, such as in SVG.

    Control characters and lone surrogates, which HTML cannot hold, are shown as escapes.
    """
    shown = "".join(
        ascii(char)[1:-1] if unicodedata.category(char) in ("Cc", "Cs", "Cn") else char
        for char in " ".join(text.split())
    )
    return html.escape(shown)
