"""Create the untrained `mini` checkpoint from MiniLM.

Run as ``python -m training.warm_start OUT``.
"""

from __future__ import annotations

from pathlib import Path

import click
import torch

from admiral.errors import AdmiralError
from admiral.models.checkpoint import is_checkpoint
from admiral.models.checkpoint_sums import write_sums
from admiral.reranking.minilm_files import minilm_directory
from admiral.storage.atomic_directories import staging
from admiral.storage.atomic_files import as_os_errors
from training.loop.minilm_warm_start import mini_tokenizer, warm_start


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--decoder-layers", type=click.IntRange(1, 6), default=3, show_default=True)
@click.option("--seed", default=0, show_default=True, help="Seed of the parameters that are new.")
def main(out: Path, decoder_layers: int, seed: int) -> None:
    """Write the warm-started checkpoint to the directory OUT, replacing an earlier one."""
    try:
        minilm = minilm_directory()
        with staging(out, overwrite=True, owned=is_checkpoint) as folder, as_os_errors():
            torch.manual_seed(seed)
            warm_start(minilm, decoder_layers).save_pretrained(folder)
            mini_tokenizer(minilm).save_pretrained(folder)
            write_sums(folder)
    except AdmiralError as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main()
