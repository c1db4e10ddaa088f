"""``admiral download`` and ``convert``: data sets and checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import click
from tqdm import tqdm

from admiral.cli import options
from admiral.cli.options import argument, command, option
from admiral.io.progress import stderr_is_terminal

if TYPE_CHECKING:
    from admiral.convert import Conversion


class Download(options.Command):
    """Download fever, hover, feverous or hotpotqa-abstracts.

    Complete files are not downloaded again, and interrupted downloads are resumed. Lengths and
    checksums are verified if the authors publish them. docs/scale.md describes the next steps.

    For example:
      admiral download hover
      admiral download fever --file wiki-pages.zip --out data/fever
    """

    name: Annotated[
        Literal["fever", "hover", "feverous", "hotpotqa-abstracts"], argument("DATASET")
    ]
    out: Path | None = None
    """Output directory. [default: data/DATASET]"""
    only: Annotated[tuple[str, ...], option("--file", metavar="NAME")] = ()
    """Download only this file; repeatable."""
    listed: Annotated[bool, option("--list")] = False
    """Show the addresses without downloading."""
    base: Annotated[str, option("--base", metavar="URL")] = ""
    """Mirror that serves the files under the same names."""

    def run(self) -> None:
        from admiral.download.fetch import data_set, fetch

        wanted = data_set(self.name)
        known = {source.name: source for source in wanted.files}
        for name in self.only:
            if name not in known:
                raise click.UsageError(f"--file {name}: the files are {', '.join(known)}.")
        files = [known[name] for name in self.only or known]
        if self.base:
            base = self.base.rstrip("/")
            files = [each.model_copy(update={"url": f"{base}/{each.name}"}) for each in files]
        if self.listed:
            click.echo(f"documented at {wanted.page}")
            for source in files:
                checked = f"MD5 {source.md5}" if source.md5 else "no checksum published"
                click.echo(f"{source.url}  ({checked})")
            return
        folder = self.out or Path("data") / self.name
        for source in files:
            target = folder / source.name
            hidden = not stderr_is_terminal()
            with tqdm(unit="B", unit_scale=True, desc=source.name, disable=hidden) as bar:
                new = fetch(source, target, lambda done, total: _show(bar, done, total))
            click.echo(f"{target}{'' if new else ' exists already'}")
        click.echo(wanted.next_step.format(out=folder), err=True)


def _show(bar: tqdm, done: int, total: int | None) -> None:
    bar.total = total
    bar.update(done - bar.n)


class _Converting(options.Command):
    source: Annotated[Path, argument("DIR")]
    out: Annotated[Path, argument("OUT")]

    def report(self, conversion: Conversion) -> None:
        click.echo(
            f"{self.out}: {conversion.n_parameters:,} parameters, {conversion.vocab_size:,} tokens"
        )


class FairseqToHf(_Converting):
    """Convert the fairseq BART in DIR to a Hugging Face model in OUT.

    Models such as bart.base, bart.large and GENRE can be converted. DIR contains model.pt or
    checkpoint_best.pt, dict.txt, encoder.json and vocab.bpe.
    """

    tokenizer: Path | None = None
    """Directory with encoder.json and vocab.bpe, or with a Hugging Face BART tokenizer. [default:
    DIR]"""
    checkpoint_file: Annotated[str, option("--checkpoint-file", metavar="NAME")] = ""
    """File in DIR. [default: model.pt or checkpoint_best.pt]"""

    def run(self) -> None:
        from admiral.convert import fairseq_to_hf  # imports torch

        file = self.checkpoint_file
        conversion = fairseq_to_hf(
            self.source, self.out, checkpoint_file=file, tokenizer=self.tokenizer
        )
        self.report(conversion)


class HfToFairseq(_Converting):
    """Convert the Hugging Face BART in DIR to files in OUT that fairseq's BARTModel loads."""

    def run(self) -> None:
        from admiral.convert import hf_to_fairseq

        self.report(hf_to_fairseq(self.source, self.out))


class HfToSafetensors(_Converting):
    """Convert the Hugging Face BART or T5 in DIR, pickled, to a checkpoint in OUT."""

    def run(self) -> None:
        from admiral.convert import hf_to_safetensors

        self.report(hf_to_safetensors(self.source, self.out))


class Convert:
    """Convert checkpoints of fairseq and of Hugging Face.

    For example:
      admiral convert fairseq-to-hf bart.base bart-base-hf
      admiral convert hf-to-fairseq my-model my-model-fairseq
    """


download_command = command(Download)
convert_command = options.group(Convert, FairseqToHf, HfToFairseq, HfToSafetensors)
