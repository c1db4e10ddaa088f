"""`admiral prove`: judge a claim against sentences that the caller gives."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import click

from admiral.cli.options import checked_text, colour, engine_options, overrides

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
@engine_options
def prove_command(
    claim: str,
    sentences: tuple[str, ...],
    as_json: bool,
    config_path: Path | None,
    assignments: tuple[str, ...],
    **flags: object,
) -> None:
    """Prove a claim from given sentences, and say whether they are enough."""
    from admiral.config import load_config

    claim = checked_text(claim, "the claim")
    evidence = [
        split_title(checked_text(sentence, f"--evidence number {number}"))
        for number, sentence in enumerate(sentences, 1)
    ]
    config = load_config(config_path, overrides(assignments, flags))

    from admiral.pipeline import Admiral
    from admiral.render import render_judgement

    with Admiral.from_pretrained(config.model, kb=config.kb, config=config) as system:
        judgement = system.prove(claim, evidence)
    if as_json:
        proof = judgement.proof
        record = {
            "claim": claim,
            "evidence": [{"title": title, "text": text} for title, text in evidence],
            "sufficient": judgement.sufficient,
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
