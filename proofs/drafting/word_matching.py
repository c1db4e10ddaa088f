"""How well words of a claim and words of the evidence match, by what a lexicon knows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from proofs.lexicons.lexicon import SpanLexicon
from proofs.lexicons.values import value
from proofs.logic.operators import NatOp
from proofs.logic.words import Word

# How much a pair of words counts towards similarity.
_MATCH = {
    NatOp.EQUIVALENCE: 0.9,
    NatOp.FORWARD: 0.7,
    NatOp.NEGATION: 0.5,
    NatOp.REVERSE: 0.4,
    NatOp.ALTERNATION: 0.3,
}
_SAME_BEGINNING = 0.6


def matches(
    lexicon: SpanLexicon, claim: Sequence[Word], evidence: Sequence[Word]
) -> list[list[float]]:
    """Return for each word of the evidence how well each word of the claim matches it, 0 to 1.

    All words of two related phrases match, or of a phrase and a word.
    """
    columns = [[_match(lexicon, word, other) for word in claim] for other in evidence]
    mine = lexicon.phrases.found([word.norm for word in claim])
    others = lexicon.phrases.found([word.norm for word in evidence])
    if not mine and not others:
        return columns
    pairs = [*product(mine, [*others, *_singles(evidence)]), *product(_singles(claim), others)]
    for (first, end, one), (begin, stop, other) in pairs:
        relation = lexicon.word_relation(one, other)
        match = _MATCH.get(relation, 0.0) if relation is not None else 0.0
        for row in columns[begin:stop]:
            row[first:end] = [max(match, known) for known in row[first:end]]
    return columns


def _match(lexicon: SpanLexicon, claim: Word, evidence: Word) -> float:
    """Return how well two words match, from 0 to 1."""
    mine, other = claim.norm, evidence.norm
    if mine == other:
        return 1.0
    if not other or not claim.content or not evidence.content:
        return 0.0
    relation = lexicon.word_relation(mine, other)
    if relation is not None:
        return _MATCH.get(relation, 0.0)
    return _SAME_BEGINNING if _same_beginning(mine, other) else 0.0


def _singles(words: Sequence[Word]) -> list[tuple[int, int, str]]:
    """Return words in the form of `Phrases.found`."""
    return [(at, at + 1, word.norm) for at, word in enumerate(words) if word.content]


def _same_beginning(one: str, other: str) -> bool:
    """Whether two words share five letters and more than half of the longer one."""
    same = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        same += 1
    return same >= 5 and 2 * same > max(len(one), len(other)) and value(one) is None
