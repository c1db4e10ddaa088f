"""Results, documents and judgements as readable text, as JSON and as an HTML page."""

from __future__ import annotations

import base64
import hashlib
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

import click
from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from admiral.io.sentence_splitter import split_sentences
from admiral.records import Document, Hop, RetrievalResult, ScoredTitle, Sentence, json_of
from proofs import Judgement, Proof, Verdict
from proofs.judges.judgement import Conflict, form_warning
from proofs.logic.wording import escaped

STOPPED = {
    "sufficient": "the evidence is sufficient",
    "max_hops": "no hops were left",
    "dead_end": "nothing more could be found",
}
_CAUTION = "It is what the steps add up to; they are a program's and may be wrong."
_ESTIMATE = "It is the verifier's estimate, and may be wrong."
_SETS, _DOCUMENTS, _CHARACTERS = 3, 10, 500
_JOINERS = "\u200c\u200d"  # format characters in the spelling of Persian, Hindi and emoji


def claim_notes(text: str) -> tuple[str, ...]:
    """Return what a reader should know of a text that is given as a claim; mostly nothing.

    A question, an opinion or a name has no verdict. Several sentences have one verdict together.
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


_LEANINGS = {Verdict.SUPPORTS: "supported", Verdict.REFUTES: "refuted"}


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
        note = " (no other verdict is as probable as NOT ENOUGH INFO)"
    return f"The evidence is not {yet}sufficient{note}."


def _below(share: float, limit: float) -> str:
    shown = (f"{share:.{digits}f}" for digits in range(2, 7))
    return next((text for text in shown if float(text) < limit), f"{share}")


def verdict_statement(judgement: Judgement, label: str) -> str:
    """Return the sentences that state a verdict and where it comes from.

    - `judgement`: a judgement with a verdict.
    - `label`: the verdict, as it is to be shown.
    """
    if judgement.verdicts is None:
        return f"The proof's verdict, not the truth: {label}. {_CAUTION}"
    shown = ", ".join(f"{verdict.value} {v:.2f}" for verdict, v in judgement.verdicts.items())
    verdict, note = judgement.scored_verdict, ""
    if verdict is not None and verdict.leaning:
        leaning = f"leans towards {_LEANINGS[verdict.label]}, {verdict.confidence:.0%}"
        return f"The evidence {leaning}: read it ({shown})."
    if judgement.outweighed is not None:
        note = (
            f" {judgement.outweighed.value} is more probable, but SUPPORTS and REFUTES together "
            f"are not as probable as stop_at={judgement.stop_at:g} asks for."
        )
    return f"Verdict: {label} ({shown}).{note} {_ESTIMATE}"


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
    return f"The evidence contradicts itself: {one} supports the claim, {other} refutes it."


def render_result(result: RetrievalResult, *, colour: bool = False, width: int = 100) -> str:
    """Render hops, evidence, proofs, the reason for stopping, the verdict and the ranking.

    With `colour`, the bold and dim type of terminals is used.
    """
    lines = [*_wrapped(_bold("Claim: ", colour) + printable(result.claim.text), "", width)]
    for hop, previous in zip(result.hops, (None, *result.hops), strict=False):
        lines += ["", *_hop_lines(hop, previous, colour, width)]
    lines += ["", f"{_bold('Stopped', colour)} because {STOPPED[result.stopped]}."]
    if result.judgement is not None:
        lines += _verdict_lines(result.judgement, width)
    lines += ["", _bold("Documents", colour)]
    for rank, document in enumerate(result.documents[:_DOCUMENTS], 1):
        where = f"hop {document.hop}" if document.hop else "first stage"
        title = printable(document.title, _CHARACTERS)
        text = f"{rank:2}. {title} {_dim(f'({document.score:.2f}, {where})', colour)}"
        lines += _wrapped(text, "", width)
        if document.source:
            lines.append(_dim(f"    {printable(document.source)}", colour))
    if len(result.documents) > _DOCUMENTS:
        more = len(result.documents) - _DOCUMENTS
        lines.append(_dim(f"    and {more} more, which --json lists", colour))
    for warning in result.warnings:
        lines += ["", *_wrapped(_bold("Note: ", colour) + printable(warning), "", width)]
    return "\n".join(lines) + "\n"


def render_judgement(
    claim: str,
    evidence: Sequence[tuple[str, str]],
    judgement: Judgement,
    *,
    colour: bool = False,
    width: int = 100,
) -> str:
    """Render the judgement of a claim.

    `evidence`: (title, sentence) pairs.
    """
    lines = [*_wrapped(_bold("Claim: ", colour) + printable(claim), "", width), ""]
    lines.append(_bold("Evidence", colour))
    for title, text in evidence:
        lines += _sentence_lines(title, text, "  ", colour, width)
    if not evidence:
        lines.append("  none")
    lines += ["", _bold("Proof", colour), *_proof_lines(judgement.proof, evidence, "  ", width), ""]
    lines += _missing_lines("Not covered: ", judgement.proof, "", width)
    texts = {(title, number): text for number, (title, text) in enumerate(evidence)}
    lines += _decision_lines(judgement, texts, "", width)
    lines += _wrapped(sufficiency_statement(judgement), "", width)
    lines += _verdict_lines(judgement, width)
    for note in claim_notes(claim):
        lines += ["", *_wrapped(_bold("Note: ", colour) + note, "", width)]
    return "\n".join(lines) + "\n"


def _hop_lines(hop: Hop, previous: Hop | None, colour: bool, width: int) -> Iterator[str]:
    yield f"{_bold(f'Hop {hop.number}', colour)} {_dim(f'({hop.seconds:.2f} s)', colour)}"
    for document_set in hop.document_sets[:_SETS]:
        titles = " + ".join(printable(title, _CHARACTERS) for title in document_set.titles)
        yield from _wrapped(f"{titles} {_dim(f'({document_set.score:.2f})', colour)}", "  ", width)
    if len(hop.document_sets) > _SETS:
        yield _dim(f"    and {len(hop.document_sets) - _SETS} more document sets", colour)
    yield _bold("  Evidence", colour)
    for sentence in hop.evidence:
        place = ", ".join(filter(None, (sentence.title, sentence.section)))
        yield from _sentence_lines(place, sentence.text, "    ", colour, width)
    if not hop.evidence:
        yield "    none"
    if previous is not None and hop.proof is not None and hop.proof == previous.proof:
        yield f"{_bold('  Proof', colour)} as in hop {previous.number}"
    else:
        yield _bold("  Proof", colour)
        quoted = [(sentence.title, sentence.text) for sentence in hop.evidence]
        yield from _proof_lines(hop.proof, quoted, "    ", width)
    yield from _missing_lines("Not covered yet: ", hop.proof, "  ", width)
    texts = {sentence.key: sentence.text for sentence in hop.evidence}
    yield from _decision_lines(hop, texts, "  ", width)
    yield from _wrapped(sufficiency_statement(hop, "yet "), "  ", width)


def _sentence_lines(place: str, text: str, indent: str, colour: bool, width: int) -> Iterator[str]:
    head = _dim(f"[{printable(place, _CHARACTERS)}]", colour) + " " if place else ""
    yield from _wrapped(head + printable(text, _CHARACTERS), indent, width)


def _proof_lines(
    proof: Proof | None, evidence: Sequence[tuple[str, str]], indent: str, width: int
) -> Iterator[str]:
    if proof is None:
        yield indent + "no proof"
    for step in () if proof is None else proof.in_words(evidence):
        yield from _wrapped(printable(step), indent, width)


def _missing_lines(label: str, proof: Proof | None, indent: str, width: int) -> list[str]:
    spans = [] if proof is None else proof.questions()
    shown = ", ".join(
        f'"{printable(span)}"' + (f" ({printable(question)})" if question else "")
        for span, question in spans
    )
    return _wrapped(label + shown, indent, width) if shown else []


def _decision_lines(
    judgement: Judgement, texts: Mapping[tuple[str, int], str], indent: str, width: int
) -> Iterator[str]:
    for one in judgement.comparisons:
        yield from _wrapped(f"Decided by comparison: {printable(one.reason)}", indent, width)
    if judgement.conflict is not None:
        statement = conflict_statement(judgement.conflict, texts)
        yield from _wrapped(printable(statement), indent, width)


def _verdict_lines(judgement: Judgement, width: int) -> list[str]:
    if judgement.verdict is None:
        return []
    return _wrapped(verdict_statement(judgement, judgement.verdict.value), "", width)


def _wrapped(text: str, indent: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        max(width, 20),
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _is_unsafe(char: str) -> bool:
    category = unicodedata.category(char)
    return category in ("Cc", "Cs") or (category == "Cf" and char not in _JOINERS)


def _bold(text: str, colour: bool) -> str:
    return click.style(text, bold=True) if colour else text


def _dim(text: str, colour: bool) -> str:
    return click.style(text, dim=True) if colour else text


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


def ranking_record(
    documents: Sequence[ScoredTitle], sentences: Sequence[Sentence]
) -> dict[str, Any]:
    """Return a ranking of documents and of sentences."""
    ranked = [{"title": d.title, "score": round(d.score, 9)} for d in documents]
    return {"documents": ranked, "sentences": [graph_sentence(each) for each in sentences]}


def set_record(summary: Mapping[str, Any], sentences: Sequence[Sentence]) -> dict[str, Any]:
    """Return the sizes of a set and the sentences of it that are shown."""
    return {**summary, "shown": [graph_sentence(each) for each in sentences]}


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


def render_document(
    document: Document,
    *,
    origin: str | None = None,
    places: Sequence[str] = (),
    colour: bool = False,
    width: int = 100,
) -> str:
    """Render title, id, source and all numbered sentences, below the headings of sections.

    `places`: for each sentence, what stands before it, such as its page; none by default.
    """
    heading = printable(document.title)
    lines = [click.style(heading, bold=True) if colour else heading]
    if document.id:
        lines.append(_dim(f"id {printable(document.id)}", colour))
    if origin or document.source:
        lines.append(_dim(printable(origin or document.source), colour))
    digits = len(str(len(document.sentences)))
    section = ""
    for number, sentence in enumerate(document.sentences):
        if document.sections and document.sections[number] != section:
            section = document.sections[number]
            lines += ["", _dim(printable(section), colour)]
        if places and places[number]:
            sentence = f"[{places[number]}] {sentence}"
        lines += _numbered(f"{number:{digits + 2}}", sentence, colour, width)
    return "\n".join(lines) + "\n"


def render_search(
    found: Iterable[tuple[ScoredTitle, Sentence | None]], *, colour: bool = False, width: int = 100
) -> str:
    """Render ranked documents with their scores, each with a sentence and its number.

    The documents come best first, each with a sentence of it.
    """
    lines = []
    for rank, (scored, sentence) in enumerate(found, 1):
        title, score = printable(scored.title), f"({scored.score:.2f})"
        if colour:
            title, score = click.style(title, bold=True), _dim(score, colour)
        lines.append(f"{rank:2}. {title} {score}")
        if sentence is not None:
            lines += _numbered(f"    {sentence.index}", sentence.text, colour, width)
    return "\n".join(lines) + "\n"


def render_sentences(
    sentences: Iterable[Sentence], *, colour: bool = False, width: int = 100
) -> str:
    """Render sentences of several documents, each below its title, with their numbers."""
    lines = []
    for sentence in sentences:
        lines.append(_dim(f"  {printable(sentence.title)}", colour))
        lines += _numbered(f"    {sentence.index}", sentence.text, colour, width)
    return "".join(f"{line}\n" for line in lines)


def _numbered(number: str, sentence: str, colour: bool, width: int) -> list[str]:
    indent = len(number) + 2
    first, *others = textwrap.wrap(
        printable(sentence),
        max(width - indent, 20),
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]
    return [f"{_dim(number, colour)}  {first}".rstrip(), *(" " * indent + line for line in others)]


# Nothing but the page's own style sheets: texts and titles are of untrusted corpora.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light dark; }
body { font-family: sans-serif; line-height: 1.4; max-width: 60em; margin: auto; padding: 1em; }
"""


