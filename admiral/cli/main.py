"""The ``admiral`` command: its subcommands, exit statuses and error messages."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

import click

import admiral
from admiral.errors import AdmiralError
from admiral.io.progress import EXIT_INTERRUPTED

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


# The commands by what they are for, each with its module, which has `<command>_command`. It is
# imported when the command or the list of commands is needed. Heavy packages are imported later.
_SECTIONS = {
    "Claims": {"retrieve": "retrieve", "prove": "retrieve", "serve": "serve", "mcp": "serve"},
    "Documents": {
        **dict.fromkeys(("index", "add", "remove"), "index"),
        **dict.fromkeys(("search", "show", "titles"), "search"),
        **{"info": "index", "graph": "graph"},
    },
    "Citations": {
        **dict.fromkeys(("audit", "cite", "verify-citation", "extract-citations"), "cite"),
        "fetch": "fetch",
    },
    "Measuring": dict.fromkeys(("evaluate", "compare", "report"), "evaluate"),
    "Training data and checkpoints": {"download": "data", "convert": "data"},
    "Set-up": {"settings": "retrieve"},
}
_COMMANDS = {name: module for section in _SECTIONS.values() for name, module in section.items()}


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is looked up."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order of the help."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by name, or None."""
        if cmd_name not in _COMMANDS:
            return None
        function = f"{cmd_name.replace('-', '_')}_command"
        module = import_module(f"admiral.cli.{_COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, function)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in sections."""
        width = max(map(len, _COMMANDS))
        for section, names in _SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl(
                    [
                        (name.ljust(width), command.get_short_help_str(formatter.width - width))
                        for name in names
                        if (command := self.get_command(ctx, name)) is not None
                    ]
                )


@click.group(
    cls=LazyGroup,
    commands=dict.fromkeys(_COMMANDS),  # for "Did you mean"
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nExamples:\n"
    '  admiral retrieve "Paris is the capital of France."\n'
    "  admiral index corpus.jsonl --kb my-kb\n"
    "  admiral COMMAND --help",
)
@click.version_option(admiral.__version__, prog_name="admiral")
def cli() -> None:
    """Retrieve the documents and sentences that verify a claim, in several hops.

    Each hop retrieves documents, selects the best sentences as evidence and proves the claim from
    them. Retrieval stops when the proof is complete. Without --kb and --model, the bundled demo
    knowledge base and the bundled checkpoint are used, offline.
    """
    set_up_logging()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns the exit status: 0 for success, 1 for an error, reported in one line on standard error,
    2 for wrong usage, 130 for Ctrl-C.
    """
    try:
        status = cli.main(arguments, prog_name="admiral", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        hint = f" Try `{context.command_path} --help`." if context else ""
        said = f"Error: {error.format_message().removesuffix('.')}.{hint}"
        is_help = isinstance(error, click.exceptions.NoArgsIsHelpError)
        click.echo(error.format_message() if is_help else said, err=True)
        return error.exit_code
    except AdmiralError as error:
        if is_verbose():
            traceback.print_exc()
        return _fail(str(error))
    except ModuleNotFoundError as error:
        if str(error.name).startswith(_PACKAGES):
            raise
        return _fail(
            f"the module {error.name!r} is not installed. Install AdMIRaL as the README says"
        )
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _discard_stdout()  # the reader closed the pipe, as in `admiral ... | head`
        return 1
    except OSError as error:  # such as a full disk; errors of files are AdmiralErrors
        _discard_stdout()
        return _fail(f"{error.filename or 'standard output'}: {error.strerror}")
    return status if isinstance(status, int) else 0


def run() -> None:
    """Run the console script."""
    if sys.stdout is None:  # closed by the caller, as `>&-` does
        sys.exit("error: standard output is closed; send it to a file or to /dev/null")
    for stream in (sys.stdout, sys.stderr):
        if stream is None:
            continue
        # Characters outside the encoding of the terminal are printed as escapes.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(main())


def _fail(message: str) -> int:
    from admiral.io.rendering import printable

    click.echo(f"error: {printable(message)}", err=True)
    return 1


def _discard_stdout() -> None:
    descriptor = os.open(os.devnull, os.O_WRONLY)
    os.dup2(descriptor, sys.stdout.fileno())
    os.close(descriptor)
