"""Write synthetic claims over a knowledge base; ``python -m training synthesize`` runs it."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

import click

import admiral
from admiral.errors import AdmiralError
from admiral.io.progress import track_claims
from admiral.io.result_writer import ResumableWriter
from admiral.kb import KnowledgeBase, locate
from admiral.retrieval.provenance import identity
from admiral.storage.atomic_files import check_distinct_paths
from training.command_options import program, seed_option
from training.synthesis import SynthesisSettings, Synthesizer


def _parse_hops(_: click.Context, __: click.Parameter, value: str) -> tuple[int, int]:
    match = re.fullmatch(r"([2-4])(?:-([2-4]))?", value)
    if match is None or (match[2] or match[1]) < match[1]:
        raise click.BadParameter(f"{value!r} is not a number from 2 to 4, or two as in 2-4.")
    return int(match[1]), int(match[2] or match[1])


@program
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
    callback=_parse_hops,
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
@seed_option
@click.option("--quiet", is_flag=True, help="Show no progress.")
def main(
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
    path = locate(kb)
    check_distinct_paths(output, folders=[path])
    settings = {
        "version": admiral.__version__,
        "kb": identity(str(path)),
        "hops": list(hops),
        "labels": labels,
        "seed": seed,
    }
    with KnowledgeBase.open(path) as opened:
        chosen = SynthesisSettings(*hops, labels=labels, seed=seed)  # type: ignore[arg-type]
        synthesizer = Synthesizer(opened, chosen)
        if next(synthesizer.claims(), None) is None:
            raise AdmiralError(
                f"{path}: no claims of {hops[0]} to {hops[1]} documents can be written: "
                f"{synthesizer.n_mentioning:,} of {len(opened):,} documents name another one in a "
                "way that can be replaced. Add `links` to the corpus, or documents that name "
                "others and define their subject, or allow more --hops"
            )
        with ResumableWriter(output, settings, overwrite=overwrite) as writer:
            done = len(writer.finished)
            if done > count:
                raise AdmiralError(
                    f"{output}: holds {done:,} claims, more than {count:,}. Choose another output, "
                    "or give --overwrite to start again"
                )
            claims = islice(synthesizer.claims(writer.finished), count - done)
            for claim in track_claims(claims, done=done, total=count, quiet=quiet):
                writer.write(claim.to_json())
                done += 1
            writer.finish()
        if done < count:
            raise AdmiralError(
                f"{output}: holds the {done:,} claims that could be written, not {count:,}: "
                "another pass over the documents gave hardly any new ones. Add documents, or allow "
                "other --hops or --labels"
            )
