"""Options that several commands share, and their conversion to settings."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.io.limited_reading import DEFAULT_LIMITS, FileLimits
from admiral.io.settings_docs import Setting, described

Command = TypeVar("Command", bound=Callable[..., Any])
_METAVARS = {
    "model": "NAME|DIR",
    "kb": "NAME|DIR",
    "hops": "dynamic|N",
    "stop_at": "P",
    "verifier": "NAME|DIR",
    "base_url": "URL",
}


# Larger than any ranking.
_MAX_DOCUMENTS = 1_000_000

#: Adds ``--json`` to a command that prints measures.
json_record_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON record.")
kb_option = click.option(
    "--kb",
    metavar="NAME|DIR",
    default="demo",
    show_default=True,
    help="Knowledge base: a directory, or `demo` for the bundled one.",
)
progress_option = click.option("--progress/--no-progress", default=True, help="Show progress.")
report_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def usable_cores(most: int = 8) -> int:
    """Return the number of cores that this process may use, at most `most`."""
    return min(len(os.sched_getaffinity(0)), most)


def count_option(
    help: str, default: int = 10, most: int = _MAX_DOCUMENTS
) -> Callable[[Command], Command]:
    """Return a decorator that adds ``-k`` and ``--k``, passed as `count`."""
    kind = click.IntRange(1, most)
    return click.option(
        "-k", "--k", "count", type=kind, default=default, show_default=True, help=help
    )


def print_report(report: Any, as_json: bool, line: str, counts: Mapping[str, int]) -> None:
    """Print a report as JSON, or a line and the counts that are not zero.

    The line begins with the path of the report.
    """
    if as_json:
        click.echo(json.dumps({**asdict(report), "path": str(report.path)}))
        return
    click.echo(f"{report.path}: {line}, in {report.seconds:.1f} s")
    for name, count in counts.items():
        if count:
            click.echo(f"{name}: {count:,}")


def file_limit_options(command: Command) -> Command:
    """Add the limits of reading one file, which the command gets as ``limits``."""

    @wraps(command)
    def limited(*, file_seconds: float, file_megabytes: int, **options: Any) -> Any:
        return command(limits=FileLimits(file_seconds, file_megabytes), **options)

    for option in (
        click.option(
            "--file-megabytes",
            type=click.IntRange(min=1),
            default=DEFAULT_LIMITS.megabytes,
            show_default=True,
            help="Size of the largest document or page that is read, in MiB after decompression. "
            "Some formats have a lower limit.",
        ),
        click.option(
            "--file-seconds",
            type=click.FloatRange(0, 86_400),
            default=DEFAULT_LIMITS.seconds,
            show_default=True,
            help="Processor time that one document or page may take; 0 for no limit.",
        ),
    ):
        limited = option(limited)
    return cast(Command, limited)


def cut_offs_option(help: str) -> Callable[[Command], Command]:
    """Return a decorator that adds ``--k``, passed as the sorted list of distinct cut-offs."""
    return click.option(
        "--k",
        "ks",
        multiple=True,
        type=click.IntRange(1, _MAX_DOCUMENTS),
        callback=lambda context, parameter, given: sorted(set(given)),
        help=help,
    )


def setting_options(*names: str) -> Callable[[Command], Command]:
    """Return a decorator that adds the options of settings, described as they are declared."""
    declarations = {each.name: each for each in described(RetrievalConfig)}

    def add(command: Command) -> Command:
        for name in reversed(names):
            command = _setting_option(declarations[name])(command)
        return command

    return add


def _setting_option(declared: Setting) -> Callable[[Command], Command]:
    kind = RetrievalConfig.model_fields[declared.name].annotation
    choices = f"One of {', '.join(declared.choices)}." if declared.choices else ""
    default = f"[default: {declared.default}]"
    return click.option(
        f"--{declared.name.replace('_', '-')}",
        type=kind if kind in (int, float) else str,
        metavar=_METAVARS.get(declared.name, None if kind is int else "NAME"),
        help=" ".join(filter(None, [declared.summary, choices, default])),
    )


def config_options(command: Command) -> Command:
    """Add --config and --set."""
    names = ", ".join(each.name for each in described(RetrievalConfig))
    return settings_options(command, f"`admiral settings` describes them: {names}.")


def settings_options(command: Command, described: str) -> Command:
    """Add --config and --set for settings that are described elsewhere."""
    for option in (
        click.option(
            "--set",
            "assignments",
            multiple=True,
            metavar="KEY=VALUE",
            help=f"Change a setting; repeatable. {described}",
        ),
        click.option(
            "--config",
            "config_path",
            type=click.Path(path_type=Path),
            help="YAML file of settings. Options and --set override it.",
        ),
    ):
        command = option(command)
    return command


def overrides(assignments: tuple[str, ...], flags: Mapping[str, object]) -> list[str]:
    """Return ``key=value`` strings: those of --set, then the options that were given."""
    given = [f"{key}={value}" for key, value in flags.items() if value is not None]
    return [*assignments, *given]


def checked_text(text: str, name: str) -> str:
    """Return a text of the command line without outer white space.

    Raises AdmiralError if it is empty or not in the encoding of the terminal.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise AdmiralError(f"{name}: is not text in this terminal's encoding") from error
    if not text.strip():
        raise AdmiralError(f"{name}: is empty. Give its text in quotes")
    return text.strip()


def use_colour() -> bool:
    """Return whether to print in colour: to a terminal, unless NO_COLOR is set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def output_width() -> int:
    """Return the number of columns for readable text: those of the terminal, at most 120."""
    return min(shutil.get_terminal_size((100, 24)).columns, 120)
