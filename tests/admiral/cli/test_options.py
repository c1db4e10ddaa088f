"""Options, and the settings files that `make settings` writes."""

from pathlib import Path
from typing import Annotated, Literal

import pytest
import yaml
from click.testing import CliRunner
from pydantic import Field

from admiral.cli import options
from admiral.cli.options import argument, checked_text, command, option
from admiral.cli.retrieve import Retrieve, retrieve_command, settings_command, split_title
from admiral.config import RetrievalConfig, load_config
from admiral.errors import AdmiralError
from admiral.io.settings_docs import described


def test_options_override_assignments():
    given = {"claim": "A.", "assignments": ("max_hops=2",), "max_hops": 3, "hops": "dynamic"}
    retrieve = Retrieve(**given)
    assert retrieve.overrides() == ["max_hops=2", "hops=dynamic", "max_hops=3"]
    config = retrieve.retrieval({"max_hops": 1, "top_k": 7})
    assert (config.max_hops, config.top_k) == (3, 7)


class Inherited(options.Command):
    verbosely: bool = False
    """Say more."""


class SayHello(Inherited):
    """Say hello.

    For example:
      admiral say-hello Ada
    """

    name: Annotated[str, argument("NAME")]
    times: Annotated[int, Field(ge=1, le=3), option("-n", "--times")] = 1
    """How often."""
    tone: Literal["warm", "cool"] | None = None
    share: Annotated[float, Field(gt=0)] = 1.0
    files: tuple[Path, ...] = ()
    polite: bool = True

    def run(self):
        print(self.model_dump(exclude_unset=True))


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (["Ada"], {"name": "Ada"}),
        (["Ada", "-n", "2", "--no-polite"], {"name": "Ada", "times": 2, "polite": False}),
        (["Ada", "--files", "a", "--files", "b"], {"name": "Ada", "files": (Path("a"), Path("b"))}),
        (["Ada", "--tone", "cool", "--verbosely"], None),
        ([], "Missing argument 'NAME'"),
        (["Ada", "--times", "4"], "4 is not in the range 1<=x<=3"),
        (["Ada", "--tone", "hot"], "'hot' is not one of 'warm', 'cool'"),
        (["Ada", "--share", "0"], "--share: 0.0 should be greater than 0"),
        (["--help"], "say-hello [OPTIONS] NAME\n\n  Say hello.\n\nOptions:\n  -n, --times"),
        (["--help"], "How often.  [default: 1; 1<=x<=3]"),
        (["--help"], "Examples:\n    admiral say-hello Ada\n"),
    ],
)
def test_fields_are_options(arguments, given):
    done = CliRunner().invoke(command(SayHello), arguments)
    if isinstance(given, str):
        assert given in done.output
    else:
        assert done.exit_code == 0
        assert given is None or done.output == f"{given}\n"


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
    options = {each.name: each for each in retrieve_command.params if each.name in types}
    assert {"kb", "hops", "max_hops", "judge", "threads"} <= options.keys()
    for name, each in options.items():
        assert each.opts == [f"--{name.replace('_', '-')}"]
        kind = types[name] if types[name] in (int, float) else str
        assert each.type("7", None, None) == kind("7")
