"""Results, documents and judgements as readable text, as JSON and as an HTML page."""

from __future__ import annotations

import base64
import hashlib
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

import click
from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from admiral.io.sentence_splitter import split_sentences
from admiral.records import Document, RetrievalResult, ScoredTitle, Sentence, json_of
from proofs import Judgement, Proof
from proofs.judges.claim_form import form_warning
from proofs.judges.judgement import Conflict, ScoredVerdict
from proofs.logic.wording import escaped

STOPPED = {
    "sufficient": "the evidence is sufficient",
    "max_hops": "no hops were left",
    "dead_end": "nothing more could be found",
}
_CAUTION = "It is what the steps add up to; they are a program's and may be wrong."
_ESTIMATE = "It is the verifier's estimate, and may be wrong."
_JOINERS = "\u200c\u200d"  # format characters in the spelling of Persian, Hindi and emoji


def claim_notes(text: str) -> tuple[str, ...]:
    """Return what a reader should know of a text that is given as a claim; mostly nothing.

    A text that states nothing has no verdict. Several sentences have one verdict together.
    """
    if warning := form_warning(text):
        return (warning,)
    count = len(split_sentences(text))
    if count < 2:
        return ()
    return (
        f"These are {count} sentences with one verdict together: it is refuted if one of them is. "
        "Check each as a claim of its own to see which.",
    )


def printable(text: str, limit: int | None = None) -> str:
    """Return a text on one line that is safe to print on a terminal.

    White space becomes single spaces. Control characters, characters that change the direction of
    writing, and lone surrogates are escaped. Texts of more than `limit` characters are truncated.
    """
    if limit is not None and len(text) > limit:
        text = text[:limit].rstrip() + "…"
    return "".join(
        ascii(char)[1:-1] if _is_unsafe(char) else char for char in " ".join(text.split())
    )


def _is_unsafe(char: str) -> bool:
    category = unicodedata.category(char)
    return category in ("Cc", "Cs") or (category == "Cf" and char not in _JOINERS)


def sufficiency_statement(judgement: Judgement, yet: str = "") -> str:
    """Return the sentence that says whether evidence is sufficient, and how probably.

    - `yet`: what follows "not", such as "yet ".
    """
    share, needed = judgement.probability, judgement.stop_at
    if judgement.sufficient:
        note = "" if share is None else f" (probability {share:.2f})"
        return f"The evidence is sufficient{note}."
    if share is None:
        note = ""
    elif needed is None:
        note = f" (probability that it is: {share:.2f})"
    elif share < needed:
        note = f" (probability that it is: {_below(share, needed)}; needed: {needed:.2f})"
    else:
        note = " (no other verdict is as probable)"
    return f"The evidence is not {yet}sufficient{note}."


def _below(share: float, limit: float) -> str:
    shown = (f"{share:.{digits}f}" for digits in range(2, 7))
    return next((text for text in shown if float(text) < limit), f"{share}")


def verdict_statement(verdict: ScoredVerdict | None, notes: Sequence[str], form: str = "{}") -> str:
    """Return the sentences that state a verdict and where it comes from, or why there is none.

    - `notes`: what a reader should know of the claim.
    - `form`: how the words of the verdict are to be shown.
    """
    if verdict is None:
        return " ".join(("No verdict.", *notes))
    words = form.format(verdict.words)
    if verdict.probabilities is None:
        return f"The proof's verdict, not the truth: {words}. {_CAUTION}"
    shares = verdict.probabilities.items()
    others = [f"{label.words} {share:.0%}" for label, share in shares if label is not verdict.label]
    note = ""
    if verdict.outweighed is not None:
        note = (
            f' "{verdict.outweighed.words}" is more probable, but "supported" and "refuted" '
            f"together are not as probable as stop_at={verdict.stop_at:g} asks for."
        )
    return f"Verdict: {words} ({', '.join(others)}).{note} {_ESTIMATE}"


def conflict_statement(conflict: Conflict, texts: Mapping[tuple[str, int], str]) -> str:
    """Return the sentence that shows both sides of evidence that contradicts itself.

    - `texts`: the sentences of the evidence, by title and number.
    """
    sides = (conflict.supporting, conflict.refuting)
    one, other = (
        f'"{texts.get((side.title, side.sentence_id), "")}"'
        + (f" [{side.title}]" if side.title else "")
        for side in sides
    )
    return f"The evidence contradicts itself: {one} speaks for the claim, {other} against it."


def search_record(
    rank: int, scored: ScoredTitle, document: Document, sentence: Sentence | None
) -> dict[str, Any]:
    """Return a document that BM25 has found, with its rank and the sentence that matches best."""
    return {
        "rank": rank,
        "title": scored.title,
        **({"id": document.id} if document.id else {}),
        "score": round(scored.score, 6),
        "sentence_id": None if sentence is None else sentence.index,
        "text": None if sentence is None else sentence.text,
        **({"source": document.source} if document.source else {}),
    }


def graph_sentence(sentence: Sentence) -> dict[str, Any]:
    """Return a sentence, with its score unless that is 0."""
    record: dict[str, Any] = {
        "title": sentence.title,
        "sentence_id": sentence.index,
        "text": sentence.text,
    }
    return {**record, "score": round(sentence.score, 9)} if sentence.score else record


