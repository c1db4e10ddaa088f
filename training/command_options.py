"""Options that several training programs share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from admiral.errors import AdmiralError
from admiral.requirements import check_extra

Command = TypeVar("Command", bound=Callable[..., Any])


def check_training_extra() -> None:
    """Raise click.ClickException unless the packages that training needs are installed."""
    try:
        check_extra("training", "training")
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error


class ProgramCommand(click.Command):
    """A command that needs the extra, and reports errors of the system in a line."""

    def invoke(self, context: click.Context) -> Any:
        """Run the command."""
        check_training_extra()
        try:
            return super().invoke(context)
        except AdmiralError as error:
            raise click.ClickException(str(error)) from error


#: Makes a function the command of a program.
program = click.command(cls=ProgramCommand)
out_argument = click.argument("out", type=click.Path(path_type=Path))


#: Adds ``--source`` to a program that reads claims with gold documents.
gold_source_option = click.option(
    "--source",
    "sources",
    multiple=True,
    required=True,
    metavar="FORMAT:FILE",
    help="Claims with gold documents, in the formats of training.build_data; repeatable.",
)


def limit_option(default: int) -> Callable[[Command], Command]:
    """Return a decorator that adds ``--limit``, the number of claims of each source."""
    return click.option(
        "--limit",
        default=default,
        show_default=True,
        type=click.IntRange(min=1),
        help="Maximum number of claims of each source.",
    )


#: Adds ``--set``.
retrieval_settings_option = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Retrieval settings."
)

#: Adds ``--seed``.
seed_option = click.option("--seed", default=0, show_default=True)
