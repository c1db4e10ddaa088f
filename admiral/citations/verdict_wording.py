"""The wording of verdicts for editors: the same in text, on pages and in records."""

from __future__ import annotations

from typing import Literal

from admiral.citations.citation_records import CitationVerdict
from admiral.citations.decide import FAILING_TAG

#: How much a verdict asks of an editor: act, look, nothing.
Tone = Literal["bad", "mid", "good"]


def tone(verdict: CitationVerdict) -> Tone:
    """Return how much a verdict asks of an editor."""
    if verdict.flagged:
        return "bad"
    if verdict.decision == "keep" and not (verdict.missing or verdict.supported_beside):
        return "good"
    return "mid"


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
        return f"Replace: {_fault(verdict)}, and another source supports it"
    return f"Check: {_fault(verdict)}"


def _sources(verdict: CitationVerdict) -> str:
    return "sources" if len(verdict.existing) > 1 else "source"


def _kept(verdict: CitationVerdict) -> str:
    if verdict.supported_beside:
        names = ", ".join(f"[{name}]" for name in verdict.supported_beside)
        return f"it was found in another reference of the sentence, {names}"
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
