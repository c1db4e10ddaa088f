"""``admiral prove``: prove a claim from given sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admiral.cli.options import (
    check_outside_folders,
    checked_text,
    config_options,
    output_width,
    overrides,
    setting_options,
    use_colour,
)
from admiral.errors import AdmiralError
from admiral.storage.atomic_files import check_distinct_paths, check_page_path

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
    help='Evidence sentence, or "[Title] sentence"; repeatable.',
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON record, not readable text.")
@click.option(
    "--proof",
    "proof_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Check the proof in FILE, or - for standard input, instead of generating one.",
)
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write the proof as an HTML page.",
)
@setting_options("judge", "stop_at", "verifier", "verifier_model", "base_url")
@setting_options("model", "device", "threads")
@config_options
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
    """Prove CLAIM from given sentences.

    The proof shows whether the sentences are sufficient. Its verdict follows from its steps,
    whether these are right or wrong.
    """
    from admiral.config import load_config

    claim = checked_text(claim, "the claim")
    evidence = [
        split_title(checked_text(sentence, f"--evidence number {number}"))
        for number, sentence in enumerate(sentences, 1)
    ]
    config = load_config(config_path, overrides(assignments, flags))
    if page is not None:
        check_distinct_paths(page, proof_path, config_path)
        check_outside_folders(page, config.kb, config.model, config.verifier)
        check_page_path(page)

    from admiral.io.rendering import judgement_page, judgement_record, render_judgement
    from admiral.storage.atomic_files import write_atomically

    if proof_path is not None:
        judgement = _check_proof(proof_path, claim, evidence)
    else:
        from admiral.retrieval.stage_assembly import judge_evidence, open_judge

        judgement = judge_evidence(open_judge(config), claim, evidence)
    if page is not None:
        write_atomically(page, [judgement_page(claim, evidence, judgement).encode("utf-8")])
    if as_json:
        record = judgement_record(claim, evidence, judgement)
        click.echo(json.dumps(record, ensure_ascii=False))
    else:
        text = render_judgement(
            claim, evidence, judgement, colour=use_colour(), width=output_width()
        )
        click.echo(text, nl=False)


def _check_proof(path: Path, claim: str, evidence: Sequence[tuple[str, str]]) -> Judgement:
    """Return the judgement of the proof in a file, which must fit the claim and the evidence."""
    from proofs import Judgement, ProofError, read_proofs

    if str(path) == "-":
        path = Path("/dev/stdin")
    try:
        proofs = list(read_proofs(path))
    except OSError as error:
        raise AdmiralError(f"{path}: the proof cannot be read: {error.strerror}") from error
    except ProofError as error:
        form = "{ claim span } [ evidence span ] OP, repeated"
        raise AdmiralError(f"{error}. A proof has the form: {form}") from error
    if len(proofs) != 1:
        raise AdmiralError(f"{path}: expected one proof on one line, found {len(proofs)}")
    try:
        proofs[0].validate(claim, evidence)
    except ProofError as error:
        remedy = "Correct the proof, or give the claim and evidence that it belongs to"
        raise AdmiralError(f"{path}: the proof does not fit: {error}. {remedy}") from error
    return Judgement(proofs[0].sufficient, proofs[0]).located(claim, evidence)


def split_title(sentence: str) -> tuple[str, str]:
    """Return (title, text) of ``[Title] sentence``; the title of a plain sentence is empty.

    The title ends at the matching bracket, and may contain pairs of brackets.
    """
    depth = 0
    for bracket in _BRACKET.finditer(sentence) if sentence.startswith("[") else ():
        depth += 1 if bracket[0] == "[" else -1
        end = bracket.end()
        if depth <= 0 and sentence[end : end + 1].isspace():
            title, text = sentence[1 : end - 1].strip(), sentence[end:].strip()
            return (title, text) if title and text else ("", sentence)
    return "", sentence
