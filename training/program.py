"""The command line that the training programs share."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import click

from admiral.errors import AdmiralError
from training.loop.training_loop import train
from training.run_config import load_config


def program(tasks: tuple[str, ...], purpose: str) -> click.Command:
    """Return the command that trains a checkpoint for `tasks`.

    Parameters
    ----------
    tasks
        Some of `training.run_config.TASKS`.
    purpose
        The first line of its help.
    """

    @click.command(help=f"{purpose}\n\nA run that was stopped goes on where it was last saved.")
    @click.option(
        "--config",
        "path",
        type=click.Path(path_type=Path),
        required=True,
        help="YAML file of settings; docs/training.md explains them.",
    )
    @click.option(
        "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one of them."
    )
    @click.option("--overwrite", is_flag=True, help="Start anew, and replace what is in `out`.")
    def main(path: Path, overrides: tuple[str, ...], overwrite: bool) -> None:
        logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
        try:
            train(load_config(path, overrides, tasks), tasks, overwrite=overwrite)
        except AdmiralError as error:
            raise click.ClickException(str(error)) from error

    return main
