"""Decide what to do about a claim's citations, given the scores of its sources.

| existing source | best candidate | decision |
|---|---|---|
| none | accepted | `add` |
| none | none accepted | `not_checked` |
| not read, or failing beside one that was not read | any | `not_checked` |
| first, not failing | | `keep` |
| first, failing | | `flag` |
| second, failing | accepted | `replace` |
| second, failing | not accepted | `flag` |
| second, not failing | | `keep`; `replace` with the rule of the paper |

A source fails if its score is below one threshold, and is accepted if it reaches another. The rule
of the paper suggests the best candidate whenever an existing source is not the first.
"""

from __future__ import annotations

from dataclasses import dataclass

from admiral.citations.citation_records import Decision


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """Thresholds of scores."""

    fail: float  # an existing source with a lower score fails
    accept: float  # a candidate with a lower score is not accepted
    # how much better than an existing source that does not fail an alternative has to be
    margin: float
    # whether to replace a source that does not fail if a candidate has a higher score
    paper_rule: bool = False

    def decide(
        self,
        existing: float | None,
        best: float | None,
        *,
        cites: bool = True,
        unread: bool = False,
    ) -> Decision:
        """Return the decision on a claim.

        - `existing`: highest score of the sources that the claim cites; None if none was scored.
        - `best`: highest score of the other sources; None if there are none.
        - `cites`: whether the claim cites anything.
        - `unread`: whether a source that it cites was not read.
        """
        accepted = best is not None and best >= self.accept
        if not cites:
            return "add" if accepted else "not_checked"
        if existing is None:
            return "not_checked"
        is_first = best is None or existing >= best
        if existing >= self.fail:
            return "replace" if self.paper_rule and not is_first else "keep"
        # A source that could not be read may support what the others lack.
        if unread:
            return "not_checked"
        return "replace" if accepted and not is_first else "flag"

    def offers(self, existing: float | None, candidate: float) -> bool:
        """Return whether a candidate is worth showing beside the best existing source."""
        if existing is None or existing < self.fail:
            return True
        return candidate >= existing + self.margin or (self.paper_rule and candidate > existing)
