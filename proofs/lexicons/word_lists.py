"""Lexicons read from word lists, such as paraphrases and antonyms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from proofs.logic.operators import NatOp
from proofs.logic.words import normalise


@dataclass(frozen=True)
class PairLexicon:
    """Word pairs with one symmetric relation, read from a file.

    Each line holds two or more words; the first is paired with each of the others. Words are
    separated by tabs or, in lines without tabs, by spaces. A language prefix such as ``en_`` is
    dropped, and ``_`` stands for a space. Lines that begin with ``#`` are comments. Entries with
    spaces are `phrases`, which span lexicons look up as one word.

    Attributes
    ----------
    operator
        The relation.
    pairs
        The words that each first word of a line is paired with.
    """

    operator: NatOp
    pairs: Mapping[str, frozenset[str]] = field(repr=False)

    @classmethod
    def read(cls, path: str | Path, operator: NatOp) -> PairLexicon:
        """Read a word list.

        Raises
        ------
        ValueError
            If a line has fewer than two words or is not UTF-8, with the file and the line; or if
            the operator is not symmetric.
        OSError
            If the file cannot be read.
        """
        if operator not in (NatOp.EQUIVALENCE, NatOp.NEGATION, NatOp.ALTERNATION):
            raise ValueError(f"operator {operator.value} is not the same in both directions")
        pairs: defaultdict[str, set[str]] = defaultdict(set)
        with Path(path).open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    text = line.decode("utf-8").strip(" \t\r\n")
                except UnicodeDecodeError as error:
                    raise ValueError(f"{path}:{number}: not UTF-8 ({error.reason})") from None
                if not text or text.startswith("#"):
                    continue
                first, *others = _fields(text)
                if not others:
                    raise ValueError(f"{path}:{number}: expected two words or more: {text!r}")
                if first:  # punctuation normalises to nothing
                    pairs[first].update(filter(None, others))
        return cls(operator, {first: frozenset(others) for first, others in pairs.items()})

    @property
    def phrases(self) -> frozenset[str]:
        """The entries of more than one word."""
        entries = {*self.pairs, *chain.from_iterable(self.pairs.values())}
        return frozenset(entry for entry in entries if " " in entry)

    def word_relation(self, claim: str, evidence: str) -> NatOp | None:
        """Return the relation of the list if the pair is in it, in either order."""
        listed = evidence in self.pairs.get(claim, ()) or claim in self.pairs.get(evidence, ())
        return self.operator if listed else None


def _fields(text: str) -> list[str]:
    """Return the normalised entries of a line; punctuation becomes an empty entry."""
    # Not str.split() alone: Python treats some control characters of real lists as white space.
    parts = text.split("\t" if "\t" in text else " ")
    bare = [part[3:] if part[:2].isalpha() and part[2:3] == "_" else part for part in parts if part]
    words = [map(normalise, part.replace("_", " ").split()) for part in bare]
    return [" ".join(filter(None, entry)) for entry in words]
