"""What speaks for and against that evidence covers a claim: features of a claim and of its steps.

All are counts and shares that a reader can check by hand. Judges weigh them
(`proofs.judges.calibrated`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from proofs.drafting.drafts import Draft, draft
from proofs.drafting.span_alignment import MAX_SPAN_WORDS
from proofs.judges.claim_features import claim_features
from proofs.judges.document_links import Links
from proofs.lexicons.lexicon import SpanLexicon
from proofs.lexicons.values import value
from proofs.logic.operators import REFUTING_OPERATORS, NatOp
from proofs.logic.proof import MAX_STEPS
from proofs.logic.words import pieces

#: Of a step: its similarity; how well its content words are covered by any evidence, and by the
#: documents that are named or linked; how many of them no evidence covers: names, values and
#: others; how many names those documents do not cover; whether it is independent, and whether it
#: refutes, by the words alone; whether its quotation is from a document that no link reaches.
STEP_FEATURES = (
    "similarity",
    "coverage",
    "linked_coverage",
    "names",
    "values",
    "others",
    "unlinked_names",
    "independent",
    "refuting",
    "unreached",
)

_COVERED = 0.6
_MATCH = {NatOp.EQUIVALENCE: 0.9, NatOp.NEGATION: 0.5, NatOp.ALTERNATION: 0.3}


@dataclass(frozen=True, slots=True)
class Support:
    """The drafted steps of a claim's proof with their features.

    Attributes
    ----------
    drafts
        What words alone suggest.
    claim
        Values of `proofs.judges.claim_features.CLAIM_FEATURES`.
    steps
        For each draft the values of `STEP_FEATURES`.
    named
        The documents that the claim names.
    """

    drafts: tuple[Draft, ...]
    claim: tuple[float, ...]
    steps: tuple[tuple[float, ...], ...]
    named: frozenset[str] = frozenset()


class SupportFinder:
    """Computes the features of claims.

    Parameters
    ----------
    lexicon
        What is known about words.
    max_steps
        Most steps of a proof.
    """

    def __init__(self, lexicon: SpanLexicon, *, max_steps: int = MAX_STEPS) -> None:
        self._lexicon, self._max_steps = lexicon, max_steps

    def find(self, claim: str, evidence: Sequence[tuple[str, str]]) -> Support:
        """Return the features of a claim and its evidence, pairs of title and sentence.

        Raises
        ------
        AnnotationError
            If the claim has no words.
        """
        drafts = draft(claim, evidence, self._lexicon, self._max_steps)
        links = Links.of(claim, evidence)
        useful, reached = links.useful, links.reached
        said = [
            {norm for norm in words if norm} | {p for _, _, p in self._lexicon.phrases.found(words)}
            for words in links.words
        ]
        every = set[str]().union(*said)
        linked = set[str]().union(*(said[at] for at in useful))
        near = {links.titles[at] for at in reached}
        rows = [self._step(one, every, linked, near) for one in drafts]
        totals = claim_features(claim, evidence, links, drafts)
        named = frozenset(
            title for title, is_named in zip(links.titles, links.named, strict=True) if is_named
        )
        return Support(tuple(drafts), totals, tuple(rows), named)

    def _step(
        self, one: Draft, every: set[str], linked: set[str], near: set[str]
    ) -> tuple[float, ...]:
        # Those of a longer step are not aligned, either.
        read = pieces(one.claim)[:MAX_SPAN_WORDS]
        words = [word for word in read if word.content]
        phrases = self._lexicon.phrases.found([word.norm for word in read])
        names = [
            [word.norm, *(text for first, end, text in phrases if first <= at < end)]
            for at, word in enumerate(read)
            if word.content
        ]
        covered = [max(self._best(norm, every) for norm in norms) for norms in names]
        by_linked = [max(self._best(norm, linked) for norm in norms) for norms in names]
        valued = [value(word.norm) is not None for word in words]
        named = [one.claim[word.start].isupper() for word in words]
        lost = [cover < _COVERED for cover in covered]
        row = (
            one.similarity,
            _mean(covered),
            _mean(by_linked),
            sum(a and b for a, b in zip(lost, named, strict=True)),
            sum(a and b for a, b in zip(lost, valued, strict=True)),
            sum(a and not b and not c for a, b, c in zip(lost, named, valued, strict=True)),
            sum(a < _COVERED and b for a, b in zip(by_linked, named, strict=True)),
            one.operator is NatOp.INDEPENDENCE,
            one.operator in REFUTING_OPERATORS,
            one.aligned is None or one.aligned.source not in near,
        )
        return tuple(map(float, row))

    def _best(self, norm: str, words: set[str]) -> float:
        """Return how well the best of some words matches, from 0 to 1."""
        if norm in words:
            return 1.0
        relations = {self._lexicon.word_relation(norm, other) for other in words}
        return max((_MATCH.get(r, 0.0) for r in relations if r is not None), default=0.0)


def _mean(values: Iterable[float]) -> float:
    """Return the mean, 1 of nothing: a step of stop words alone lacks nothing."""
    listed = list(values)
    return sum(listed) / len(listed) if listed else 1.0
