"""What is raised where the files of a trie, or a vocabulary, cannot be used."""

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


class NoIdentifierError(ValueError):
    """A vocabulary has no token to name an evidence sentence.

    Attributes
    ----------
    number
        The number of the sentence, from 0; so many can be named where it is the first.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"the vocabulary has no token to name evidence sentence {number}")
        self.number = number
