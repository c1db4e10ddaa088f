"""Settings of a small class: reading, messages, YAML and tables."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, get_args

import pytest
import yaml
from pydantic import Field

from admiral.citations.citation_settings import CitationConfig
from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.io.settings_docs import described, settings_tables, settings_yaml
from admiral.settings import Probability, Settings


class Sizes(Settings):
    headings: ClassVar[dict[str, str]] = {"size": "Sizes"}
    size: Annotated[int, Field(ge=1, le=2000)] = 4
    """Size in `pixels`. It is square."""
    ratio: Probability = 0.5
    """Ratio."""


class Colours(Sizes):
    headings: ClassVar[dict[str, str]] = {"colour": "Looks"}
    colour: Literal["red", "blue"] = "red"
    """Colour.

    - `red`: like
      fire
    - `blue`: like water
    """
    name: str = ""
    """Name."""
    frame: bool = False
    """Whether there is a frame."""
    size: Annotated[int, Field(ge=1, le=2000)] = 5


def test_own_settings_come_first_and_keep_the_inherited_description():
    settings = described(Colours)
    assert [each.name for each in settings] == ["colour", "name", "frame", "size", "ratio"]
    assert settings[3].summary == "Size in 'pixels'."
    assert [each.section for each in settings] == ["Looks"] * 3 + ["Sizes"] * 2


@pytest.mark.parametrize("kind", [RetrievalConfig, CitationConfig])
def test_every_choice_is_described(kind):
    for each in described(kind):
        assert set(each.choices) <= set(map(str, get_args(kind.model_fields[each.name].annotation)))
        assert bool(each.choices) == bool(get_args(kind.model_fields[each.name].annotation))


def test_yaml_reads_back_as_the_defaults():
    text = settings_yaml(Colours, "A heading\nof two lines.")
    assert text.startswith("# A heading\n# of two lines.\n")
    assert "# Colour.\n#   red: like fire\n#   blue: like water\ncolour: red\n" in text
    assert yaml.safe_load(text) == Colours().model_dump()


def test_tables_have_a_row_for_each_setting():
    text = settings_tables(Colours, {"size": "--size"}.get)
    assert "## Sizes\n\n| setting | default | meaning |\n" in text
    assert "| `size`<br>`--size` | `5` | Size in `pixels`. It is square. From 1 to 2,000. |" in text
    assert "| `name` |  | Name. |" in text


def test_overrides_take_precedence_over_the_file_and_the_defaults(tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_text("size: 6\nratio: 1e-4\nframe: yes\n")
    settings = Colours.read(path, ["size=7", "size=8", "name=1e5"])
    assert settings == Colours(size=8, ratio=1e-4, frame=True, name="1e5")
    path.write_text("")
    assert Colours.read(path) == Colours.read() == Colours()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("siez=1", r"siez=1: key 'siez': no such setting\. Did you mean 'size'\?"),
        ("zzz=1", "Known keys: size, ratio, colour, name, frame"),
        ("size=many", "size=many: key 'size': 'many' should be a valid integer"),
        ("size=0", "size=0: key 'size': '0' should be greater than or equal to 1"),
        ("ratio=nan", "key 'ratio': 'nan' should be"),
        ("colour=green", "key 'colour': 'green' should be 'red' or 'blue'"),
        ("frame=maybe", "key 'frame': 'maybe' should be a valid boolean"),
        ("size", "setting 'size': expected key=value"),
    ],
)
def test_errors_name_the_override_and_the_key(override, message):
    with pytest.raises(AdmiralError, match=message):
        Colours.read(None, [override])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("size: true\n", "settings.yaml: key 'size': 'true' should be a valid integer"),
        ("name: [a]\n", r"key 'name': "),
        ("- size\n", "expected lines of the form 'key: value'"),
        ("size: [1\n", "cannot be read as a YAML file"),
        (b"\xff\xfe\xff", "cannot be read as a YAML file"),
    ],
)
def test_errors_name_the_file(content, message, tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(AdmiralError, match=message):
        Colours.read(path)
