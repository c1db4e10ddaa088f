"""Lexicons: what is known of the relation between two spans, word by word.

A lexicon answers for a pair of words; a span's relation follows from its words' (`Lexicon` is the
one interface). Built in are equality, values (numbers, years, ordinals, nationalities) and negation
words; files and WordNet add synonyms and antonyms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from proofs.operators import NatOp
from proofs.values import excludes, same_value, value
from proofs.words import NEGATIONS, is_content, normalise, pieces, stems


class WordLexicon(Protocol):
    """A source of knowledge about pairs of words."""

    def word_relation(self, claim: str, evidence: str) -> NatOp | None:
        """Return how two normalised words are related, or None where nothing is known."""
        ...


class Lexicon(Protocol):
    """A source of knowledge about pairs of spans."""

    def relation(self, claim_span: str, evidence_span: str) -> NatOp | None:
        """Return how a claim span is related to an evidence span, or None if that is unknown."""
        ...


class BuiltinLexicon:
    """Equality of words up to inflection, and different values of one kind."""

    def word_relation(self, claim: str, evidence: str) -> NatOp | None:
        """Return equivalence, alternation or None; see `WordLexicon`."""
        if claim == evidence or same_value(claim, evidence):
            return NatOp.EQUIVALENCE
        if excludes(claim, evidence):
            return NatOp.ALTERNATION
        # Stems of numbers and of years are themselves, so only words are compared here.
        if value(claim) is None and not stems(claim).isdisjoint(stems(evidence)):
            return NatOp.EQUIVALENCE
        return None


@dataclass(frozen=True)
class PairLexicon:
    """Word pairs of one relation, read from a file.

    Each line holds two or more words; the first is paired with each of the others. Words are
    divided by tabs or commas, else by spaces; a language prefix such as ``en_`` is left out.
    """

    operator: NatOp
    pairs: frozenset[tuple[str, str]] = field(repr=False)

    @classmethod
    def read(cls, path: str | Path, operator: NatOp) -> PairLexicon:
        """Read a list of pairs.

        Raises
        ------
        ValueError
            Naming the file and the line that holds fewer than two words or is not UTF-8.
        """
        pairs: set[tuple[str, str]] = set()
        with Path(path).open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    text = line.decode("utf-8").strip()
                except UnicodeDecodeError as error:
                    raise ValueError(f"{path}:{number}: not UTF-8 ({error.reason})") from None
                if not text or text.startswith("#"):
                    continue
                first, *others = _fields(text)
                if not others:
                    raise ValueError(f"{path}:{number}: expected two words or more: {text!r}")
                for other in others:
                    pairs |= {(first, other), (other, first)}
        return cls(operator, frozenset(pairs))

    def word_relation(self, claim: str, evidence: str) -> NatOp | None:
        """Return the list's relation if it holds the pair in either order."""
        return self.operator if (claim, evidence) in self.pairs else None


class SpanLexicon:
    """Relations of spans from word lexicons; the first source that knows a pair decides.

    A span relates as its content words do: all matched is equivalence, one excluded value is
    alternation, one antonym or a negation word on one side only is negation. Less is unknown.
    """

    def __init__(self, sources: Sequence[WordLexicon]) -> None:
        self.sources = tuple(sources)

    def word_relation(self, claim: str, evidence: str) -> NatOp | None:
        """Return the first source's answer for two normalised words."""
        for source in self.sources:
            relation = source.word_relation(claim, evidence)
            if relation is not None:
                return relation
        return None

    def relation(self, claim_span: str, evidence_span: str) -> NatOp | None:
        """Return how a claim span is related to an evidence span; see `Lexicon`."""
        claim, claim_negated = _content(claim_span)
        evidence, evidence_negated = _content(evidence_span)
        if not claim or not evidence:
            return None
        relations = [self._best(word, evidence) for word in claim]
        known = [r for r in relations if r is not None]
        if len(known) < len(relations):
            return None
        # Alternation and negation need something else that agrees, or nothing else at all.
        if claim_negated != evidence_negated:
            return NatOp.NEGATION if set(known) == {NatOp.EQUIVALENCE} else None
        for operator in (NatOp.ALTERNATION, NatOp.NEGATION):
            if operator in known:
                return operator
        return NatOp.EQUIVALENCE

    def _best(self, word: str, evidence: Sequence[str]) -> NatOp | None:
        """Return the relation of `word` to the evidence word that fits it best."""
        found = {self.word_relation(word, other) for other in evidence}
        return next((r for r in _PREFERENCE if r in found), None)


_PREFERENCE = (NatOp.EQUIVALENCE, NatOp.NEGATION, NatOp.ALTERNATION)


def _content(span: str) -> tuple[list[str], bool]:
    """Return the content words of a span without negations, and whether it has any of those."""
    norms = [word.norm for word in pieces(span) if word.norm]
    negations = [norm for norm in norms if norm in NEGATIONS]
    return [n for n in norms if is_content(n) and n not in NEGATIONS], len(negations) % 2 == 1


def _fields(text: str) -> list[str]:
    divider = "\t" if "\t" in text else "," if "," in text else None
    parts = [part.strip() for part in text.split(divider)]
    bare = [part[3:] if part[:2].isalpha() and part[2:3] == "_" else part for part in parts]
    return [normalise(part.replace("_", " ")) for part in bare if part]
