"""Settings declared once: validation, docstring, YAML and tables of a small class."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import yaml

from admiral.errors import AdmiralError
from admiral.storage.declared_settings import (
    documented,
    read_settings,
    setting,
    settings_tables,
    settings_yaml,
    value_problems,
)


@documented
@dataclass
class Colours:
    """Settings of a picture."""

    size: int = setting(5, "Size in `pixels`. It is square.", section="Sizes", bounds=(1, 2000))
    ratio: float = setting(0.5, "Ratio.", bounds=(0, 1))
    colour: str = setting(
        "red", "Colour.", section="Looks", choices={"red": "like fire", "blue": "like water"}
    )
    name: str = setting("a", "Name.", pattern="[a-z]", format="a lower-case letter")
    frame: bool = setting(False, "Whether there is a frame.")
    mask: str = setting("", "File.", is_file=True, affects_results=False)


def problems(**values):
    return dict(value_problems(Colours(**values)))


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"size": 0}, "0 is too small; the minimum is 1"),
        ({"size": 2001}, "2001 is too large; the maximum is 2000"),
        ({"size": 1.0}, "1.0 is of type float, not int"),
        ({"size": True}, "True is of type bool, not int"),
        ({"ratio": float("nan")}, "nan is too large; the maximum is 1"),
        ({"colour": "green"}, "'green' is not one of red, blue"),
        ({"name": "B"}, "'B' is not a lower-case letter"),
        ({"name": ""}, "is empty; give a lower-case letter"),
        ({"frame": 1}, "1 is of type int, not bool"),
    ],
)
def test_values_that_are_not_allowed(values, problem):
    assert list(problems(**values).items()) == [(next(iter(values)), problem)]


def test_the_docstring_lists_the_attributes():
    text = Colours.__doc__ or ""
    assert text.startswith("Settings of a picture.\n\n    Attributes\n    ----------\n")
    assert "    size : int\n        Size in `pixels`. It is square. From 1 to 2,000.\n" in text
    assert "``blue``: like water." in text


def test_yaml_reads_back_as_the_defaults():
    text = settings_yaml(Colours, "A heading\nof two lines.")
    assert text.startswith("# A heading\n# of two lines.\n")
    assert "# Colour.\n#   red   like fire\n#   blue  like water\ncolour: red\n" in text
    assert yaml.safe_load(text) == vars(Colours())


def test_tables_have_a_row_for_each_setting():
    text = settings_tables(Colours, {"size": "--size"}.get)
    assert "## Sizes\n\n| setting | default | meaning |\n" in text
    assert "| `size`<br>`--size` | `5` | Size in `pixels`. It is square. From 1 to 2,000. |" in text
    assert "| `mask` |  | File. |" in text


@dataclass
class Settings:
    """Settings of no program."""

    name: str = "demo"
    count: int = 3
    rate: float = 0.5
    fast: bool = False


def too_small(settings):
    if settings.count < 1:
        yield "count", f"{settings.count} is too small; the least is 1"


def test_overrides_take_precedence_over_the_file_and_the_defaults(tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_text("count: 5\nrate: 0.25\n")
    settings = read_settings(Settings, too_small, path, ["count=6", "count=7", "name=1e5"])
    assert settings == Settings("1e5", 7, 0.25, False)
    assert read_settings(Settings, too_small) == Settings()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("cuont=1", r"cuont=1: key 'cuont': no such setting\. Did you mean 'count'\?"),
        ("zzz=1", "Known keys: name, count, rate, fast"),
        ("count=many", "count=many: key 'count': 'many' is not of the type int"),
        ("count=0", "count=0: key 'count': 0 is too small"),
        ("count", "setting 'count': expected key=value"),
        ("name=${nothing}", "key 'name': "),
    ],
)
def test_errors_name_the_override_and_the_key(override, message):
    with pytest.raises(AdmiralError, match=message):
        read_settings(Settings, too_small, overrides=[override])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("count: true\n", "settings.yaml: key 'count': True is not a number"),
        ("- count\n", "expected lines of the form 'key: value'"),
        ("count: [1\n", "not a YAML file of settings"),
        (b"\xff\xfe\xff", "cannot be read: not UTF-8 text"),
    ],
)
def test_errors_name_the_file(content, message, tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(AdmiralError, match=message):
        read_settings(Settings, too_small, path)
