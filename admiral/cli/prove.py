"""`admiral prove`: judge a claim against sentences that the caller gives."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admiral.cli.options import checked_text, colour, engine_options, keep_out, overrides
from admiral.errors import AdmiralError
from admiral.storage.output_paths import check_place, keep_apart

if TYPE_CHECKING:
    from proofs import Judgement

_BRACKET = re.compile(r"[\[\]]")


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
    "--proof",
    "proof_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Check the proof in FILE instead of writing one.",
)
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
    proof_path: Path | None,
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
    if page is not None:
        keep_apart(page, proof_path, config_path)
        keep_out(page, config.kb, config.model)
        check_place(page)

    from admiral.io.judgement_page import judgement_page
    from admiral.io.text_rendering import render_judgement
    from admiral.storage.atomic_files import write_atomically

    if proof_path is not None:
        judgement = _judgement_of(proof_path, claim, evidence)
    else:
        from admiral.pipeline import Admiral

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


def _judgement_of(path: Path, claim: str, evidence: Sequence[tuple[str, str]]) -> Judgement:
    """Return what the one proof in a file says, which must fit the claim and the evidence."""
    from proofs import Judgement, ProofError, read_proofs

    try:
        found = list(read_proofs(path))
    except OSError as error:
        raise AdmiralError(f"{path}: the proof cannot be read: {error.strerror}") from error
    except ProofError as error:
        form = "{ claim span } [ evidence span ] OP, repeated"
        raise AdmiralError(f"{error}. A proof has the form: {form}") from error
    if len(found) != 1:
        raise AdmiralError(f"{path}: expected one proof on one line, found {len(found)}")
    try:
        found[0].validate(claim, evidence)
    except ProofError as error:
        remedy = "Mend it, or the claim and evidence that it is about"
        raise AdmiralError(f"{path}: the proof does not fit: {error}. {remedy}") from error
    return Judgement(found[0].sufficient, found[0])


def split_title(sentence: str) -> tuple[str, str]:
    """Return (title, text) of ``[Title] sentence``; a plain sentence has the title ''.

    The title ends at the bracket that closes it, behind pairs of brackets of its own.
    """
    depth = 0
    for bracket in _BRACKET.finditer(sentence) if sentence.startswith("[") else ():
        depth += 1 if bracket[0] == "[" else -1
        end = bracket.end()
        if depth <= 0 and sentence[end : end + 1].isspace():
            title, text = sentence[1 : end - 1].strip(), sentence[end:].strip()
            return (title, text) if title and text else ("", sentence)
    return "", sentence
