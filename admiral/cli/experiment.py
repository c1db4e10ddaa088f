"""``admiral experiment``: run, evaluate and record a comparison of systems."""

from __future__ import annotations

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

    The directory of the run contains the results of each system and experiment.json: measures with
    intervals, time, memory, settings, versions, hardware and checksums. Its table and its path are
    printed. Use --resume to continue an interrupted run. The files of the paper's tables are in
    configs/experiments.
    """
    if resume and overwrite:
        raise click.UsageError("Give --resume or --overwrite, not both.")

    from admiral.experiments.description_reader import read_experiment
    from admiral.experiments.experiment_record import RECORD_NAME
    from admiral.experiments.experiment_tables import aligned, differences, measured
    from admiral.experiments.runner import run_experiment

    if limit is not None:
        assignments = (*assignments, f"limit={limit}")
    directory = out or Path("runs") / file.stem
    experiment = read_experiment(
        file,
        data=data,
        kb_folder=kbs or directory.parent / "kbs",
        overrides=assignments,
    )

    def report(text: str) -> None:
        if not quiet:
            click.echo(text, err=True)

    try:
        record = run_experiment(
            experiment, directory, resume=resume, overwrite=overwrite, quiet=quiet, report=report
        )
    except KeyboardInterrupt:
        click.echo("\nRun the same command with --resume to continue.", err=True)
        raise
    compared = ["", *differences(record)] if record["reference"] else []
    click.echo(f"{record['title']}\n\n{aligned([*measured(record), *compared])}")
    click.echo(str(directory / RECORD_NAME))
