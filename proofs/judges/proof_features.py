"""Features of the drafted steps of a proof: how well does the evidence cover each of them?

All are counts and shares that a reader can check by hand. The calibrated judge weights them
(`proofs.judges.calibrated`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proofs.drafting.drafts import DraftStep, draft_steps
from proofs.drafting.span_alignment import MAX_SPAN_WORDS
from proofs.judges.claim_features import claim_features
from proofs.judges.document_links import DocumentLinks
from proofs.lexicons.lexicon import SpanLexicon
from proofs.lexicons.values import value
from proofs.logic.operators import REFUTING_OPERATORS, NatOp
from proofs.logic.proof import MAX_STEPS
from proofs.logic.words import split_words

#: The features in the order of the fitted weights. Each is explained where it is computed.
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

# From this coverage on, a word counts as covered.
_COVERED = 0.6
# The coverage of a word by a different word, by their relation.
_RELATION_COVERAGE = {NatOp.EQUIVALENCE: 0.9, NatOp.NEGATION: 0.5, NatOp.ALTERNATION: 0.3}


@dataclass(frozen=True, slots=True)
class ProofFeatures:
    """The drafted steps of a claim's proof with their features.

    Attributes
    ----------
    drafts
        The drafted steps.
    claim
        The values of `proofs.judges.claim_features.CLAIM_FEATURES`.
    steps
        For each step, the values of `STEP_FEATURES`.
    named
        The titles that the claim contains.
    """

    drafts: tuple[DraftStep, ...]
    claim: tuple[float, ...]
    steps: tuple[tuple[float, ...], ...]
    named: frozenset[str] = frozenset()


class FeatureExtractor:
    """Drafts the proofs of claims and computes their features.

    Parameters
    ----------
    lexicon
        Relates words and spans.
    max_steps
        Most steps of a proof.
    """

    def __init__(self, lexicon: SpanLexicon, *, max_steps: int = MAX_STEPS) -> None:
        self._lexicon, self._max_steps = lexicon, max_steps

    def extract(self, claim: str, evidence: Sequence[tuple[str, str]]) -> ProofFeatures:
        """Return the features of a claim and its evidence, pairs of title and sentence.

        Raises
        ------
        AnnotationError
            If the claim has no words.
        """
        drafts = draft_steps(claim, evidence, self._lexicon, self._max_steps)
        links = DocumentLinks.find(claim, evidence)
        phrases = self._lexicon.phrases
        vocabularies = [
            {norm for norm in words if norm} | {phrase for _, _, phrase in phrases.find(words)}
            for words in links.words
        ]
        vocabulary = set[str]().union(*vocabularies)
        linked = set[str]().union(*(vocabularies[at] for at in links.relevant))
        reached = {links.titles[at] for at in links.reached}
        rows = [self._step_features(step, vocabulary, linked, reached) for step in drafts]
        named = frozenset(
            title for title, is_named in zip(links.titles, links.named, strict=True) if is_named
        )
        totals = claim_features(claim, evidence, links, drafts)
        return ProofFeatures(tuple(drafts), totals, tuple(rows), named)

    def _step_features(
        self, step: DraftStep, vocabulary: set[str], linked: set[str], reached: set[str]
    ) -> tuple[float, ...]:
        """Return the values of `STEP_FEATURES`.

        Parameters
        ----------
        step
            The step.
        vocabulary
            The words of the evidence.
        linked
            The words of the documents that the claim names or that have a link.
        reached
            The titles that links lead to from those that the claim names.
        """
        # Longer steps are not aligned; bound the time that they take here, too.
        all_words = split_words(step.claim)[:MAX_SPAN_WORDS]
        words = [word for word in all_words if word.is_content]
        phrases = self._lexicon.phrases.find([word.norm for word in all_words])
        # A word may be covered by itself or as part of a phrase.
        wordings = [
            [word.norm, *(phrase for first, end, phrase in phrases if first <= at < end)]
            for at, word in enumerate(all_words)
            if word.is_content
        ]
        coverage = [max(self._coverage(w, vocabulary) for w in norms) for norms in wordings]
        by_linked = [max(self._coverage(w, linked) for w in norms) for norms in wordings]
        is_value = [value(word.norm) is not None for word in words]
        is_name = [step.claim[word.start].isupper() for word in words]
        kinds = list(zip(is_name, is_value, strict=True))
        lost = [kind for kind, cover in zip(kinds, coverage, strict=True) if cover < _COVERED]
        values = {
            "similarity": step.similarity,
            # The mean coverage of the content words, by all documents and by the linked ones.
            "coverage": _mean(coverage),
            "linked_coverage": _mean(by_linked),
            # Content words that no document covers: names, values and others.
            "names": sum(name for name, _ in lost),
            "values": sum(valued for _, valued in lost),
            "others": sum(not name and not valued for name, valued in lost),
            # Names that no linked document covers.
            "unlinked_names": sum(
                cover < _COVERED and name for cover, name in zip(by_linked, is_name, strict=True)
            ),
            "independent": step.operator is NatOp.INDEPENDENCE,
            "refuting": step.operator in REFUTING_OPERATORS,
            # Whether the quotation is from a document that links do not reach.
            "unreached": step.alignment is None or step.alignment.title not in reached,
        }
        return tuple(float(values[name]) for name in STEP_FEATURES)

    def _coverage(self, norm: str, vocabulary: set[str]) -> float:
        """Return the coverage of a word by its best match in a vocabulary, from 0 to 1."""
        if norm in vocabulary:
            return 1.0
        relations = {self._lexicon.word_relation(norm, other) for other in vocabulary}
        return max(
            (_RELATION_COVERAGE.get(r, 0.0) for r in relations if r is not None), default=0.0
        )


def _mean(values: Sequence[float]) -> float:
    """Return the mean, or 1 for no values: a step of stop words alone is covered."""
    return sum(values) / len(values) if values else 1.0
