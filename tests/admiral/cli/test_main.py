"""The `admiral` command: help, statuses and error messages."""

import shlex
import subprocess
from pathlib import Path

import click
import pytest

import admiral as package
from admiral.cli import main as module
from admiral.errors import AdmiralError


def test_help_lists_every_command(admiral_process):
    done = admiral_process("--help")
    assert done.returncode == 0
    for name in module._COMMANDS:
        assert f"\n  {name} ".encode() in done.stdout


def test_help_imports_nothing_heavy(environment, command):
    """It takes 0.2 s; the import of torch alone takes two."""
    heavy = ["torch", "transformers", "numba", "bm25s", "pyarrow", "admiral.kb"]
    assert not set(heavy) & imported_by(["--help"], environment, command)


def test_evaluate_does_not_import_the_knowledge_base(environment, command, tmp_path):
    gold, results = tmp_path / "gold.jsonl", tmp_path / "run.trec"
    gold.write_text('{"uid": "1", "claim": "A.", "evidence": [["T", 0]]}\n')
    results.write_text("1 Q0 T 1 1 admiral\n")
    arguments = ["evaluate", "hover", "--gold", str(gold), "--predictions", str(results)]
    assert "admiral.kb.writing" not in imported_by(arguments, environment, command)


def imported_by(arguments, environment, command):
    """Return the names of the modules that a command imports; it must succeed."""
    code = (
        f"import sys; from admiral.cli.main import main; assert main({arguments}) == 0;"
        "print(' '.join(sys.modules))"
    )
    done = subprocess.run([command[0], "-c", code], env=environment, stdout=subprocess.PIPE)
    assert done.returncode == 0
    return set(done.stdout.decode().splitlines()[-1].split())


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("retreive", "'retrieve'"),
        ("audits", "'audit'"),
        ("xyzzy", "'xyzzy'"),
    ],
)
def test_an_unknown_command_names_the_nearest(admiral, typed, says):
    done = admiral(typed)
    assert done.returncode == 2
    assert says in done.stderr.decode()


@pytest.mark.parametrize(
    ("words", "completed"), [("admiral re", "retrieve"), ("admiral retrieve --hop", "--hops")]
)
def test_commands_and_options_are_completed(environment, command, words, completed):
    asked = {"_ADMIRAL_COMPLETE": "bash_complete", "COMP_WORDS": words}
    asked["COMP_CWORD"] = str(words.count(" "))
    done = subprocess.run(command, env=environment | asked, stdout=subprocess.PIPE)
    assert f"plain,{completed}" in done.stdout.decode().splitlines()


@pytest.mark.parametrize("name", module._COMMANDS)
def test_every_command_has_examples_that_parse(name):
    examples = module.cli.get_command(None, name).epilog.splitlines()[2:]
    assert examples
    for line in examples:
        program, _, call = line.rpartition("| ")[2].partition(" > ")[0].strip().partition(" ")
        assert program == "admiral"
        command, rest = module.cli, shlex.split(call)
        while isinstance(command, click.Group):
            context = command.make_context("admiral", rest)
            _, command, rest = command.resolve_command(
                context, [*context._protected_args, *context.args]
            )
        command.make_context(name, rest)


def test_verbose_logs_and_shows_tracebacks(admiral, tmp_path):
    missing = tmp_path / "kb"
    done = admiral("titles", "--kb", missing, "-v")
    assert done.returncode == 1
    assert b"Traceback" in done.stderr
    assert done.stderr.splitlines()[-1].startswith(b"error: ")
    assert b"Traceback" not in admiral("titles", "--kb", missing).stderr


def test_version(admiral):
    assert package.__version__.encode() in admiral("--version").stdout


@pytest.mark.parametrize(
    "arguments", [["nothing"], ["retrieve"], ["retrieve", "a", "--input", "b"], ["prove"]]
)
def test_wrong_usage_is_status_2(admiral, arguments):
    done = admiral(*arguments)
    assert done.returncode == 2
    assert b"Error: " in done.stderr
    assert done.stdout == b""


@pytest.mark.parametrize(
    ("raised", "status", "says"),
    [
        (AdmiralError("kb: is not there\x1b[2J"), 1, "error: kb: is not there\\x1b[2J"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(28, "No space left on device"), 1, "error: standard output: No space left"),
        (click.BadParameter("no"), 2, "Error: Invalid value: no"),
        (ModuleNotFoundError(name="pypdf"), 1, "error: the module 'pypdf' is not installed. "),
    ],
)
def test_an_exception_becomes_a_status_and_one_line(monkeypatch, capfd, raised, status, says):
    @click.command()
    def failing():
        raise raised

    monkeypatch.setattr(module.LazyGroup, "get_command", lambda *_: failing)
    assert module.main(["retrieve"]) == status
    out, err = capfd.readouterr()
    assert out == ""
    assert says in err
    assert "Traceback" not in err


def test_a_bug_keeps_its_traceback(monkeypatch):
    @click.command()
    def failing():
        raise ZeroDivisionError

    monkeypatch.setattr(module.LazyGroup, "get_command", lambda *_: failing)
    with pytest.raises(ZeroDivisionError):
        module.main(["retrieve"])


def test_a_closed_pipe_prints_nothing(environment, command):
    with subprocess.Popen(
        [*command, "--help"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_standard_output_on_a_full_disk(admiral_process):
    with Path("/dev/full").open("wb") as full:
        done = admiral_process("--help", stdout=full)
    assert done.returncode == 1
    assert done.stderr == b"error: standard output: No space left on device\n"
