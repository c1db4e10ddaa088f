"""`admiral synthesize`: claims with gold evidence from a knowledge base, to train on."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

import admiral
from admiral.cli.options import keep_out
from admiral.errors import AdmiralError
from admiral.io.claim_progress import track
from admiral.storage.output_paths import check_place

if TYPE_CHECKING:
    from admiral.synthesis import Synthesizer

_FEWEST, _MOST = 2, 4


class HopRange(click.ParamType):
    """Numbers of documents, such as ``2-4`` or ``3``."""

    name = "range"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """Return the least and the most."""
        found = re.fullmatch(r"(\d)(?:-(\d))?", str(value))
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not _FEWEST <= first <= last <= _MOST:
            self.fail(f"{value!r} is not a number from {_FEWEST} to {_MOST}, or two as in 2-4.")
        return first, last


@click.command("synthesize")
@click.option("--kb", required=True, metavar="DIR|demo", help="Knowledge base.")
@click.option("--count", required=True, type=click.IntRange(min=1), help="Claims to write.")
@click.option(
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="JSON Lines of claims; an interrupted run goes on where it stopped.",
)
@click.option("--overwrite", is_flag=True, help="Start --output anew whatever is there.")
@click.option(
    "--hops",
    type=HopRange(),
    default="2-4",
    show_default=True,
    metavar="N|N-M",
    help="Documents that a claim needs.",
)
@click.option(
    "--labels",
    type=click.Choice(["both", "supported", "refuted"]),
    default="both",
    show_default=True,
    help="True claims, false ones, or both.",
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--quiet", is_flag=True, help="No progress.")
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
    """Write claims over a knowledge base, with their gold evidence.

    Documents that a claim needs are described in words of their own text instead of being named.
    Records are like those of HoVer, so that everything that reads these reads them. The same seed
    gives the same claims.
    """
    from admiral.io.result_writer import ResumableWriter, companions
    from admiral.kb import KnowledgeBase, locate
    from admiral.retrieval.provenance import identity
    from admiral.synthesis import Settings, Synthesizer

    for file in (output, *companions(output)):
        keep_out(file, kb)
    check_place(output)
    path = locate(kb)
    chosen = Settings(*hops, labels=labels, seed=seed)  # type: ignore[arg-type]
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
        if synthesizer.quoted and not quiet:
            click.echo(
                f"{path}: hardly any document begins with a definition in English; "
                "descriptions quote first sentences instead",
                err=True,
            )
        with ResumableWriter(output, settings, overwrite=overwrite) as writer:
            done = len(writer.finished)
            if done > count:
                remedy = "Choose another output, or give --overwrite to start anew"
                raise AdmiralError(
                    f"{output}: holds {done:,} claims, more than {count:,}. {remedy}"
                )
            claims = islice(synthesizer.claims(writer.finished), count - done)
            for claim in track(claims, done=done, total=count, quiet=quiet):
                writer.write(claim.to_json())
                done += 1
            writer.finish()
        if done < count:
            raise AdmiralError(
                f"{output}: holds the {done:,} claims that could be written, not {count:,}: of "
                f"{len(opened):,} documents {synthesizer.linked:,} name another one that can be "
                "described, and going over them again brought hardly anything new. Add documents, "
                "or allow other --hops or --labels"
            )


def _nothing(synthesizer: Synthesizer, documents: int, hops: tuple[int, int]) -> str:
    if not synthesizer.linked:
        return (
            f"none of its {documents:,} documents names another one in a way that can be replaced, "
            "so no claims can be written. Give the corpus `links`, or documents that name others"
        )
    return (
        f"no claims of {hops[0]} to {hops[1]} documents can be written: {synthesizer.linked:,} of "
        f"{documents:,} documents name another one, but none of these can be described without its "
        "name. Allow more --hops, or add documents that say what they are about"
    )
