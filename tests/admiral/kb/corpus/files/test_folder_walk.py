"""Which files of a folder are read, in which order, and what is said of the others."""

from collections import Counter
from pathlib import Path

import pytest

from admiral.errors import AdmiralError
from admiral.kb.corpus.folders import (
    ALL_FILES,
    BROKEN,
    EXCLUDED,
    LINKED,
    UNKNOWN,
    FilePatterns,
    choose_files,
)


@pytest.fixture
def folder(tmp_path):
    for name in (
        "b.md", "a.txt", "docs/guide.rst", "docs/build/out.html", "x.png", ".hidden.md",
        ".git/config.md", "node_modules/m/README.md", "src/__pycache__/c.txt", "src/code.py",
    ):  # fmt: skip
        (tmp_path / "top" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "top" / name).write_text(name)
    return tmp_path / "top"


def _names(chosen, folder):
    return [str(Path(str(file)).relative_to(folder)) for file in chosen[0]]


def _reasons(chosen):
    return Counter(reason for _, reason in chosen[1])


def test_junk_and_unknown_files_are_left_out(folder):
    chosen = choose_files(folder, ALL_FILES)
    assert _names(chosen, folder) == ["a.txt", "b.md", "docs/build/out.html", "docs/guide.rst"]
    assert _reasons(chosen) == {UNKNOWN: 2}


@pytest.mark.parametrize(
    ("include", "exclude", "names"),
    [
        (("*.md",), (), ["b.md"]),
        (("docs/",), (), ["docs/build/out.html", "docs/guide.rst"]),
        ((), ("build/",), ["a.txt", "b.md", "docs/guide.rst"]),
        ((), ("*.*", "!*.md"), ["b.md"]),
        (("docs/**",), ("*.html",), ["docs/guide.rst"]),
        ((), ("/docs",), ["a.txt", "b.md"]),
    ],
)
def test_patterns(include, exclude, names, folder):
    chosen = choose_files(folder, FilePatterns(include, exclude))
    assert _names(chosen, folder) == names
    assert _reasons(chosen)[EXCLUDED] > 0


def test_links_are_followed_once(folder, tmp_path):
    (folder / "again.md").symlink_to(folder / "b.md")
    (folder / "circle").symlink_to(folder)
    (folder / "self.md").symlink_to(folder / "self.md")
    (folder / "gone.md").symlink_to(folder / "none.md")
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "e.md").write_text("e")
    (elsewhere / "up").symlink_to(elsewhere)
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "f.md").write_text("f")
    (tmp_path / "g.md").write_text("g")
    (elsewhere / "on").symlink_to(tmp_path / "far")
    (elsewhere / "g.md").symlink_to(tmp_path / "g.md")
    (tmp_path / "far" / "back").symlink_to(folder)
    (folder / "linked").symlink_to(elsewhere)
    chosen = choose_files(folder, ALL_FILES)
    assert _names(chosen, folder) == [
        "a.txt", "b.md", "docs/build/out.html", "docs/guide.rst",
        "linked/e.md", "linked/g.md", "linked/on/f.md",
    ]  # fmt: skip
    assert _reasons(chosen) == {UNKNOWN: 2, LINKED: 1, BROKEN: 2}


def test_a_folder_without_documents(folder):
    with pytest.raises(AdmiralError, match=r"no files of a known type.*Check the path, --include"):
        choose_files(folder / "src", ALL_FILES)
