"""``admiral download``, ``synthesize``, ``convert``: data sets, synthetic claims, checkpoints."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click
from tqdm import tqdm

import admiral
from admiral.download.fetch import DATA_SETS
from admiral.errors import AdmiralError
from admiral.io.progress import stderr_is_terminal, track_claims
from admiral.storage.atomic_files import check_distinct_paths

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
    from admiral.synthesis import Synthesizer

_MIN_HOPS, _MAX_HOPS = 2, 4


def parse_hop_range(
    context: click.Context, parameter: click.Parameter, value: str
) -> tuple[int, int]:
    """Return the minimum and maximum of a range such as ``2-4`` or ``3``; a click callback."""
    match = re.fullmatch(r"(\d)(?:-(\d))?", value)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not _MIN_HOPS <= first <= last <= _MAX_HOPS:
        raise click.BadParameter(
            f"{value!r} is not a number from {_MIN_HOPS} to {_MAX_HOPS}, or two as in 2-4."
        )
    return first, last


@click.command("synthesize")
@click.option("--kb", required=True, metavar="NAME|DIR", help="Knowledge base.")
@click.option("--count", required=True, type=click.IntRange(min=1), help="Number of claims.")
@click.option(
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="JSON Lines file of claims. The same command resumes an interrupted run.",
)
@click.option("--overwrite", is_flag=True, help="Discard an existing --output and start again.")
@click.option(
    "--hops",
    callback=parse_hop_range,
    default="2-4",
    show_default=True,
    metavar="N|N-M",
    help="Number of documents that a claim needs.",
)
@click.option(
    "--labels",
    type=click.Choice(["both", "supported", "refuted"]),
    default="both",
    show_default=True,
    help="Write supported claims, refuted claims, or both.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def synthesize_command(
    kb: str,
    count: int,
    output: Path,
    overwrite: bool,
    hops: tuple[int, int],
    labels: str,
    seed: int,
    quiet: bool,
) -> None:
    """Write training claims with gold evidence.

    The claims are about documents of the knowledge base. They describe documents in words of their
    own text instead of naming them. Records have the format of HoVer. The same seed gives the same
    claims.
    """
    from admiral.io.result_writer import ResumableWriter
    from admiral.kb import KnowledgeBase, locate
    from admiral.retrieval.provenance import identity
    from admiral.synthesis import SynthesisSettings, Synthesizer

    path = locate(kb)
    check_distinct_paths(output, folders=[path])
    chosen = SynthesisSettings(*hops, labels=labels, seed=seed)  # type: ignore[arg-type]
    settings = {
        "version": admiral.__version__,
        "kb": identity(str(path)),
        "hops": list(hops),
        "labels": labels,
        "seed": seed,
    }
    with KnowledgeBase.open(path) as opened:
        synthesizer = Synthesizer(opened, chosen)
        if next(synthesizer.claims(), None) is None:
            raise AdmiralError(f"{path}: {_nothing(synthesizer, len(opened), hops)}")
        if synthesizer.quotes_only and not quiet:
            click.echo(
                f"{path}: hardly any document begins with a definition in English; "
                "descriptions quote first sentences instead",
                err=True,
            )
        with ResumableWriter(output, settings, overwrite=overwrite) as writer:
            done = len(writer.finished)
            if done > count:
                remedy = "Choose another output, or give --overwrite to start again"
                raise AdmiralError(
                    f"{output}: holds {done:,} claims, more than {count:,}. {remedy}"
                )
            claims = islice(synthesizer.claims(writer.finished), count - done)
            for claim in track_claims(claims, done=done, total=count, quiet=quiet):
                writer.write(claim.to_json())
                done += 1
            writer.finish()
        if done < count:
            raise AdmiralError(
                f"{output}: holds the {done:,} claims that could be written, not {count:,}: of "
                f"{len(opened):,} documents {synthesizer.n_mentioning:,} name another one that can "
                "be described, and another pass over them gave hardly any new claims. Add "
                "documents, or allow other --hops or --labels"
            )


def _nothing(synthesizer: Synthesizer, documents: int, hops: tuple[int, int]) -> str:
    if not synthesizer.n_mentioning:
        return (
            f"none of its {documents:,} documents names another one in a way that can be replaced, "
            "so no claims can be written. Add `links` to the corpus, or documents that name others"
        )
    return (
        f"no claims of {hops[0]} to {hops[1]} documents can be written: "
        f"{synthesizer.n_mentioning:,} of {documents:,} documents name another one, but none of "
        "these can be described without its name. Allow more --hops, or add documents that define "
        "their subject"
    )


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
