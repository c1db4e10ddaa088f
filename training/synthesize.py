"""Write synthetic claims over a knowledge base; ``python -m training synthesize`` runs it."""

from __future__ import annotations

import re
from itertools import chain, islice
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

import admiral
from admiral.errors import AdmiralError
from admiral.io.progress import track_claims
from admiral.io.result_writer import ResumableWriter
from admiral.kb import KnowledgeBase, locate
from admiral.retrieval.provenance import identity
from admiral.storage.atomic_files import check_distinct_paths
from training.data_options import Positive, SeedOptions, program
from training.synthesis import Labels, Synthesizer


def _is_range(text: str) -> str:
    match = re.fullmatch(r"([2-4])(?:-([2-4]))?", text)
    if match is None or (match[2] or match[1]) < match[1]:
        raise ValueError(f"{text!r} is not a number from 2 to 4, or two as in 2-4")
    return text


class SynthesisOptions(SeedOptions):
    """Options of this program."""

    kb: str
    """Knowledge base."""
    count: Positive
    """Number of claims."""
    output: Path
    """JSON Lines file of claims. The same command resumes an interrupted run."""
    overwrite: bool = False
    """Discard an existing --output and start again."""
    hops: Annotated[str, AfterValidator(_is_range), "N|N-M"] = "2-4"
    """Number of documents that a claim needs."""
    labels: Labels = "both"
    """Write supported claims, refuted claims, or both."""
    quiet: bool = False
    """Show no progress."""


@program(SynthesisOptions)
def main(options: SynthesisOptions) -> None:
    """Write training claims with gold evidence.

    The claims are about documents of the knowledge base. They describe documents in words of their
    own text instead of naming them. Records have the format of HoVer. The same seed gives the same
    claims.
    """
    path, output, count = locate(options.kb), options.output, options.count
    check_distinct_paths(output, folders=[path])
    hops = (int(options.hops[0]), int(options.hops[-1]))
    settings = {
        "version": admiral.__version__,
        "kb": identity(str(path)),
        "hops": list(hops),
        "labels": options.labels,
        "seed": options.seed,
    }
    with KnowledgeBase.open(path) as kb:
        synthesizer = Synthesizer(kb, hops, options.labels, options.seed)
        claims = synthesizer.claims()
        if (first := next(claims, None)) is None:
            raise AdmiralError(
                f"{path}: no claims of {hops[0]} to {hops[1]} documents can be written: "
                f"{synthesizer.n_mentioning:,} of {len(kb):,} documents name another one in a "
                "way that can be replaced. Add `links` to the corpus, or documents that name "
                "others and define their subject, or allow more --hops"
            )
        with ResumableWriter(output, settings, overwrite=options.overwrite) as writer:
            done = len(writer.finished)
            if done > count:
                raise AdmiralError(
                    f"{output}: holds {done:,} claims, more than {count:,}. Choose another output, "
                    "or give --overwrite to start again"
                )
            # Those of an interrupted run are the first ones.
            rest = islice(chain([first], claims), done, count)
            for claim in track_claims(rest, done=done, total=count, quiet=options.quiet):
                writer.write(claim.to_json())
                done += 1
            writer.finish()
    if done < count:
        raise AdmiralError(
            f"{output}: holds the {done:,} claims that could be written, not {count:,}: "
            "another pass over the documents gave hardly any new ones. Add documents, or allow "
            "other --hops or --labels"
        )
