"""Settings declared once: validation, docstring, YAML and tables of a small class."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import yaml

from admiral.storage.declared_settings import (
    documented,
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
