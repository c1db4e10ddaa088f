"""Options, and the settings files that `make settings` writes."""

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from admiral.cli.options import checked_text, overrides
from admiral.cli.retrieve import retrieve_command, settings_command, split_title
from admiral.config import RetrievalConfig, load_config
from admiral.errors import AdmiralError
from admiral.io.settings_docs import described


def test_options_override_assignments():
    flags = {"max_hops": 3, "kb": None, "hops": "dynamic"}
    assert overrides(("max_hops=2",), flags) == ["max_hops=2", "max_hops=3", "hops=dynamic"]


@pytest.mark.parametrize("text", ["", " \t\n", "caf\udce9"])
def test_empty_and_undecodable_texts_are_errors(text):
    with pytest.raises(AdmiralError, match=r"^the claim: is "):
        checked_text(text, "the claim")


@pytest.mark.parametrize(
    ("given", "title", "text"),
    [
        ("[Ada Lovelace] She wrote.", "Ada Lovelace", "She wrote."),
        ("She wrote [sic] it.", "", "She wrote [sic] it."),
        ("[A] [B] c", "A", "[B] c"),
        ("[Alpha [US] (film)] Alpha is a film.", "Alpha [US] (film)", "Alpha is a film."),
        ("[a]b] text", "a]b", "text"),
        ("[A [B] c", "", "[A [B] c"),
        ("[] text", "", "[] text"),
        ("[Title]", "", "[Title]"),
        ("[Title] ", "", "[Title] "),
    ],
)
def test_titles_in_brackets(given, title, text):
    assert split_title(given) == (title, text)


ROOT = Path(__file__).parents[3]
NAMES = [each.name for each in described(RetrievalConfig)]


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


def test_options_of_settings_pass_their_values():
    """Each option named like a setting has the type of that setting."""
    types = {name: field.annotation for name, field in RetrievalConfig.model_fields.items()}
    options = {option.name: option for option in retrieve_command.params if option.name in types}
    assert {"kb", "hops", "max_hops", "judge", "threads"} <= options.keys()
    for name, option in options.items():
        assert option.opts == [f"--{name.replace('_', '-')}"]
        kind = types[name] if types[name] in (int, float) else str
        assert option.type("7", None, None) == kind("7")
