"""Every code block of the README and the docs is run, checked, or marked as not run."""

import importlib
import io
import json
import re
import shlex
from contextlib import redirect_stdout
from functools import cache
from itertools import pairwise
from pathlib import Path
from pkgutil import resolve_name

import click
import pytest
import yaml

from admiral import RetrievalConfig
from admiral.cli.main import cli, main
from admiral.kb import build
from tests.docs.code_blocks import OF_EXPERIMENTS, PAGES, ROOT, blocks, commands, runnable
from training.__main__ import TRAINERS
from training.__main__ import main as TRAINING

LANGUAGES = {"python", "sh", "text", "json", "yaml", "bibtex"}
# Pages whose Python is run by a test of their own, which checks what it does.
OWN_TESTS = ("constraining", "integrations", "knowledge-bases", "models")
# Commands of the system that need no check.
SYSTEM = {"cat", "export", "mkdir"}
SETTINGS = {name: resolve_name(trainer.program).settings for name, trainer in TRAINERS.items()}
OUTPUTS = runnable("text")


def ids(block):
    return str(block)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_name_their_language(page):
    assert {block.language for block in blocks(page)} <= LANGUAGES


@pytest.fixture
def surroundings(tmp_path, monkeypatch):
    """A folder with the corpora and the knowledge base that examples name."""
    monkeypatch.chdir(tmp_path)
    texts = {"Seth Meyers": "He claims to host Late Night.", "Late Night": "A claim is a joke."}
    lines = [json.dumps({"title": title, "text": text}) for title, text in texts.items()]
    Path("corpus.jsonl").write_text("\n".join(lines))
    Path("more.jsonl").write_text(json.dumps({"title": "Host", "text": "A late night host."}))
    Path("data").mkdir()
    build("corpus.jsonl", "my-kb", bm25="bm25s", progress=False)


PYTHON = [block for block in runnable("python") if block.page.stem not in OWN_TESTS]


@pytest.mark.parametrize("block", PYTHON, ids=ids)
def test_python_runs(block, surroundings, capsys):
    exec(compile(block.code, str(block), "exec"), {"__name__": "example"})
    said = capsys.readouterr().out
    assert said or "print(" not in block.code
    if "A second one." in block.code:
        assert "A claim is a joke." in said
        assert "'id': '1'" in said and "'id': 'b'" in said
    if "ShortestFirst" in block.code:
        assert said == "A claim is a joke.\n"


@pytest.mark.parametrize("block", runnable("sh"), ids=ids)
def test_commands_exist_with_their_options(block):
    for line in commands(block.code):
        for part in _pipeline(line):
            _check(part)


def _pipeline(line):
    words = shlex.split(line, comments=True)
    parts = [[]]
    for word in words:
        if word == "|":
            parts.append([])
        else:
            parts[-1].append(word)
    return [part for part in parts if part]


def _check(words):
    while re.fullmatch(r"[A-Z_]+=\S*", words[0]):
        words = words[1:]
    program, *arguments = words
    if program == "make":
        targets = [word for word in arguments if "=" not in word]
        makefile = (ROOT / "Makefile").read_text()
        assert all(re.search(rf"^{target}:", makefile, re.M) for target in targets), words
    elif program == "admiral":
        command, arguments = _subcommand(cli, arguments)
        _check_options(command, arguments, _names(RetrievalConfig))
    elif [program, *arguments[:1]] == ["python", "-m"] or words[1:3] == ["launch", "-m"]:
        _, _, module, *arguments = words if program == "python" else words[1:]
        settings = SETTINGS.get(arguments[0], RetrievalConfig)
        also = OF_EXPERIMENTS if module == "benchmarks.compare_systems" else set()
        main = TRAINING if module == "training" else importlib.import_module(module).main
        command, arguments = _subcommand(main, arguments)
        _check_options(command, arguments, _names(settings) | also)
    else:
        assert program in SYSTEM, f"{program}: mark the block, or check its commands"


def _subcommand(command, arguments):
    """Return the command that the first arguments name within a group, and the other arguments."""
    context = click.Context(command)
    while isinstance(command, click.Group):
        name, *arguments = arguments
        found = command.get_command(context, name)
        assert found is not None, name
        command = found
    assert isinstance(command, click.Command)
    return command, arguments


def _names(config):
    return set(config.model_fields)


def _check_options(command, arguments, settings):
    context = click.Context(command)
    values, rest, _ = command.make_parser(context).parse_args(list(arguments))
    assert rest == []
    for parameter in command.params:
        value = values.get(parameter.name)
        checked = isinstance(parameter.type, click.Choice | click.types.IntParamType)
        if checked and value and parameter.nargs == 1:
            parameter.type_cast_value(context, value)
        assert value or not parameter.required, parameter.name
    for word, following in pairwise(arguments):
        if word == "--set":
            assert following.partition("=")[0] in settings, following


@pytest.mark.parametrize("block", runnable("json", "yaml"), ids=ids)
def test_data_can_be_parsed(block):
    if block.language == "yaml":
        assert isinstance(yaml.safe_load(block.code), dict)
        return
    rest, decoder = block.code.strip(), json.JSONDecoder()
    while rest:
        record, end = decoder.raw_decode(rest)
        assert isinstance(record, dict)
        rest = rest[end:].strip()


@cache
def output_of(command):
    said = io.BytesIO()
    with redirect_stdout(io.TextIOWrapper(said, encoding="utf-8", write_through=True)):
        assert main(shlex.split(command)[1:]) == 0
        return words_of(said.getvalue().decode())


def words_of(text):
    """Lines are broken by the width of the terminal; scores differ by processor, seconds always."""
    return re.sub(r"-?\d+\.\d\d\b", "N", " ".join(text.split()))


@pytest.mark.parametrize("block", OUTPUTS, ids=ids)
def test_output_is_what_the_command_before_prints(block):
    before = [b for b in blocks(block.page) if b.language == "sh" and b.line < block.line]
    (command,) = commands(before[-1].code)
    said = output_of(command)
    for part in re.split(r"^\s*\.\.\.$", block.code, flags=re.M):
        shown = words_of(part)
        assert shown in said
        said = said[said.index(shown) + len(shown) :]
