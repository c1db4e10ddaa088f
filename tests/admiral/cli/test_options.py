"""Helpers of the commands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from admiral.cli.options import checked_text, overrides
from admiral.cli.prove import split_title
from admiral.errors import AdmiralError
from admiral.storage.output_paths import check_output_path


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


def test_output_paths_are_checked(tmp_path):
    pipe, link, lost = (tmp_path / name for name in ("pipe", "link", "lost"))
    os.mkfifo(pipe)
    link.symlink_to("file")
    lost.symlink_to(tmp_path / "absent" / "file")
    for place in (link, tmp_path / "file", Path("file")):
        check_output_path(place)
    for place, problem in (
        (pipe, "is not a regular file"),
        (tmp_path, "is a directory"),
        (lost, "directory does not exist"),
        (tmp_path / "absent" / "file", "directory does not exist"),
    ):
        with pytest.raises(AdmiralError, match=problem):
            check_output_path(place)
