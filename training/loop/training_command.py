"""The command line that the training programs share."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path

import click

from admiral.errors import AdmiralError
from admiral.requirements import check_extra
from training.loop.run_config import load_config


def training_command(tasks: tuple[str, ...], purpose: str) -> click.Command:
    """Return the command that trains a checkpoint for `tasks`.

    Parameters
    ----------
    tasks
        Some of `trie.model.safe_tokenizer.TASKS`.
    purpose
        The first line of its help.
    """

    def start(path: Path, overrides: tuple[str, ...], overwrite: bool) -> None:
        from training.loop.training_loop import train

        train(load_config(path, overrides, tasks), tasks, overwrite=overwrite)

    return run_command(start, purpose, "docs/training.md")


def run_command(
    start: Callable[[Path, tuple[str, ...], bool], None], purpose: str, page: str
) -> click.Command:
    """Return a command that starts or resumes a training run.

    Parameters
    ----------
    start
        Runs the training with a file of settings, overrides, and whether to start again. It imports
        what the extra `training` installs.
    purpose
        The first line of its help.
    page
        The page that lists its settings.
    """

    @click.command(help=f"{purpose}\n\nA run that was stopped continues from its last saved state.")
    @click.option(
        "--config",
        "path",
        type=click.Path(path_type=Path),
        required=True,
        help=f"YAML file of settings, which {page} lists.",
    )
    @click.option(
        "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change a setting."
    )
    @click.option("--overwrite", is_flag=True, help="Start a new run and replace the one in `out`.")
    def main(path: Path, overrides: tuple[str, ...], overwrite: bool) -> None:
        logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
        try:
            check_extra("training", "training")
            start(path, overrides, overwrite)
        except AdmiralError as error:
            raise click.ClickException(str(error)) from error

    return main
