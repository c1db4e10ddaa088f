"""The calibrated judge: a lexical proof whose independent steps are chosen by a fitted score.

A small network (`proofs.judges.fitted_weights`) scores each step by its own features
(`proofs.judges.calibrated`) and those of the claim (`proofs.judges.claim_features`); a higher
score means that the step is covered less. If any score exceeds the threshold, the step with the
highest score is independent, together with the steps above the threshold that words alone leave
uncovered. Otherwise the evidence suffices. The proof is therefore the decision itself, not a
comment on it. A claim that one document covers nearly verbatim, or denies, is not scored.

The weights are fitted on claims whose evidence is labelled, with the highest score of its steps as
the score of a claim (`training.judges`). They can be read in `proofs/data/calibrated.json`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

from proofs.drafting import (
    RELATED_SIMILARITY,
    DraftStep,
    default_operator,
    draft_steps,
    merge_unquotable,
    to_proof,
)
from proofs.drafting.spans import MAX_SPAN_WORDS
from proofs.judges.claim_features import CLAIM_FEATURES, DocumentLinks, claim_features
from proofs.judges.fitted_weights import HiddenUnit, network_score, number, read_units, read_weights
from proofs.judges.judgement import Evidence, Judgement, uncovered
from proofs.lexicons import SpanLexicon, default_lexicon, is_bare_negation
from proofs.lexicons.values import value
from proofs.logic import REFUTING_OPERATORS, NatOp
from proofs.logic.proof import Proof
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
    """The drafted steps of a claim's proof with their features."""

    drafts: tuple[DraftStep, ...]
    claim: tuple[float, ...]  # the values of `proofs.judges.claim_features.CLAIM_FEATURES`
    steps: tuple[tuple[float, ...], ...]
    named: frozenset[str] = frozenset()


class FeatureExtractor:
    """Drafts the proofs of claims and computes their features."""

    def __init__(self, lexicon: SpanLexicon) -> None:
        self._lexicon = lexicon

    def extract(self, claim: str, evidence: Sequence[tuple[str, str]]) -> ProofFeatures:
        """Return the features of a claim and its evidence, pairs of title and sentence.

        Raises `AnnotationError` if the claim has no words.
        """
        drafts = draft_steps(claim, evidence, self._lexicon)
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
        """Return the values of `STEP_FEATURES`."""
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
        if norm in vocabulary:
            return 1.0
        relations = {self._lexicon.word_relation(norm, other) for other in vocabulary}
        return max(
            (_RELATION_COVERAGE.get(r, 0.0) for r in relations if r is not None), default=0.0
        )


def _mean(values: Sequence[float]) -> float:
    """Return the mean, or 1 for no values: a step of stop words alone is covered."""
    return sum(values) / len(values) if values else 1.0


# From this similarity on, a step is covered nearly verbatim.
_VERBATIM = 0.9
#: The features of a step's score.
FEATURES = (*CLAIM_FEATURES, *STEP_FEATURES)
#: The bundled weights.
WEIGHTS = Path(__file__).parents[1] / "data" / "calibrated.json"


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of the network that scores steps, and the threshold of its scores."""

    units: tuple[HiddenUnit, ...]  # hidden units, with a weight for each of `FEATURES`
    threshold: float  # evidence is insufficient if a step has a higher score

    @classmethod
    def read(cls, path: Path) -> Weights:
        """Read a file of weights.

        Raises `ValueError` if a field is missing, unknown or not a number, with the file and the
        field.
        """
        record = read_weights(path, ("units", "threshold"))
        units = read_units(path, record["units"], FEATURES)
        return cls(units, number(path, "threshold", record["threshold"]))

    @classmethod
    def bundled(cls) -> Weights:
        """Return the bundled weights."""
        return _bundled_weights()

    def to_json(self) -> str:
        """Return the text of a file that `read` reads."""
        record = {"units": [asdict(unit) for unit in self.units], "threshold": self.threshold}
        return json.dumps(record, indent=1) + "\n"

    def scores(self, features: ProofFeatures) -> list[float]:
        """Return the score of each step; a higher score means less covered."""
        claim = dict(zip(CLAIM_FEATURES, features.claim, strict=True))
        return [
            network_score(self.units, claim | dict(zip(STEP_FEATURES, row, strict=True)))
            for row in features.steps
        ]


class CalibratedJudge:
    """Judges by a lexical proof whose steps are independent if their score says so.

    Parameters
    ----------
    weights
        Fitted weights; those of `WEIGHTS` by default.
    lexicon
        Relates words and spans; the built-in lexicon by default.
    """

    def __init__(
        self,
        weights: Weights | None = None,
        lexicon: SpanLexicon | None = None,
    ) -> None:
        self._weights = weights or Weights.bundled()
        self._lexicon = lexicon or default_lexicon()
        self._extractor = FeatureExtractor(self._lexicon)

    def judge(self, claims: Sequence[str], evidence: Sequence[Evidence]) -> list[Judgement]:
        """Return the scored proof of each claim and the decision that follows from it."""
        return [self._judge(c, texts) for c, texts in zip(claims, evidence, strict=True)]

    def highest_score(self, claim: str, evidence: Evidence) -> float | None:
        """Return the score of the step that is covered least; None without words or evidence."""
        if not claim.split() or not evidence:
            return None
        return max(self._weights.scores(self._extractor.extract(claim, evidence)))

    def _judge(self, claim: str, evidence: Evidence) -> Judgement:
        if not claim.split() or not evidence:
            return uncovered(claim)
        features = self._extractor.extract(claim, evidence)
        if covered_by_one_document(features):
            proof = to_proof(features.drafts)
        else:
            proof = self._scored_proof(claim, features)
        return Judgement(proof.sufficient, proof)

    def _scored_proof(self, claim: str, features: ProofFeatures) -> Proof:
        steps, scores = [], self._weights.scores(features)
        highest = max(scores)
        for step, score in zip(features.drafts, scores, strict=True):
            independent = step.operator is NatOp.INDEPENDENCE
            # A claim that lacks something raises the scores of all its steps. So besides the
            # highest, only steps that words alone leave uncovered, too, become independent.
            decides = score > self._weights.threshold and (independent or score == highest)
            # A lone "is not" would negate the step that it is merged with, but what it negates is
            # stated elsewhere in the claim.
            bare_negation = step.similarity < RELATED_SIMILARITY and is_bare_negation(step.claim)
            if step.alignment is None or decides or bare_negation:
                step = replace(step, operator=NatOp.INDEPENDENCE, unquoted=not independent)
            elif independent:
                relation = self._lexicon.relation(step.claim, step.alignment.span)
                default = default_operator(step.claim, step.alignment, self._lexicon)
                step = replace(step, operator=relation or default)
            steps.append(step)
        return to_proof(merge_unquotable(claim, steps))


def covered_by_one_document(features: ProofFeatures) -> bool:
    """Return whether one document covers every step nearly verbatim.

    Nothing has to be concluded from several documents then, and their links say nothing. Steps may
    also be refuted if the claim names the document; another document may be about something else.
    """
    titles = {step.alignment.title for step in features.drafts if step.alignment}
    is_named = titles <= features.named
    return len(titles) == 1 and all(
        step.operator is not NatOp.INDEPENDENCE
        and (step.similarity >= _VERBATIM or (is_named and step.operator in REFUTING_OPERATORS))
        for step in features.drafts
    )


@cache
def _bundled_weights() -> Weights:
    return Weights.read(WEIGHTS)
