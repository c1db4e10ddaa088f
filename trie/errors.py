"""What is raised where the files of a trie cannot be used."""

from __future__ import annotations

from pathlib import Path


class TrieFileError(ValueError):
    """A file of a trie is missing, damaged, or of another version; the message names it.

    Attributes
    ----------
    path
        The file.
    """

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
