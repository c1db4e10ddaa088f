"""Sources that are cut in two for the benchmark of citations."""

from __future__ import annotations

from admiral.citations.verifiers.term_weights import TermWeights
from admiral.citations.wice_records import WICE_LABELS, WiceCitation
from admiral.library.source_records import Source
from benchmarks.citation_simulations import halves, joint_table
from tests.admiral.citations.cited_pages import claim

LINES = ("The bridge of Belmar is long.", "It was opened in 1932.", "It is painted green.")


def test_halves_hold_all_lines_once() -> None:
    for count in (1, 2, 3):
        source = Source("wice:1", "Bridge", "\n".join(LINES[:count]))
        cut = halves(source)
        assert "\n".join(half.text for half in cut) == source.text
        assert len(cut) == min(count, 2)


def test_halves_together_are_as_good_as_the_whole_if_passages_are_lines() -> None:
    """A claim with evidence at both ends of a long source is covered by both halves alone."""
    filler = [
        f"Sentence number {n} speaks of other things, such as rain and wind." for n in range(40)
    ]
    text = "\n".join(("The bridge was opened in 1932.", *filler, "Ida Morton painted it green."))
    both = "The bridge was opened in 1932, and Ida Morton painted it green."
    citations = [
        WiceCitation(claim(both, id=label), Source("wice:1", "Bridge", text), (), (), label)
        for label in WICE_LABELS
    ]
    rows = joint_table(citations, TermWeights.background())[2:]
    whole, better, together = (float(row.split("|")[-2]) for row in rows)
    assert better < together
    assert abs(whole - together) < 0.02
