"""`admiral experiment`: a described comparison of systems, run, evaluated and recorded."""

from __future__ import annotations

from pathlib import Path

import click

_PATH = click.Path(path_type=Path)


@click.command("experiment")
@click.argument("file", type=_PATH)
@click.option("--out", type=_PATH, help="Directory of the run (default: runs/NAME OF FILE).")
@click.option(
    "--data", type=_PATH, envvar="ADMIRAL_DATA", help="What ${data} stands for in the file."
)
@click.option("--kbs", type=_PATH, help="Where knowledge bases are built (default: kbs by --out).")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a setting of all systems, or task, claims, limit or seed; repeatable.",
)
@click.option("--limit", type=click.IntRange(min=0), help="Only so many claims; 0 for all.")
@click.option("--resume", is_flag=True, help="Go on with the run that is there.")
@click.option("--overwrite", is_flag=True, help="Start anew whatever is there.")
@click.option("--quiet", is_flag=True, help="No progress.")
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
    """Run the systems that FILE names over its claims, and measure them.

    The directory of the run holds the results of every system and experiment.json: the measures
    with intervals, seconds, memory, settings, versions, hardware and checksums. An interrupted run
    goes on with --resume. configs/experiments has the files of the paper's tables.
    """
    if resume and overwrite:
        raise click.UsageError("Give --resume or --overwrite, not both.")

    from admiral.experiments.description_reader import read_experiment
    from admiral.experiments.runner import NAME, run_experiment

    if limit is not None:
        assignments = (*assignments, f"limit={limit}")
    directory = out or Path("runs") / file.stem
    experiment = read_experiment(
        file,
        data=data,
        bases=kbs or directory.parent / "kbs",
        overrides=assignments,
    )

    def say(text: str) -> None:
        if not quiet:
            click.echo(text, err=True)

    try:
        run_experiment(
            experiment, directory, resume=resume, overwrite=overwrite, quiet=quiet, say=say
        )
    except KeyboardInterrupt:
        click.echo("\nThe same command with --resume goes on from here.", err=True)
        raise
    click.echo(str(directory / NAME))