def judgement_record(
    claim: str, evidence: Sequence[tuple[str, str]], judgement: Judgement
) -> dict[str, Any]:
    """Return the judgement of a claim with the (title, sentence) pairs that it was proved from."""
    record: dict[str, Any] = {
        "claim": claim,
        "evidence": [{"title": title, "text": text} for title, text in evidence],
        **json_of(judgement),
    }
    if notes := claim_notes(claim):
        record["warnings"] = list(notes)
    return record


# Nothing but the page's own style sheets: texts and titles are of untrusted corpora.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light dark; }
body { font-family: sans-serif; line-height: 1.4; max-width: 60em; margin: auto; padding: 1em; }
"""


def page_file(name: str) -> str:
    """Return a style sheet or a script of a page, after a line break."""
    return "\n" + (resources.files("admiral") / "data" / "pages" / name).read_text("utf-8")


def page_template(name: str, names: Mapping[str, object] = {}, trim: bool = False) -> Template:
    """Return the template of a page, with names that it uses; `text` escapes.

    Those of text, whose names end in ``.txt``, escape nothing.
    """
    pages = Environment(
        trim_blocks=trim,
        lstrip_blocks=trim,
        keep_trailing_newline=name.endswith(".txt"),
        undefined=StrictUndefined,
        autoescape=name.endswith(".html"),
        loader=FunctionLoader(lambda name: page_file(name).lstrip()),
    )
    pages.filters["printable"] = printable
    return pages.get_template(name, globals={"text": lambda words: Markup(escaped(words)), **names})


def script_policy(script: str) -> str:
    """Return the content security policy of a page that loads nothing but its own script."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def page_head(title: str, style: str = STYLE, policy: str = "") -> str:
    """Return the beginning of a page up to ``<body>``.

    `title`, `style`: title and CSS, inserted without escaping.
    """
    return page_template("head.html").render(title=title, style=style, policy=policy)


_PROOF_PAGE = page_template("proof.html", trim=True)


def judgement_page(claim: str, evidence: Sequence[tuple[str, str]], judgement: Judgement) -> str:
    """Return a page with a claim, its proof, the conclusions and the evidence.

    `evidence`: (title, sentence) pairs.
    """
    proof, conflict, notes = judgement.proof, judgement.conflict, claim_notes(claim)
    texts = {(title, number): text for number, (title, text) in enumerate(evidence)}
    return page_head("Proof", policy=_POLICY) + _PROOF_PAGE.render(
        claim=claim,
        evidence=evidence,
        judgement=judgement,
        proof="" if proof is None else Markup(proof.to_html(evidence)),
        conflict="" if conflict is None else conflict_statement(conflict, texts),
        sufficiency=sufficiency_statement(judgement),
        verdict=Markup(verdict_statement(judgement.scored_verdict, notes, "<strong>{}</strong>")),
        notes=notes if judgement.verdict else (),
    )


def render_text(name: str, *, colour: bool = False, width: int = 100, **values: Any) -> str:
    """Render readable text by the template `name`.

    With `colour`, the bold and dim type of terminals is used.
    """

    def wrap(text: str, indent: str = "", later: str = "  ") -> str:
        lines = textwrap.wrap(
            text,
            max(width, 20),
            initial_indent=indent,
            subsequent_indent=" " * len(indent) + later,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return "\n".join(lines)

    def dim(text: str) -> str:
        return click.style(text, dim=True) if colour else text

    def numbered(number: str, sentence: str) -> str:
        wrapped = wrap(printable(sentence), f"{number}  ", "").removeprefix(number)
        return (dim(number) + wrapped).rstrip()

    functions = {
        "text": printable,
        "wrap": wrap,
        "bold": lambda text: click.style(text, bold=True) if colour else text,
        "dim": dim,
        "numbered": numbered,
        "stopped": STOPPED,
        "sufficiency_statement": sufficiency_statement,
        "verdict_statement": verdict_statement,
        "conflict_statement": conflict_statement,
        "missing": _missing,
        "in_words": lambda proof, found: proof.in_words(
            [(each.title, each.text) for each in found]
        ),
        "by_key": lambda evidence: {each.key: each.text for each in evidence},
    }
    return _text_template(name).render(functions, **values)


_text_template = cache(lambda name: page_template(f"{name}.txt", trim=True))


def _missing(proof: Proof) -> str:
    return ", ".join(
        f'"{span}"' + (f" ({question})" if question else "") for span, question in proof.questions()
    )


def render_result(result: RetrievalResult, *, colour: bool = False, width: int = 100) -> str:
    """Render hops, evidence, proofs, the reason for stopping, the verdict and the ranking."""
    return render_text("result", colour=colour, width=width, result=result)


def render_judgement(
    claim: str,
    evidence: Sequence[tuple[str, str]],
    judgement: Judgement,
    *,
    colour: bool = False,
    width: int = 100,
) -> str:
    """Render the judgement of a claim on (title, sentence) pairs."""
    return render_text(
        "judgement",
        colour=colour,
        width=width,
        claim=claim,
        evidence=[Sentence(title, n, text) for n, (title, text) in enumerate(evidence)],
        judgement=judgement,
        notes=claim_notes(claim),
    )
