"""Settings from defaults, a YAML file and overrides, and the errors that name the key."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from admiral.errors import AdmiralError
from admiral.storage.yaml_settings import read_settings


@dataclass
class Settings:
    """Settings of no program."""

    name: str = "demo"
    count: int = 3
    rate: float = 0.5
    fast: bool = False


def problems(settings):
    if settings.count < 1:
        yield "count", f"{settings.count} is too small; the least is 1"


def test_overrides_take_precedence_over_the_file_and_the_defaults(tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_text("count: 5\nrate: 0.25\n")
    settings = read_settings(Settings, problems, path, ["count=6", "count=7", "name=1e5"])
    assert settings == Settings("1e5", 7, 0.25, False)
    assert read_settings(Settings, problems) == Settings()


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
        read_settings(Settings, problems, overrides=[override])


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
        read_settings(Settings, problems, path)
