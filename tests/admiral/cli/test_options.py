from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from admiral.cli.options import checked_text, overrides
from admiral.cli.prove import split_title
from admiral.errors import AdmiralError
from admiral.io.claim_progress import track
from admiral.storage.output_paths import check_place


def test_options_come_after_assignments() -> None:
    flags = {"max_hops": 3, "kb": None, "hops": "dynamic"}
    assert overrides(("max_hops=2",), flags) == ["max_hops=2", "max_hops=3", "hops=dynamic"]


@pytest.mark.parametrize("text", ["", " \t\n", "caf\udce9"])
def test_texts_that_are_none(text: str) -> None:
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
def test_titles_in_brackets(given: str, title: str, text: str) -> None:
    assert split_title(given) == (title, text)


def test_progress_off_a_terminal_is_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(track(iter("abc"), done=2, total=5)) == ["a", "b", "c"]
    said = capsys.readouterr().err
    assert re.fullmatch(r"5 of 5 claims, ([\d,]+ per second|[\d.]+ s per claim)\n", said)
    assert list(track("abc", done=2, total=5, quiet=True)) == ["a", "b", "c"]
    assert capsys.readouterr().err == ""


def test_places_for_a_file(tmp_path: Path) -> None:
    pipe, link, lost = (tmp_path / name for name in ("pipe", "link", "lost"))
    os.mkfifo(pipe)
    link.symlink_to("file")
    lost.symlink_to(tmp_path / "absent" / "file")
    for place in (link, tmp_path / "file", Path("file")):
        check_place(place)
    for place, problem in (
        (pipe, "is not a regular file"),
        (tmp_path, "is a directory"),
        (lost, "directory does not exist"),
        (tmp_path / "absent" / "file", "directory does not exist"),
    ):
        with pytest.raises(AdmiralError, match=problem):
            check_place(place)
