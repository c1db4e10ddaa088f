"""`admiral prove`: judge a claim against sentences that the caller gives."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import click

from admiral.cli.options import checked_text, colour, engine_options, overrides
from admiral.errors import AdmiralError

_TITLED = re.compile(r"\[(?P<title>.*?)\]\s+(?P<text>.*)", re.DOTALL)


@click.command("prove")
@click.argument("claim")
@click.option(
    "--evidence",
    "sentences",
    multiple=True,
    metavar="SENTENCE",
    help='A sentence, or "[Title] sentence"; repeatable.',
)
@click.option("--json", "as_json", is_flag=True, help="Print a record instead of readable text.")
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the proof as a web page besides.",
)
@engine_options
def prove_command(
    claim: str,
    sentences: tuple[str, ...],
    as_json: bool,
    page: Path | None,
    config_path: Path | None,
    assignments: tuple[str, ...],
    **flags: object,
) -> None:
    """Prove a claim from given sentences, and say whether they are enough.

    The verdict is the proof's: what its steps add up to, whether they are right or wrong.
    """
    from admiral.config import load_config

    claim = checked_text(claim, "the claim")
    evidence = [
        split_title(checked_text(sentence, f"--evidence number {number}"))
        for number, sentence in enumerate(sentences, 1)
    ]
    config = load_config(config_path, overrides(assignments, flags))
    if page is not None and not page.absolute().parent.is_dir():
        raise AdmiralError(f"{page}: its directory does not exist. Create it first")

    from admiral.files import write_atomically
    from admiral.page import judgement_page
    from admiral.pipeline import Admiral
    from admiral.render import render_judgement

    with Admiral.from_pretrained(config.model, kb=config.kb, config=config) as system:
        judgement = system.prove(claim, evidence)
    if page is not None:
        write_atomically(page, [judgement_page(claim, evidence, judgement).encode("utf-8")])
    if as_json:
        proof, verdict, missing = judgement.proof, judgement.verdict, judgement.missing
        record = {
            "claim": claim,
            "evidence": [{"title": title, "text": text} for title, text in evidence],
            "sufficient": judgement.sufficient,
            "verdict": None if verdict is None else verdict.value,
            "missing": None if missing is None else list(missing),
            "proof": None if proof is None else proof.to_json(),
        }
        click.echo(json.dumps(record, ensure_ascii=False))
    else:
        width = min(shutil.get_terminal_size((100, 24)).columns, 120)
        click.echo(
            render_judgement(claim, evidence, judgement, colour=colour(), width=width), nl=False
        )


def split_title(sentence: str) -> tuple[str, str]:
    """Return (title, text) of ``[Title] sentence``; a plain sentence has the title ''."""
    match = _TITLED.fullmatch(sentence)
    if match is None or not match["title"].strip() or not match["text"].strip():
        return "", sentence
    return match["title"].strip(), match["text"].strip()
