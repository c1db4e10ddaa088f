"""``admiral experiment``: run, evaluate and record a comparison of systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

_PATH = click.Path(path_type=Path)


@click.command("experiment")
@click.argument("file", type=_PATH)
@click.option("--out", type=_PATH, help="Directory of the run. [default: runs/NAME, for NAME.yaml]")
@click.option(
    "--data", type=_PATH, envvar="ADMIRAL_DATA", help="Folder of the data sets, ${data} in FILE."
)
@click.option(
    "--kbs",
    type=_PATH,
    help="Folder for knowledge bases that are built. [default: kbs, beside --out]",
)
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a setting of all systems, or the task, claims, limit or seed; repeatable.",
)
@click.option("--limit", type=click.IntRange(min=0), help="Maximum number of claims; 0 for all.")
@click.option("--resume", is_flag=True, help="Resume the run in --out.")
@click.option("--overwrite", is_flag=True, help="Discard the run in --out and start again.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def experiment_command(
    file: Path,
    out: Path | None,
    data: Path | None,
    kbs: Path | None,
    assignments: tuple[str, ...],
    limit: int | None,
    resume: bool,
    overwrite: bool,
    quiet: bool,
) -> None:
    """Run and evaluate the systems that FILE describes.

    A FILE whose task is `citations` compares searches for cited pages, or verifiers.

    The directory of the run contains the results of each system and experiment.json: measures with
    intervals, time, memory, settings, versions, hardware and checksums. Its table and its path are
    printed. Use --resume to continue an interrupted run. The files of the paper's tables are in
    configs/experiments.
    """
    if resume and overwrite:
        raise click.UsageError("Give --resume or --overwrite, not both.")

    from admiral.experiments.description import is_citation_experiment, read_experiment
    from admiral.experiments.experiment_record import RECORD_NAME
    from admiral.experiments.experiment_tables import aligned, differences, measured, published
    from admiral.experiments.runner import run_experiment

    if limit is not None:
        assignments = (*assignments, f"limit={limit}")
    directory = out or Path("runs") / file.stem

    def report(text: str) -> None:
        if not quiet:
            click.echo(text, err=True)

    if is_citation_experiment(file, data):
        _run_citations(file, directory, data, assignments, resume, overwrite, quiet, report)
        return
    experiment = read_experiment(
        file, data=data, kb_folder=kbs or directory.parent / "kbs", overrides=assignments
    )
    with _hint_to_resume():
        record = run_experiment(
            experiment, directory, resume=resume, overwrite=overwrite, quiet=quiet, report=report
        )
    lines = list(measured(record))
    if record["reference"]:
        lines += ["", *differences(record)]
    if record["paper"]:
        lines += ["", *published(record["paper"])]
    click.echo(f"{record['title']}\n\n{aligned(lines)}")
    click.echo(str(directory / RECORD_NAME))


def _run_citations(
    file: Path,
    directory: Path,
    data: Path | None,
    assignments: tuple[str, ...],
    resume: bool,
    overwrite: bool,
    quiet: bool,
    report: Callable[[str], None],
) -> None:
    from admiral.experiments.citation_runner import run_citation_experiment
    from admiral.experiments.description import read_citation_experiment
    from admiral.experiments.experiment_record import RECORD_NAME
    from admiral.experiments.experiment_tables import aligned, citation_tables

    experiment = read_citation_experiment(file, data=data, overrides=assignments)
    with _hint_to_resume():
        record = run_citation_experiment(
            experiment, directory, resume=resume, overwrite=overwrite, quiet=quiet, report=report
        )
    click.echo(f"{record['title']}\n\n{aligned(citation_tables(record))}")
    click.echo(str(directory / RECORD_NAME))


@contextmanager
def _hint_to_resume() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        click.echo("\nRun the same command with --resume to continue.", err=True)
        raise
