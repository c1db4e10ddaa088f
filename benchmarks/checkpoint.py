"""What a checkpoint takes: on disk, to load, and in memory, each in a process of its own.

    python -m benchmarks.checkpoint [--model mini]

Memory is what the process holds more than one that has only imported the libraries. Beside it is
the same directory loaded by transformers alone, without tokenizer and reranker's head.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import click
import torch
from transformers import BartForConditionalGeneration

from admiral.errors import AdmiralError
from admiral.models.checkpoint import load_checkpoint, locate_checkpoint
from benchmarks.dev_extra import psutil

MEGABYTE = 1e6


def ours(model: str, dtype: torch.dtype) -> Any:
    """Load it as the commands do."""
    return load_checkpoint(model, dtype=dtype)


def theirs(model: str, dtype: torch.dtype) -> Any:
    """Load it as transformers does."""
    return BartForConditionalGeneration.from_pretrained(locate_checkpoint(model), dtype=dtype)


def measured(load: Callable[[str, torch.dtype], Any], model: str, dtype: torch.dtype) -> Any:
    """Return seconds and bytes of one loading in this process, which is a fresh one."""
    before = psutil.Process().memory_info().rss
    began = time.perf_counter()
    kept = load(model, dtype)
    seconds = time.perf_counter() - began
    held = psutil.Process().memory_info().rss - before
    del kept
    return seconds, held


@click.command()
@click.option("--model", default="mini", show_default=True)
@click.option("--repeats", default=3, show_default=True, help="The fastest one counts.")
def main(model: str, repeats: int) -> None:
    """Print a table."""
    files = [path for path in locate_checkpoint(model).iterdir() if path.is_file()]
    click.echo(f"{model}: {sum(f.stat().st_size for f in files) / MEGABYTE:.1f} MB on disk")
    click.echo("| | seconds | memory, MB |")
    click.echo("|---|---|---|")
    for name, load, dtype in (
        ("load_checkpoint, fp32", ours, torch.float32),
        ("load_checkpoint, bf16", ours, torch.bfloat16),
        ("transformers, fp32", theirs, torch.float32),
    ):
        found = []
        for _ in range(repeats):
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
                found.append(fresh.submit(measured, load, model, dtype).result())
        seconds, held = min(found)
        click.echo(f"| {name} | {seconds:.2f} | {held / MEGABYTE:.0f} |")


if __name__ == "__main__":
    try:
        main()
    except AdmiralError as error:
        sys.exit(f"error: {error}")
