"""``admiral download``: public data sets from their official addresses."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

import click
from tqdm import tqdm

from admiral.download.addresses import DATA_SETS
from admiral.io.progress import stderr_is_terminal

_SECONDS_BETWEEN_LINES = 15.0


@click.command("download")
@click.argument("name", metavar="DATASET", type=click.Choice(tuple(DATA_SETS)))
@click.option(
    "--out", type=click.Path(path_type=Path), help="Output directory. [default: data/DATASET]"
)
@click.option(
    "--file", "wanted", multiple=True, metavar="NAME", help="Download only this file; repeatable."
)
@click.option("--list", "listed", is_flag=True, help="Show the addresses without downloading.")
@click.option("--base", metavar="URL", help="Mirror that serves the files under the same names.")
@click.option(
    "--attempts",
    type=click.IntRange(min=1),
    default=6,
    show_default=True,
    help="Attempts per file.",
)
@click.option(
    "--wait",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="Seconds between attempts.",
)
def download_command(
    name: str,
    out: Path | None,
    wanted: tuple[str, ...],
    listed: bool,
    base: str | None,
    attempts: int,
    wait: float,
) -> None:
    """Download fever, hover, feverous or hotpotqa-abstracts.

    Complete files are not downloaded again, and interrupted downloads are resumed. Lengths and
    checksums are verified if the authors publish them. docs/full-scale.md describes the next steps.
    """
    from dataclasses import replace

    from admiral.download.fetch import fetch

    if math.isnan(wait):
        raise click.BadParameter("give a number of seconds.", param_hint="'--wait'")
    data_set = DATA_SETS[name]
    known = [source.name for source in data_set.files]
    for file in wanted:
        if file not in known:
            raise click.UsageError(f"--file {file}: the files are {', '.join(known)}.")
    files = [source for source in data_set.files if not wanted or source.name in wanted]
    if base is not None:
        files = [replace(s, url=f"{base.rstrip('/')}/{s.name}") for s in files]
    if listed:
        click.echo(f"documented at {data_set.page}")
        for source in files:
            checked = f"MD5 {source.md5}" if source.md5 else "no checksum published"
            click.echo(f"{source.url}  ({checked})")
        return
    folder = out or Path("data") / name
    for source in files:
        target = folder / source.name
        with tqdm(
            unit="B", unit_scale=True, desc=source.name, disable=not stderr_is_terminal()
        ) as bar:
            report = _bar_reporter(bar) if stderr_is_terminal() else _line_reporter(source.name)
            new = fetch(source, target, attempts=attempts, wait=wait, report=report)
        click.echo(f"{target}{'' if new else ' exists already'}")
    click.echo(data_set.next_step.format(out=folder), err=True)


def _bar_reporter(bar: tqdm) -> Callable[[int, int | None], None]:
    def show(done: int, total: int | None) -> None:
        bar.total = total
        bar.update(done - bar.n)

    return show


def _line_reporter(name: str) -> Callable[[int, int | None], None]:
    last = time.monotonic()

    def show(done: int, total: int | None) -> None:
        nonlocal last
        if time.monotonic() - last >= _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            of_total = "" if total is None else f" of {total / 1e6:,.1f}"
            click.echo(f"{name}: {done / 1e6:,.1f}{of_total} MB", err=True)

    return show
