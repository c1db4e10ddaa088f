"""Errors raised for the files of a trie and for vocabularies that cannot be used."""

from __future__ import annotations

from pathlib import Path


class TrieFileError(ValueError):
    """A file of a trie is missing, damaged or of another version; the message names the file.

    Attributes
    ----------
    path
        The file.
    """

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path


class NoIdentifierError(ValueError):
    """A vocabulary has no token for a numbered identifier.

    Attributes
    ----------
    number
        The first number, counted from 0, that has no token.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"the vocabulary has no token for identifier {number}")
        self.number = number
