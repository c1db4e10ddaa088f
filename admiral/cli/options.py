"""Options that several commands share, and how they become settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from admiral.errors import AdmiralError

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


def keep_out(output: Path, *folders: str) -> None:
    """Call `admiral.kb.kb_paths.keep_out`, imported when it is needed: it takes a moment."""
    from admiral.kb.kb_paths import keep_out

    keep_out(output, *folders)


def colour() -> bool:
    """Return whether standard output shows colours: a terminal, and none asked against it."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
