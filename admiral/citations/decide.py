"""Judge what each source says about a claim, and decide what to do about its citations.

docs/citations.md has the tables of findings and decisions. With the rule of SIDE's paper, a source
that was read is replaced if a candidate has a higher score, whether or not either supports the
claim. The wording of verdicts for editors is the same in text, on pages and in records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from admiral.citations.citation_records import (
    CitationVerdict,
    CitedClaim,
    Decision,
    Finding,
    ScoredSource,
    Status,
    best_source,
    joint_finding,
)

#: The tag by which editors say that the source does not support the statement.
FAILING_TAG = "failed-verification"


@dataclass(frozen=True, slots=True)
class FindingRule:
    """Thresholds of the support of a source, and of the probability that it denies a claim.

    Support is a probability, or a score if a verifier has no calibration.
    """

    not_found: float  # a source with less support says nothing of the claim
    supported: float  # a source with at least this support supports the claim
    contradicted: float  # a source that denies the claim with this probability contradicts it

    def finding(self, support: float, denial: float | None = None) -> Finding:
        """Return what a source does to a claim.

        `denial`: probability that it denies the claim; None if the verifier does not tell.
        """
        if denial is not None and denial >= self.contradicted:
            return "contradicted"
        if support >= self.supported:
            return "supported"
        return "not_found" if support < self.not_found else "partly"


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """Turns findings into decisions, and tells which other sources are worth showing.

    `margin`: how much better, in scores, than a source that is kept an alternative has to be.
    `paper_rule`: whether to replace a source if a candidate has a higher score.
    """

    margin: float
    paper_rule: bool = False

    def decide(
        self,
        claim: CitedClaim,
        existing: Sequence[ScoredSource],
        together: ScoredSource | None,
        candidates: Sequence[ScoredSource],
        *,
        beside: bool = False,
    ) -> Decision:
        """Return the decision on a claim.

        `existing`: the sources that it cites. `together`: all that were read, as one; None unless
        there are several. `candidates`: other sources. `beside`: whether another reference of the
        same sentence supports the claim.
        """
        is_found = any(one.supports for one in candidates)
        if not existing:
            return "add" if is_found else "not_checked"
        own = best_source(existing, together)
        tagged = FAILING_TAG in claim.tags
        if own is None:
            return "flag" if tagged else "not_checked"
        # A source that could not be read may support what the others lack.
        all_read = all(one.status == "scored" for one in existing)
        if self.paper_rule and all_read and any(_is_better(c, own) for c in candidates):
            return "replace"
        finding = joint_finding(existing, together)
        if finding != "contradicted" and not tagged:
            if finding != "not_found" or beside:
                return "keep"
            if not all_read:
                return "not_checked"
        disputed = finding != "contradicted" and own.supports  # tagged, and yet supported
        return "replace" if is_found and not disputed else "flag"

    def offers(self, decision: Decision, own: ScoredSource | None, candidate: ScoredSource) -> bool:
        """Return whether a candidate is worth showing: it supports the claim, and better.

        `own`: the best source that the claim cites; None if none was read.
        """
        if self.paper_rule and own is not None:
            return _is_better(candidate, own)
        if not candidate.supports or own is None or decision != "keep":
            return candidate.supports
        return _score(candidate) >= _score(own) + self.margin


def _is_better(candidate: ScoredSource, own: ScoredSource) -> bool:
    return candidate.finding != "contradicted" and _score(candidate) > _score(own)


def _score(source: ScoredSource) -> float:
    assert source.score is not None  # only sources that were read are compared
    return source.score


#: Why a source was not checked, by its status.
UNREAD: dict[Status, str] = {
    "not_in_knowledge_base": "is not in the knowledge base",
    "no_text": "has no text in the knowledge base",
    "too_short": "is too short to be checked",
    "not_english": "is not in English",
    "not_web": "is not a page of the web",
    "blocked": "is a page that cannot be a source, such as one of Wikipedia",
}

#: How much a verdict asks of an editor: act, look, nothing.
Tone = Literal["bad", "mid", "good"]


def tone(verdict: CitationVerdict) -> Tone:
    """Return how much a verdict asks of an editor."""
    if verdict.flagged:
        return "bad"
    leans = verdict.best is not None and verdict.best.leaning
    in_doubt = leans or verdict.missing or verdict.supported_beside
    return "good" if verdict.decision == "keep" and not in_doubt else "mid"


def summary(verdict: CitationVerdict) -> str:
    """Return the decision and its reason as one line."""
    if verdict.decision == "add":
        return "Add: a source was found for a statement without one"
    if verdict.decision == "not_checked":
        if not verdict.existing:
            return "Not checked: no source is cited, and none was found"
        return "Not checked: a source could not be read"
    if verdict.decision == "keep":
        return f"Keep: {_kept(verdict)}"
    if verdict.decision == "replace":
        return f"Replace: {_fault(verdict)}, and a better source was found"
    return f"Check: {_fault(verdict)}"


def _sources(verdict: CitationVerdict) -> str:
    return "sources" if len(verdict.existing) > 1 else "source"


def _kept(verdict: CitationVerdict) -> str:
    if verdict.supported_beside:
        names = ", ".join(f"[{name}]" for name in verdict.supported_beside)
        return f"it was found in another reference of the sentence, {names}"
    if verdict.best is not None and verdict.best.leaning:
        return verdict.best.words
    if verdict.finding == "supported":
        return f"the {_sources(verdict)} support{'s' * (len(verdict.existing) < 2)} it"
    if verdict.missing:
        parts = ", ".join(f"“{part}”" for part in verdict.missing)
        return f"it was found in the {_sources(verdict)}, but not {parts}"
    return f"nothing was found against the {_sources(verdict)}"


def _fault(verdict: CitationVerdict) -> str:
    source = _sources(verdict)
    if verdict.finding == "contradicted":
        return "the source says otherwise" if source == "source" else "a source says otherwise"
    if FAILING_TAG in verdict.claim.tags:
        reason = "editors have tagged it as failing verification"
        if verdict.finding == "supported":
            return f"{reason}, though it seems to be in the {source}"
        return reason
    if verdict.finding == "not_found":
        return f"it was not found in the {source}"
    return f"it has less support in the {source}"  # by the rule of the paper


def no_suggestion(verdict: CitationVerdict) -> str:
    """Return why a verdict suggests no source, as a sentence."""
    if not verdict.query:
        return "No other source was searched for."
    if verdict.decision == "keep" and verdict.finding == "supported":
        return "No other source is needed."
    return "No better source was found."
