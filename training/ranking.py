"""Fit the weights of the ranking `learned`: how much each feature of a document counts.

Run as ``python -m training.ranking --source hover:TRAIN --kb KB --out FILE``, then use ``admiral
retrieve --set ranking_weights=FILE``. The program runs the hops of claims whose gold documents are
known, which takes one or two seconds per claim, and fits the weights in a minute. The claims may be
those that the model was trained on. The hops select evidence with the existing weights, so a second
round, with ``--set ranking_weights=FILE``, fits the weights to their own choices. If the features
have changed since the existing weights were fitted, start with ``--set ranking=fused``. If the
knowledge base has a graph, the weights also count how close documents are in it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path

import click

from admiral import Admiral
from admiral.config import load_config
from admiral.errors import AdmiralError
from admiral.graph import graph_to_use
from admiral.io.progress import track_claims
from admiral.kb.kb_paths import check_outside_folders
from admiral.retrieval.stage_assembly import build_title_scorer
from admiral.storage.atomic_files import write_atomically
from admiral.storage.output_paths import check_distinct_paths, check_output_path
from training.command_options import (
    gold_source_option,
    held_out_option,
    limit_option,
    retrieval_settings_option,
    seed_option,
)
from training.data.claim_sources import Source, sample_claims
from training.fitting.document_scorer_fit import fit_document_scorer, ranking_examples


@click.command()
@gold_source_option
@click.option("--kb", default="demo", show_default=True)
@click.option("--model", default="mini", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="File of the weights.")
@limit_option(400)
@retrieval_settings_option
@held_out_option
@seed_option
def main(
    sources: tuple[str, ...],
    kb: str,
    model: str,
    out: Path,
    limit: int,
    settings: tuple[str, ...],
    held_out: float | None,
    seed: int,
) -> None:
    """Fit the weights of the ranking `learned` on claims with gold documents."""
    try:
        parsed = [Source.parse(text).only_held_out(held_out) for text in sources]
        check_output_path(out)
        check_distinct_paths(out, *(source.path for source in parsed))
        check_outside_folders(out, kb, model)
        config = load_config(None, [*settings, f"kb={kb}", f"model={model}"])
        with Admiral.from_pretrained(config=config) as system:
            # The weights in use may not need generative scores and proximity; the new ones may.
            title_scorer = build_title_scorer(system.kb, system.checkpoint, config)
            graph = graph_to_use(system.kb, config.graph)
            system.stages = replace(system.stages, title_scorer=title_scorer, graph_proximity=graph)
            claims = sample_claims(parsed, system.kb, limit, seed)
            tracked = track_claims(ranking_examples(system, claims), done=0, total=len(claims))
            by_claim = [examples for examples in tracked if examples]
        if not by_claim:
            raise AdmiralError(
                f"{', '.join(sources)}: no gold document was found in {kb}. Give the knowledge "
                "base that the claims were annotated on"
            )
        features, gold = zip(*chain(*by_claim), strict=True)
        write_atomically(out, [fit_document_scorer(features, gold, seed).to_json().encode()])
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{out}: fitted on {len(by_claim):,} of {len(claims):,} claims", err=True)


if __name__ == "__main__":
    main()
