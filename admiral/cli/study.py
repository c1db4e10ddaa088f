"""``admiral study``: compare cited and suggested sources blindly, and score the answers."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admiral.errors import AdmiralError
from admiral.storage.atomic_files import check_distinct_paths, check_output_path, check_page_path

if TYPE_CHECKING:
    from admiral.citations.study_items import SignTest, StudyOutcome

_FILE = click.Path(path_type=Path)


@click.group("study")
def study_command() -> None:
    """Compare cited and suggested sources blindly.

    `build` writes a page that shows both without names, in random order, and a key. Each annotator
    opens the page and saves the answers as a file; `score` evaluates these files with the key.
    """


@study_command.command("build")
@click.argument("verdicts", type=_FILE)
@click.option("--output", type=_FILE, required=True, help="HTML page to write.")
@click.option("--key", type=_FILE, help="Key to write.  [default: the page's name + .key.json]")
@click.option("--claims", type=_FILE, help="The claims of the verdicts, to show their context.")
@click.option("--library", metavar="DIR", help="Library, to show whole texts on demand.")
@click.option("--only-replaced", is_flag=True, help="Only claims that got a better source.")
@click.option("--limit", type=click.IntRange(min=1), help="Maximum number of claims.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random order.")
@click.option("--overwrite", is_flag=True, help="Replace a key, which makes its answers useless.")
def build_command(
    verdicts: Path,
    output: Path,
    key: Path | None,
    claims: Path | None,
    library: str | None,
    only_replaced: bool,
    limit: int | None,
    seed: int,
    overwrite: bool,
) -> None:
    """Write the page of a study and its key.

    VERDICTS are those of `admiral verify-citation`. Claims whose source was not read, or that have
    no suggestion, are left out: they have nothing to compare.
    """
    from admiral.citations.citation_file import read_citations
    from admiral.citations.source_collections import source_texts
    from admiral.citations.study_items import key_record, study_items, study_page
    from admiral.citations.verdict_file import read_verdicts
    from admiral.evaluation import count_noun
    from admiral.library import Library
    from admiral.storage.atomic_files import encode_record, write_atomically

    key = key or output.with_name(f"{output.stem}.key.json")
    check_page_path(output)
    check_output_path(key)
    check_distinct_paths(output, verdicts, claims, key)
    check_distinct_paths(key, verdicts, claims)
    if key.exists() and not overwrite:
        raise AdmiralError(
            f"{key}: exists, and answers to its study need it. Choose another --key, or use "
            "--overwrite"
        )
    records = list(read_verdicts(verdicts).values())
    contexts = {} if claims is None else {each.id: each for each in read_citations(claims)}
    with Library.open(library) if library else nullcontext() as opened:
        text = source_texts(opened) if opened else lambda url: None
        items = study_items(records, contexts, seed, only_replaced=only_replaced, source_text=text)[
            :limit
        ]
    if not items:
        raise AdmiralError(
            f"{verdicts}: no claim has both a source that was read and a suggestion. Verify the "
            "citations over a library with other sources"
        )
    write_atomically(key, [encode_record(key_record(items))])
    write_atomically(output, (part.encode("utf-8") for part in study_page(items)))
    click.echo(
        f"{output}: {count_noun(len(items), 'claim')}; keep {key} away from the annotators",
        err=True,
    )


@study_command.command("score")
@click.argument("answers", nargs=-1, required=True, type=_FILE, metavar="ANSWERS...")
@click.option("--key", type=_FILE, required=True, help="Key of the study.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON record.")
def score_command(answers: tuple[Path, ...], key: Path, as_json: bool) -> None:
    """Print preferences, majorities, Fleiss' kappa and a sign test.

    ANSWERS are the files that the annotators saved, one for each.
    """
    from admiral.citations.study_items import read_answers, read_key, score_study

    study, existing = read_key(key)
    outcome = score_study([read_answers(path, study, existing) for path in answers])
    if not outcome.annotations:
        raise AdmiralError(f"{answers[0]}: holds no answer. Answer at least one item")
    click.echo(json.dumps(outcome.to_json()) if as_json else "\n".join(_lines(outcome)))


def _lines(outcome: StudyOutcome) -> list[str]:
    def shares(counts: dict[str, int]) -> str:
        total = sum(counts.values())
        return ", ".join(f"{name} {count} ({count / total:.0%})" for name, count in counts.items())

    return [
        f"{outcome.annotators} annotators, {outcome.items} claims, {outcome.annotations} answers",
        f"answers      {shares(dict(outcome.preferences))}",
        f"majorities   {shares(dict(outcome.majorities))}",
        f"Fleiss' kappa  {_number(outcome.kappa)}",
        f"sign test over majorities  {_test(outcome.by_majority)}",
        f"sign test over answers     {_test(outcome.by_annotation)}",
        *(
            f"evidence in {source} sources  {shares(dict(counts))}, kappa "
            f"{_number(outcome.evidence_kappa[source])}"
            for source, counts in outcome.evidence.items()
            if sum(counts.values())
        ),
    ]


def _number(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.3f}"


def _test(test: SignTest) -> str:
    return (
        f"suggested {test.wins}, existing {test.losses}: p = {test.one_tailed:.4g} one-tailed, "
        f"{test.two_tailed:.4g} two-tailed"
    )
