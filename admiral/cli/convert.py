"""``admiral convert``: BART checkpoints of fairseq and Hugging Face directories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from admiral.convert import Conversion

_FOLDER = click.Path(path_type=Path)
_overwrite = click.option("--overwrite", is_flag=True, help="Replace OUT if it exists.")


@click.group("convert")
def convert_command() -> None:
    """Convert BART checkpoints between fairseq and Hugging Face."""


convert = convert_command  # the command line looks a command up by its own name


@convert_command.command("fairseq-to-hf")
@click.argument("source", metavar="DIR", type=_FOLDER)
@click.argument("out", metavar="OUT", type=_FOLDER)
@click.option(
    "--tokenizer",
    type=_FOLDER,
    help="Folder with encoder.json and vocab.bpe, or with a Hugging Face BART tokenizer "
    "[default: DIR].",
)
@click.option(
    "--checkpoint-file",
    metavar="NAME",
    help="File in DIR [default: model.pt, else checkpoint_best.pt].",
)
@_overwrite
def fairseq_to_hf_command(
    source: Path, out: Path, tokenizer: Path | None, checkpoint_file: str | None, overwrite: bool
) -> None:
    """Write the fairseq BART in DIR (bart.base, bart.large, GENRE) as a Hugging Face model to OUT.

    DIR holds model.pt or checkpoint_best.pt, dict.txt, and encoder.json with vocab.bpe.
    """
    from admiral.convert import fairseq_to_hf  # imports torch, which --help need not wait for

    _report(
        fairseq_to_hf(
            source,
            out,
            checkpoint_file=checkpoint_file,
            tokenizer=tokenizer,
            overwrite=overwrite,
        )
    )


@convert_command.command("hf-to-fairseq")
@click.argument("source", metavar="DIR", type=_FOLDER)
@click.argument("out", metavar="OUT", type=_FOLDER)
@_overwrite
def hf_to_fairseq_command(source: Path, out: Path, overwrite: bool) -> None:
    """Write the Hugging Face BART in DIR as files that fairseq's BARTModel loads to OUT."""
    from admiral.convert import hf_to_fairseq

    _report(hf_to_fairseq(source, out, overwrite=overwrite))


def _report(done: Conversion) -> None:
    for notice in done.notices:
        click.echo(f"Note: {notice}.", err=True)
    click.echo(f"{done.directory}: {done.parameters:,} weights, {done.vocabulary:,} tokens")
