"""Lexicons: what is known of the relation between two spans, word by word.

A lexicon answers for a pair of words (`WordLexicon` is the one interface, which files and WordNet
share), and a span's relation follows from its words'. Built in are equality, values (numbers,
dates, ordinals, nationalities), quantifiers and negation words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Protocol, runtime_checkable

from proofs.lexicons import quantifiers
from proofs.lexicons.phrases import Phrases
from proofs.lexicons.quantifiers import Amounts, Share
from proofs.lexicons.values import excludes, merged, same_value, value, within
from proofs.logic.composition import compose
from proofs.logic.operators import NatOp
from proofs.logic.words import NEGATIONS, is_content, pieces, stems, word_list


class WordLexicon(Protocol):
    """A source of knowledge about pairs of words."""

    def word_relation(self, claim: str, evidence: str) -> NatOp | None:
        """Return how two normalised words are related, or None where nothing is known."""
        ...


@runtime_checkable
class PhraseLexicon(WordLexicon, Protocol):
    """A word lexicon that knows phrases as words, too."""

    @property
    def phrases(self) -> frozenset[str]:
        """Phrases of normalised words, divided by single spaces."""
        ...


class Lexicon(Protocol):
    """A source of knowledge about pairs of spans."""

    def relation(self, claim_span: str, evidence_span: str) -> NatOp | None:
        """Return how a claim span is related to an evidence span, or None if that is unknown."""
        ...


class BuiltinLexicon:
    """Equality of words up to inflection, and different values of one kind."""

    def word_relation(self, claim: str, evidence: str) -> NatOp | None:
        """Return how two normalised words are related; see `WordLexicon`."""
        if claim == evidence:
            return NatOp.EQUIVALENCE
        if value(claim) is None:
            # Stems of numbers and of years are themselves, so only words are compared here.
            return None if stems(claim).isdisjoint(stems(evidence)) else NatOp.EQUIVALENCE
        if value(evidence) is None:
            return None
        if same_value(claim, evidence):
            return NatOp.EQUIVALENCE
        if within(evidence, claim):
            return NatOp.FORWARD
        if within(claim, evidence):
            return NatOp.REVERSE
        return NatOp.ALTERNATION if excludes(claim, evidence) else None


class SpanLexicon:
    """Relations of spans from word lexicons; the first source that knows a pair decides.

    A span relates as its content words do: one excluded value is alternation, else one antonym is
    negation, else entailment in one direction is that, and all the same is equivalence. An odd
    number of negation words on a side is a negation that is joined to the rest, and quantifiers
    decide where the rest is the same. If a word of the claim has no relation to the evidence, the
    span's is unknown.
    """

    def __init__(self, sources: Sequence[WordLexicon]) -> None:
        self.sources = tuple(sources)
        listed = (s.phrases for s in self.sources if isinstance(s, PhraseLexicon))
        #: The phrases that some source knows.
        self.phrases = Phrases(chain.from_iterable(listed))

    def word_relation(self, claim: str, evidence: str) -> NatOp | None:
        """Return the first source's answer for two normalised words."""
        for source in self.sources:
            relation = source.word_relation(claim, evidence)
            if relation is not None:
                return relation
        return None

    def relation(self, claim_span: str, evidence_span: str) -> NatOp | None:
        """Return how a claim span is related to an evidence span; see `Lexicon`."""
        claim, evidence = _norms(claim_span), _norms(evidence_span)
        mine, other = self.phrases.merged(claim), self.phrases.merged(evidence)
        known = self._relation(mine, other)
        if known is None and (mine != claim or other != evidence):
            return self._relation(claim, evidence)  # a word of a phrase may be what is said
        return known

    def _relation(self, claim: Sequence[str], evidence: Sequence[str]) -> NatOp | None:
        mine, claim_rest = quantifiers.quantifier(claim)
        other, evidence_rest = quantifiers.quantifier(evidence)
        if isinstance(mine, Amounts) and other is None:
            other, evidence_rest = quantifiers.amount(evidence)
        elif isinstance(other, Amounts) and mine is None:
            mine, claim_rest = quantifiers.amount(claim)
        if mine is None or other is None or (mine == other and isinstance(mine, Share)):
            return self._of_words(claim, evidence)
        rest: NatOp | None = NatOp.EQUIVALENCE
        if any(map(is_content, claim_rest)):
            rest = self._of_words(claim_rest, evidence_rest)
        if mine == other:
            return rest
        return quantifiers.relation(mine, other) if rest is NatOp.EQUIVALENCE else None

    def turned(self, claim_span: str, evidence_span: str) -> bool:
        """Whether one of two spans denies what the other says, though their relation is unknown.

        A negation is of the words behind it, and decides where the other span has any of them.
        """
        claim, evidence = _norms(claim_span), _norms(evidence_span)
        mine, others = _content(_scope(claim)), _content(_scope(evidence))
        said = any(self._best(word, others) is NatOp.EQUIVALENCE for word in mine)
        return said and _negated(claim) != _negated(evidence)

    def _of_words(self, claim: Sequence[str], evidence: Sequence[str]) -> NatOp | None:
        mine, others = _content(claim), _content(evidence)
        if not mine or not others:
            return None
        relations = {self._best(word, others) for word in mine}
        if None in relations:
            return None
        steps = [NatOp.NEGATION] * _negated(evidence)
        steps += [_combined(r for r in relations if r is not None)]
        steps += [NatOp.NEGATION] * _negated(claim)
        known = compose(steps).operator
        return None if known is NatOp.INDEPENDENCE else known

    def _best(self, word: str, evidence: Sequence[str]) -> NatOp | None:
        """Return the relation of `word` to the evidence word that fits it best."""
        found = {self.word_relation(word, other) for other in evidence}
        return next((r for r in _PREFERENCE if r in found), None)


_PREFERENCE = (
    NatOp.EQUIVALENCE,
    NatOp.FORWARD,
    NatOp.REVERSE,
    NatOp.NEGATION,
    NatOp.ALTERNATION,
)


# "Not only a writer" was a writer.
_NO_NEGATION = word_list("only just merely")


def _combined(relations: Iterable[NatOp]) -> NatOp:
    """Return the relation of two phrases from the relations of their words."""
    found = set(relations)
    for operator in (NatOp.ALTERNATION, NatOp.NEGATION):
        if operator in found:
            return operator
    return compose(found).operator  # equivalence and entailments, in any order


def is_bare_negation(span: str) -> bool:
    """Whether a span holds no more than a negation and stop words."""
    norms = _norms(span)
    return bool(_negated(norms)) and not _content(norms)


def _norms(span: str) -> list[str]:
    return merged([word.norm for word in pieces(span) if word.norm])


def _content(norms: Sequence[str]) -> list[str]:
    """Return the content words but for negations."""
    return [n for n in norms if is_content(n) and n not in NEGATIONS]


def _scope(norms: Sequence[str]) -> Sequence[str]:
    """Return the words behind the last negation, all where there is none."""
    return norms[max((at + 1 for at, norm in enumerate(norms) if norm in NEGATIONS), default=0) :]


def _negated(norms: Sequence[str]) -> int:
    """Return 1 if a span holds an odd number of negation words, else 0."""
    pairs = zip(norms, [*norms[1:], ""], strict=False)
    return sum(norm in NEGATIONS and after not in _NO_NEGATION for norm, after in pairs) % 2