def page_file(name: str) -> str:
    """Return a style sheet or a script of a page, after a line break."""
    return "\n" + (resources.files("admiral") / "data" / "pages" / name).read_text("utf-8")


def page_template(name: str, names: Mapping[str, object], trim: bool = False) -> Template:
    """Return the template of a page, with names that it uses; `text` escapes."""
    pages = Environment(
        trim_blocks=trim, lstrip_blocks=trim, undefined=StrictUndefined, autoescape=True
    )
    text = {"text": lambda words: Markup(escaped(words))}
    return pages.from_string(page_file(name).lstrip(), {**text, **names})


def script_policy(script: str) -> str:
    """Return the content security policy of a page that loads nothing but its own script."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def page_head(title: str, style: str = STYLE, policy: str = "") -> str:
    """Return the beginning of a page up to ``<body>``.

    `title`, `style`: title and CSS, inserted without escaping.
    """
    return page_template("head.html", {}).render(title=title, style=style, policy=policy)


_PROOF_PAGE = page_template("proof.html", {}, trim=True)


def judgement_page(claim: str, evidence: Sequence[tuple[str, str]], judgement: Judgement) -> str:
    """Return a page with a claim, its proof, the conclusions and the evidence.

    `evidence`: (title, sentence) pairs.
    """
    proof, conflict, verdict = judgement.proof, judgement.conflict, judgement.verdict
    texts = {(title, number): text for number, (title, text) in enumerate(evidence)}
    strong = "" if verdict is None else f"<strong>{verdict.value}</strong>"
    return page_head("Proof", policy=_POLICY) + _PROOF_PAGE.render(
        claim=claim,
        evidence=evidence,
        judgement=judgement,
        proof="" if proof is None else Markup(proof.to_html(evidence)),
        conflict="" if conflict is None else conflict_statement(conflict, texts),
        sufficiency=sufficiency_statement(judgement),
        verdict=Markup(verdict_statement(judgement, strong)) if strong else "",
        notes=claim_notes(claim),
    )
