"""Proofs as HTML: a table that says step by step what the claim says and what the evidence says.

The fragment refers to nothing outside itself and may be put into any page.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable, Sequence

from proofs.logic.operators import NatOp

STYLE = """
.proof { border-collapse: collapse; }
.proof th, .proof td { padding: 0.3em 0.8em; text-align: left; vertical-align: top; }
.proof tr { border-bottom: 1px solid #ccc; border-left: 0.4em solid #ccc; }
.proof .equivalence, .proof .forward { border-left-color: #2a7d4f; }
.proof .negation, .proof .alternation { border-left-color: #b3261e; }
.proof .reverse, .proof .independence { border-left-color: #b07d00; }
.proof cite { color: #666; }
"""


def table(
    steps: Iterable[tuple[str, str, NatOp]],
    evidence: Sequence[tuple[str, str]] = (),
    styled: bool = True,
) -> str:
    """Return the table of (claim span, evidence span, operator) triples.

    Parameters
    ----------
    steps
        The steps of a proof.
    evidence
        Pairs of title and sentence; the title of what a span is quoted from is shown beside it.
    styled
        Whether the fragment brings its style; a page of many proofs has `STYLE` once.
    """
    rows, near = [], None
    for claim, quoted, operator in steps:
        title = source(quoted, evidence, near) if quoted else None
        near = title or near
        closest = "closest: " if operator is NatOp.INDEPENDENCE and quoted else ""
        said = f"“{escaped(quoted)}”" if quoted else ""
        cited = f" <cite>{escaped(title)}</cite>" if title else ""
        rows.append(
            f'<tr class="{operator.name.lower()}"><td>“{escaped(claim)}”</td>'
            f"<td>{escaped(operator.phrase)}</td><td>{closest}{said}{cited}</td></tr>\n"
        )
    head = "<tr><th>The claim</th><th></th><th>The evidence</th></tr>\n"
    style = f"<style>{STYLE}</style>\n" if styled else ""
    return f'{style}<table class="proof">\n{head}{"".join(rows)}</table>\n'


def source(quoted: str, evidence: Sequence[tuple[str, str]], near: str | None = None) -> str | None:
    """Return the title of the document that a span is quoted from, None if it is from none.

    Of several documents that hold the span, `near` comes first, then the first one whose sentence
    holds it, then the first one whose title does.
    """
    in_sentences = [title for title, sentence in evidence if quoted in sentence]
    found = [*in_sentences, *(title for title, _ in evidence if quoted in title)]
    return near if near in found else next(iter(found), None)


def escaped(text: str) -> str:
    """Return a text on one line for use between tags.

    Control characters and lone surrogates, which HTML cannot hold, are shown as escapes; the
    direction of writing that a text sets ends with it.
    """
    shown = "".join(
        ascii(char)[1:-1] if unicodedata.category(char) in ("Cc", "Cs", "Cn") else char
        for char in " ".join(text.split())
    )
    return f"<bdi>{html.escape(shown)}</bdi>"
