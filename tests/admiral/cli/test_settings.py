"""The generated settings files, which `make settings` writes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from admiral.cli.retrieve import retrieve_command
from admiral.cli.settings import settings_command
from admiral.config import RetrievalConfig, load_config
from admiral.storage.declared_settings import declared_settings

ROOT = Path(__file__).parents[3]
NAMES = [declared.name for declared in declared_settings(RetrievalConfig)]


@pytest.mark.parametrize(
    ("arguments", "file"),
    [
        ([], "configs/retrieval.yaml"),
        (["--markdown"], "docs/settings.md"),
        (["--citations"], "configs/citations.yaml"),
    ],
)
def test_generated_files_are_up_to_date(arguments, file):
    output = CliRunner().invoke(settings_command, arguments).output
    assert output == (ROOT / file).read_text(encoding="utf-8"), "run `make settings`"


def test_the_yaml_file_has_every_setting_with_its_default():
    path = ROOT / "configs" / "retrieval.yaml"
    assert list(yaml.safe_load(path.read_text())) == NAMES
    assert load_config(path) == RetrievalConfig()


def test_the_help_of_retrieve_names_every_setting():
    text = CliRunner().invoke(retrieve_command, ["--help"]).output
    listing = text[text.index("--set KEY=VALUE") :].split()
    assert {f"{name}," for name in NAMES[:-1]} <= set(listing)


def test_options_of_settings_pass_their_values():
    """Each option named like a setting has the type of that setting."""
    types = {declared.name: declared.type for declared in declared_settings(RetrievalConfig)}
    options = {option.name: option for option in retrieve_command.params if option.name in types}
    assert {"kb", "hops", "max_hops", "judge", "threads"} <= options.keys()
    for name, option in options.items():
        assert option.opts == [f"--{name.replace('_', '-')}"]
        assert option.type("7", None, None) == types[name]("7")
