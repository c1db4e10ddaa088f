"""The clues of documents, beside what can be counted by hand."""

from __future__ import annotations

import math
import statistics

from hypothesis import given
from hypothesis import strategies as st

from admiral.ranking.features import CLUES, document_clues
from admiral.ranking.fusion import rank_documents
from admiral.records import Claim, DocumentSet, Hop, ScoredTitle, Sentence
from admiral.retrieval.state import Progress

TITLES = st.text("abcdef", min_size=1, max_size=1)
LISTS = st.lists(TITLES, max_size=5)


@st.composite
def travelled(draw: st.DrawFn) -> Progress:
    """A claim with hops of any kind."""
    progress = Progress(Claim("1", "A claim."))
    progress.candidates = [ScoredTitle(t, 0.0) for t in draw(st.lists(TITLES, unique=True))]
    progress.named = draw(LISTS)
    for number in range(draw(st.integers(0, 3))):
        if number:
            found = draw(st.lists(st.tuples(TITLES, st.floats(-20, 0)), min_size=1, max_size=4))
            progress.sets.append([DocumentSet((t,), score) for t, score in found])
        scores = sorted(draw(st.lists(st.floats(-9, 9), max_size=5)), reverse=True)
        sentences = [Sentence(draw(TITLES), at, "x", score) for at, score in enumerate(scores)]
        progress.note_read(sentences)
        progress.linked.append(draw(LISTS))
        chosen = tuple(sentences[: draw(st.integers(0, 3))])
        hop = Hop(number + 1, tuple(progress.sets[-1]), chosen, None, False, 0.0)
        progress.hops.append(hop)
    return progress


def by_hand(progress: Progress, title: str) -> dict[str, float]:
    """Count the clues of one document, one after the other."""

    def reciprocal(titles: list[str]) -> float:
        once = list(dict.fromkeys(titles))
        return 1 / (6 + once.index(title)) if title in once else 0.0

    hops = len(progress.hops)
    last_read = progress.read[-1] if progress.read else []
    linked = progress.linked[-1] if progress.linked else []
    read_linked = sorted((t for t in linked if t in last_read), key=last_read.index)
    evidence = [[s.title for s in hop.evidence] for hop in progress.hops]

    def standing(best: dict[str, float]) -> float:
        if title not in best:
            return -1.0
        spread = statistics.pstdev(best.values())
        return (best[title] - statistics.fmean(best.values())) / (spread or 1.0)

    last_sets = progress.sets[-1] if hops > 1 else []
    holding = [s.score for s in last_sets if title in s.titles and s.score >= -12]
    return {
        "first_stage": reciprocal([c.title for c in progress.candidates or ()]),
        "named": float(title in progress.named),
        "named_early": 1 / (1 + progress.named.index(title)) if title in progress.named else 0.0,
        "read_first": reciprocal([s.titles[0] for s in progress.sets[0]]) if hops else 0.0,
        "read_last": reciprocal(last_read) if hops > 1 else 0.0,
        "mentioned_last": reciprocal(read_linked + [t for t in linked if t not in last_read]),
        "evidence_last": 1 / (1 + evidence[-1].index(title))
        if hops and title in evidence[-1]
        else 0.0,
        "evidence_share": sum(title in one for one in evidence) / max(hops, 1),
        "standing_first": standing(progress.best[0]) if hops else -1.0,
        "standing_last": standing(progress.best[-1]) if hops else -1.0,
        "seen_last": float(title in last_read),
        "mentioned_share": sum(title in one for one in progress.linked) / max(hops, 1),
        "probability": max(math.log(sum(map(math.exp, holding))), math.log(1e-6))
        if holding
        else math.log(1e-6),
    }


@given(travelled())
def test_clues_are_what_one_counts_by_hand(progress: Progress) -> None:
    clues = document_clues(progress)
    ranked = rank_documents(
        progress.sets,
        progress.candidates or (),
        read=progress.read,
        linked=progress.linked,
        named=progress.named,
    )
    assert {one.title for one in ranked} <= set(clues)
    for title, values in clues.items():
        wanted = by_hand(progress, title)
        for name, value in zip(CLUES, values, strict=True):
            assert math.isclose(value, wanted[name], abs_tol=1e-9), name


def test_a_claim_that_was_not_answered_has_no_clues() -> None:
    assert document_clues(Progress(Claim("1", "A claim."))) == {}
