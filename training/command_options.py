"""Options that several training programs share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from admiral.config import RetrievalConfig
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


def kb_option(*names: str) -> Callable[[Command], Command]:
    """Return a decorator that adds ``--kb``, passed to the program under a name if one is given."""
    return click.option("--kb", *names, default="demo", show_default=True, help="Knowledge base.")


def source_option(help: str, **rules: Any) -> Callable[[Command], Command]:
    """Return a decorator that adds ``--source``, repeatable, with the given help.

    Other parameters of `click.option`, such as ``required``, are given as keywords.
    """
    options = {"multiple": True, "metavar": "FORMAT:FILE", "help": help, **rules}
    return click.option("--source", "sources", **options)


#: Adds ``--source`` to a program that reads claims with gold documents.
gold_source_option = source_option(
    "Claims with gold documents, in the formats of training.build_data; repeatable.", required=True
)

#: Adds ``--documents``.
documents_option = click.option(
    "--documents",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="Documents to add to the knowledge base, such as FEVEROUS pages; repeatable.",
)


def exclude_option(effect: str, *, exists: bool = False) -> Callable[[Command], Command]:
    """Return a decorator that adds ``--exclude``.

    `exists`: whether click checks that the files exist.
    """
    return click.option(
        "--exclude",
        multiple=True,
        type=click.Path(path_type=Path, exists=exists),
        help=f"Development claims; {effect}; repeatable.",
    )


def headings_option(samples: str) -> Callable[[Command], Command]:
    """Return a decorator that adds ``--headings``, a share of the `samples` that the help names."""
    return click.option(
        "--headings",
        type=click.FloatRange(0, 1),
        default=0.0,
        show_default=True,
        help=f"Share of {samples} whose titles become catalogue headings, such as Meyers, Seth.",
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


def lexicon_options(command: Command) -> Command:
    """Add the options that name the sources of a lexicon, passed to the program as `lexicon`.

    It gets them as settings of retrieval, for `admiral.retrieval.stage_assembly.open_lexicon`.
    """

    @wraps(command)
    def with_lexicon(wordnet: bool, paraphrases: str, antonyms: str, **options: Any) -> Any:
        words = RetrievalConfig(wordnet=wordnet, paraphrases=paraphrases, antonyms=antonyms)
        return command(lexicon=words, **options)

    decorated: Any = with_lexicon
    for option in (
        click.option("--antonyms", default="", metavar="FILE", help="Word list of opposites."),
        click.option("--paraphrases", default="", metavar="FILE", help="Word list, or PPDB."),
        click.option("--wordnet", is_flag=True, help="Align the spans of proofs by WordNet too."),
    ):
        decorated = option(decorated)
    result: Command = decorated
    return result


#: Adds ``--hold-out SHARE`` to a program that builds training samples.
hold_out_option = click.option(
    "--hold-out",
    default=0.0,
    show_default=True,
    type=click.FloatRange(0, 1, max_open=True),
    help="Share of the claims to leave out, for --held-out of the programs that fit weights.",
)

#: Adds ``--seed``.
seed_option = click.option("--seed", default=0, show_default=True)
