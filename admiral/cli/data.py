"""``admiral download`` and ``convert``: data sets and checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from tqdm import tqdm

from admiral.download.fetch import DATA_SETS
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
    checksums are verified if the authors publish them. docs/scale.md describes the next steps.
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


if TYPE_CHECKING:
    from admiral.convert import Conversion

_FOLDER = click.Path(path_type=Path)


@click.group("convert")
def convert_command() -> None:
    """Convert checkpoints of fairseq and of Hugging Face."""


@convert_command.command("fairseq-to-hf")
@click.argument("source", metavar="DIR", type=_FOLDER)
@click.argument("out", metavar="OUT", type=_FOLDER)
@click.option(
    "--tokenizer",
    type=_FOLDER,
    help="Directory with encoder.json and vocab.bpe, or with a Hugging Face BART tokenizer. "
    "[default: DIR]",
)
@click.option(
    "--checkpoint-file",
    metavar="NAME",
    help="File in DIR. [default: model.pt or checkpoint_best.pt]",
)
def fairseq_to_hf_command(
    source: Path, out: Path, tokenizer: Path | None, checkpoint_file: str | None
) -> None:
    """Convert the fairseq BART in DIR to a Hugging Face model in OUT.

    Models such as bart.base, bart.large and GENRE can be converted. DIR contains model.pt or
    checkpoint_best.pt, dict.txt, encoder.json and vocab.bpe.
    """
    from admiral.convert import fairseq_to_hf  # imports torch

    _report(fairseq_to_hf(source, out, checkpoint_file=checkpoint_file, tokenizer=tokenizer))


@convert_command.command("hf-to-fairseq")
@click.argument("source", metavar="DIR", type=_FOLDER)
@click.argument("out", metavar="OUT", type=_FOLDER)
def hf_to_fairseq_command(source: Path, out: Path) -> None:
    """Convert the Hugging Face BART in DIR to files in OUT that fairseq's BARTModel loads."""
    from admiral.convert import hf_to_fairseq

    _report(hf_to_fairseq(source, out))


@convert_command.command("hf-to-safetensors")
@click.argument("source", metavar="DIR", type=_FOLDER)
@click.argument("out", metavar="OUT", type=_FOLDER)
def hf_to_safetensors_command(source: Path, out: Path) -> None:
    """Convert the Hugging Face BART or T5 in DIR, pickled, to a checkpoint in OUT."""
    from admiral.convert import hf_to_safetensors

    _report(hf_to_safetensors(source, out))


def _report(conversion: Conversion) -> None:
    click.echo(
        f"{conversion.directory}: {conversion.n_parameters:,} parameters, "
        f"{conversion.vocab_size:,} tokens"
    )
