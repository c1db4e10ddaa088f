"""``admiral synthesize``: training claims with gold evidence from a knowledge base."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

import admiral
from admiral.cli.options import check_outside_folders
from admiral.errors import AdmiralError
from admiral.io.progress import track_claims
from admiral.storage.output_paths import check_output_path

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
    from admiral.io.result_writer import ResumableWriter, companion_paths
    from admiral.kb import KnowledgeBase, locate
    from admiral.retrieval.provenance import identity
    from admiral.synthesis import SynthesisSettings, Synthesizer

    for file in (output, *companion_paths(output)):
        check_outside_folders(file, kb)
    check_output_path(output)
    path = locate(kb)
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
