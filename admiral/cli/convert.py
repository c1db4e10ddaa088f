"""``admiral convert``: conversion of BART checkpoints between fairseq and Hugging Face."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from admiral.convert import Conversion

_FOLDER = click.Path(path_type=Path)
_overwrite = click.option("--overwrite", is_flag=True, help="Replace OUT if it is a conversion.")


@click.group("convert")
def convert_command() -> None:
    """Convert BART between fairseq and Hugging Face."""


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
@_overwrite
def fairseq_to_hf_command(
    source: Path, out: Path, tokenizer: Path | None, checkpoint_file: str | None, overwrite: bool
) -> None:
    """Convert the fairseq BART in DIR to a Hugging Face model in OUT.

    Models such as bart.base, bart.large and GENRE can be converted. DIR contains model.pt or
    checkpoint_best.pt, dict.txt, encoder.json and vocab.bpe.
    """
    from admiral.convert import fairseq_to_hf  # imports torch

    _report(
        fairseq_to_hf(
            source, out, checkpoint_file=checkpoint_file, tokenizer=tokenizer, overwrite=overwrite
        )
    )


@convert_command.command("hf-to-fairseq")
@click.argument("source", metavar="DIR", type=_FOLDER)
@click.argument("out", metavar="OUT", type=_FOLDER)
@_overwrite
def hf_to_fairseq_command(source: Path, out: Path, overwrite: bool) -> None:
    """Convert the Hugging Face BART in DIR to files in OUT that fairseq's BARTModel loads."""
    from admiral.convert import hf_to_fairseq

    _report(hf_to_fairseq(source, out, overwrite=overwrite))


def _report(conversion: Conversion) -> None:
    for notice in conversion.notices:
        click.echo(f"Note: {notice}.", err=True)
    click.echo(
        f"{conversion.directory}: {conversion.n_parameters:,} parameters, "
        f"{conversion.vocab_size:,} tokens"
    )
