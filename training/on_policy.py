"""Build training samples from the hops that the system itself makes on training claims.

Run as ``python -m training.on_policy --kb KB --model DIR --source hover:FILE OUT.jsonl``. Repeat it
with the newly trained model between stages of training.
"""

from __future__ import annotations

from pathlib import Path

import click

from admiral import Admiral
from admiral.config import load_config
from admiral.errors import AdmiralError
from admiral.kb.kb_paths import check_outside_folders
from admiral.storage.output_paths import check_distinct_paths, check_output_path
from training.command_options import (
    gold_source_option,
    hold_out_option,
    kb_option,
    limit_option,
    retrieval_settings_option,
    seed_option,
)
from training.data.claim_sources import Source, sample_claims
from training.data.hop_samples import hop_samples
from training.data.samples import write_samples


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@gold_source_option
@kb_option()
@click.option("--model", default="mini", show_default=True, help="Checkpoint that runs the hops.")
@click.option("--hops", type=click.IntRange(min=1), default=3, show_default=True)
@limit_option(2000)
@retrieval_settings_option
@hold_out_option
@seed_option
def main(
    out: Path,
    sources: tuple[str, ...],
    kb: str,
    model: str,
    hops: int,
    limit: int,
    settings: tuple[str, ...],
    hold_out: float,
    seed: int,
) -> None:
    """Write samples of the hops of claims to OUT (JSON Lines)."""
    try:
        parsed = [Source.parse(text).without_held_out(hold_out) for text in sources]
        check_output_path(out)
        check_distinct_paths(out, *(source.path for source in parsed))
        check_outside_folders(out, kb, model)
        fixed = [f"kb={kb}", f"model={model}", f"hops={hops}", "judge=never"]
        config = load_config(None, [*settings, *fixed])
        with Admiral.from_pretrained(config=config) as system:
            claims = sample_claims(parsed, system.kb, limit, seed)
            count = write_samples(out, hop_samples(system, claims, seed=seed))
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{out}: {count:,} samples of {len(claims):,} claims", err=True)


if __name__ == "__main__":
    main()
