"""`admiral download`: the public data sets, from their official addresses."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

import click
from tqdm import tqdm

from admiral.download.addresses import DATA_SETS
from admiral.io.terminal import is_watched

_SECONDS_BETWEEN_LINES = 15.0


@click.command("download")
@click.argument("name", metavar="DATASET", type=click.Choice(tuple(DATA_SETS)))
@click.option("--out", type=click.Path(path_type=Path), help="Folder (default: data/DATASET).")
@click.option("--file", "wanted", multiple=True, metavar="NAME", help="Only this one; repeatable.")
@click.option("--list", "listed", is_flag=True, help="Show the addresses and fetch nothing.")
@click.option("--base", metavar="URL", help="Another place that has the files by their names.")
@click.option("--attempts", type=click.IntRange(min=1), default=6, show_default=True)
@click.option("--wait", type=click.FloatRange(min=0), default=1.0, help="Seconds between attempts.")
def download_command(
    name: str,
    out: Path | None,
    wanted: tuple[str, ...],
    listed: bool,
    base: str | None,
    attempts: int,
    wait: float,
) -> None:
    """Fetch fever, hover, feverous or hotpotqa-abstracts.

    What is there is not fetched again, and an interrupted file goes on where it stopped. Lengths
    and checksums are compared where the authors publish them. docs/full-scale.md says how to go on.
    """
    from dataclasses import replace

    from admiral.download.fetch import fetch

    if math.isnan(wait):
        raise click.BadParameter("give a number of seconds.", param_hint="'--wait'")
    data_set = DATA_SETS[name]
    known = [source.name for source in data_set.files]
    for one in wanted:
        if one not in known:
            raise click.UsageError(f"--file {one}: there are {', '.join(known)}.")
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
        with tqdm(unit="B", unit_scale=True, desc=source.name, disable=not is_watched()) as bar:
            report = _on(bar) if is_watched() else _lines(source.name)
            new = fetch(source, target, attempts=attempts, wait=wait, report=report)
        click.echo(f"{target}{'' if new else ' was there already'}")
    click.echo(data_set.after.format(out=folder), err=True)


def _on(bar: tqdm) -> Callable[[int, int | None], None]:
    def show(done: int, total: int | None) -> None:
        bar.total = total
        bar.update(done - bar.n)

    return show


def _lines(name: str) -> Callable[[int, int | None], None]:
    last = time.monotonic()

    def show(done: int, total: int | None) -> None:
        nonlocal last
        if time.monotonic() - last >= _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            whole = "" if total is None else f" of {total / 1e6:,.1f}"
            click.echo(f"{name}: {done / 1e6:,.1f}{whole} MB", err=True)

    return show
