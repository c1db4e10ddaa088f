"""Logging of the command line, and the option ``--verbose`` that every command has."""

from __future__ import annotations

import logging
import sys

import click

_PACKAGES = ("admiral", "proofs", "trie")
_TIMED = "%(asctime)s.%(msecs)03d %(name)s: %(message)s"


def set_up_logging() -> None:
    """Log messages of AdMIRaL, and warnings of other packages, to standard error."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    for package in _PACKAGES:
        logging.getLogger(package).setLevel(logging.INFO)


def is_verbose() -> bool:
    """Return whether ``--verbose`` was given."""
    return logging.getLogger(_PACKAGES[0]).isEnabledFor(logging.DEBUG)


def verbose_option() -> click.Option:
    """Return the option ``--verbose``, which a command does not receive as an argument."""
    return click.Option(
        ["-v", "--verbose"],
        is_flag=True,
        expose_value=False,
        callback=_log_everything,
        help="Log what is loaded and done, with times, and tracebacks of errors.",
    )


def _log_everything(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if not value:
        return
    for package in _PACKAGES:
        logging.getLogger(package).setLevel(logging.DEBUG)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(logging.Formatter(_TIMED, datefmt="%H:%M:%S"))
