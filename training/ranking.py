"""Fit what tells relevant documents: how what the hops say about them is weighed.

Run as ``python -m training.ranking --source hover:TRAIN --kb KB --out FILE``, for ``admiral
retrieve --set ranking_weights=FILE``. It answers claims whose gold documents are known, which takes
a second or two each, and fits the weights on what was found, which takes a minute. The claims may
be those that the model was trained on. The hops choose their evidence by the weights that are there
already, so a second round, with the weights of the first, fits them to their own choice; weights of
other clues than the code's are got round by ``--set ranking=fused``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import click
import torch

from admiral import Admiral, Claim
from admiral.config import load_config
from admiral.errors import AdmiralError
from admiral.gold import GoldClaim
from admiral.io.progress import track_claims
from admiral.kb.kb_paths import check_output_path
from admiral.ranking.features import document_clues
from admiral.retrieval.state import Progress
from admiral.storage.atomic_files import write_atomically
from admiral.storage.output_paths import check_place, keep_apart
from training.data.claim_sources import Source, drawn
from training.fitting.fits import fit_document_scorer

Labelled = tuple[torch.Tensor, torch.Tensor]


def labelled(found: Progress, claim: GoldClaim) -> Labelled | None:
    """Return the clues of the documents found for a claim, and which are gold.

    None where no gold document was found, or nothing else: there is nothing to learn from these.
    """
    clues = document_clues(found)
    gold = torch.tensor([title in claim.titles for title in clues], dtype=torch.bool)
    if not gold.any() or gold.all():
        return None
    return torch.tensor(list(clues.values())), gold


def examples(system: Admiral, claims: Sequence[GoldClaim]) -> Iterator[list[Labelled]]:
    """Answer claims and yield what can be learnt from each.

    That is an example for every number of hops, so that the weights serve runs that make one hop as
    well as runs that make all: many clues mean something else where there was but one hop.
    """
    asked = (Claim(claim.id, claim.claim) for claim in claims)
    for found, claim in zip(system.explore(asked), claims, strict=True):
        parts = (found.until(count) for count in range(1, len(found.hops) + 1))
        yield [one for part in parts if (one := labelled(part, claim)) is not None]


@click.command()
@click.option(
    "--source",
    "sources",
    multiple=True,
    required=True,
    metavar="FORMAT:FILE",
    help="Claims with gold documents, as training.build_data takes them; repeatable.",
)
@click.option("--kb", default="demo", show_default=True)
@click.option("--model", default="mini", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="File of the weights.")
@click.option(
    "--limit",
    default=400,
    show_default=True,
    type=click.IntRange(min=1),
    help="Claims of each source at most.",
)
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Settings of the runs.")
@click.option("--seed", default=0, show_default=True)
def main(
    sources: tuple[str, ...],
    kb: str,
    model: str,
    out: Path,
    limit: int,
    settings: tuple[str, ...],
    seed: int,
) -> None:
    """Fit the weights of the ranking `learned` on claims with gold documents."""
    try:
        parsed = [Source.parse(one) for one in sources]
        check_place(out)
        keep_apart(out, *(one.path for one in parsed))
        check_output_path(out, kb, model)
        config = load_config(None, [*settings, f"kb={kb}", f"model={model}"])
        with Admiral.from_pretrained(config=config) as system:
            claims = drawn(parsed, system.kb, limit, seed)
            answered = track_claims(examples(system, claims), done=0, total=len(claims))
            learnt = [one for one in answered if one]
        if not learnt:
            raise AdmiralError(
                f"{', '.join(sources)}: no gold document was found in {kb}. Give the knowledge "
                "base that the claims were annotated on"
            )
        clues, gold = zip(*chain(*learnt), strict=True)
        write_atomically(out, [fit_document_scorer(clues, gold, seed).to_json().encode()])
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{out}: fitted on {len(learnt):,} of {len(claims):,} claims", err=True)


if __name__ == "__main__":
    main()
