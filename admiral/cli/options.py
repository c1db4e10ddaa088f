"""Options that several commands share, and how they become settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from admiral.bundled import is_bundled
from admiral.errors import AdmiralError
from admiral.replacing import replaceable

Command = TypeVar("Command", bound=Callable[..., Any])


def engine_options(command: Command) -> Command:
    """Add the options about the model and the machine, and --config with --set."""
    for option in (
        click.option(
            "--set",
            "assignments",
            multiple=True,
            metavar="KEY=VALUE",
            help="Change any setting; repeatable. configs/retrieval.yaml lists them.",
        ),
        click.option(
            "--config",
            "config_path",
            type=click.Path(path_type=Path),
            help="YAML file of settings.",
        ),
        click.option("--threads", type=int, help="CPU threads; 0 leaves it to torch."),
        click.option("--device", metavar="NAME", help="auto, cpu, cuda, cuda:N or mps."),
        click.option(
            "--judge",
            metavar="NAME",
            help="calibrated, lexical, generated, classifier, never or always.",
        ),
        click.option("--model", metavar="NAME|DIR", help="Checkpoint (default: the bundled mini)."),
    ):
        command = option(command)
    return command


def overrides(assignments: tuple[str, ...], flags: Mapping[str, object]) -> list[str]:
    """Return ``key=value`` strings: those of --set, then the options that were given."""
    given = [f"{key}={value}" for key, value in flags.items() if value is not None]
    return [*assignments, *given]


def checked_text(text: str, what: str) -> str:
    """Return a text of the command line without outer white space.

    Raises
    ------
    AdmiralError
        If it is empty or was not typed in the terminal's encoding.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise AdmiralError(f"{what}: is not text in this terminal's encoding") from error
    if not text.strip():
        raise AdmiralError(f"{what}: is empty. Give its text in quotes")
    return text.strip()


def check_place(output: Path) -> None:
    """Raise `AdmiralError` if a file cannot be put there, or behind the link that is there.

    That is where there is no directory to hold it, or something that is no regular file.
    """
    if output.is_dir():
        raise AdmiralError(f"{output}: is a directory. Name a file")
    if not replaceable(output).parent.is_dir():
        raise AdmiralError(f"{output}: its directory does not exist. Create it first")


def keep_apart(output: Path, *inputs: Path | None) -> None:
    """Raise `AdmiralError` if a file to be written is an input, or another output."""
    for path in inputs:
        if path is not None and _same(output, path):
            raise AdmiralError(
                f"{output}: is the input as well, or another output. Choose another output"
            )


def keep_out(output: Path, *folders: str) -> None:
    """Raise `AdmiralError` if a file to be written lies in a knowledge base or checkpoint.

    The members of a joined knowledge base count, too.
    """
    for folder in folders:
        if is_bundled(folder) or not os.path.isdir(folder):
            continue
        for place in (Path(folder), *_members(Path(folder))):
            if Path(os.path.realpath(output)).is_relative_to(os.path.realpath(place)):
                raise AdmiralError(
                    f"{output}: lies in {place}, which is read. Choose another output"
                )


def _members(folder: Path) -> list[Path]:
    from admiral.kb.members import find_join

    join = find_join(folder)
    return join.paths(folder) if join else []


def _same(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)


def colour() -> bool:
    """Return whether standard output shows colours: a terminal, and none asked against it."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
