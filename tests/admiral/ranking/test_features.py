"""Document features, compared with a slow computation of each feature by itself."""

from __future__ import annotations

import math
import statistics

from hypothesis import given
from hypothesis import strategies as st

from admiral.ranking.features import FEATURES, document_features
from admiral.ranking.fusion import rank_documents
from admiral.records import Claim, DocumentSet, Hop, Proximity, ScoredTitle, Sentence
from admiral.retrieval.state import SearchState

TITLES = st.text("abcdef", min_size=1, max_size=1)
LISTS = st.lists(TITLES, max_size=5)
PROXIMITIES = st.builds(Proximity, st.floats(-13, 0), st.floats(0, 1))


@st.composite
def states(draw: st.DrawFn) -> SearchState:
    """Draw a claim after any hops."""
    state = SearchState(Claim("1", "A claim."))
    state.candidates = [ScoredTitle(t, 0.0) for t in draw(st.lists(TITLES, unique=True))]
    state.claim_mentions = draw(LISTS)
    for number in range(draw(st.integers(0, 3))):
        if number:
            sets = draw(st.lists(st.tuples(TITLES, st.floats(-20, 0)), min_size=1, max_size=4))
            state.document_sets.append([DocumentSet((t,), score) for t, score in sets])
        scores = sorted(draw(st.lists(st.floats(-9, 9), max_size=5)), reverse=True)
        sentences = [Sentence(draw(TITLES), at, "x", score) for at, score in enumerate(scores)]
        title_scores = draw(st.dictionaries(TITLES, st.floats(-13, 0)))
        state.record_reading(sentences, title_scores)
        state.mentioned.append(draw(LISTS))
        state.proximity.append(draw(st.dictionaries(TITLES, PROXIMITIES)))
        chosen = tuple(sentences[: draw(st.integers(0, 3))])
        hop = Hop(number + 1, tuple(state.document_sets[-1]), chosen, None, False, 0.0)
        state.hops.append(hop)
    return state


def expected_features(state: SearchState, title: str) -> dict[str, float]:
    """Compute the features of one document, one after the other."""

    def reciprocal_rank(titles: list[str]) -> float:
        unique = list(dict.fromkeys(titles))
        return 1 / (6 + unique.index(title)) if title in unique else 0.0

    def reciprocal_position(titles: list[str]) -> float:
        return 1 / (1 + titles.index(title)) if title in titles else 0.0

    def z_score(best_scores: dict[str, float]) -> float:
        if title not in best_scores:
            return -1.0
        deviation = statistics.pstdev(best_scores.values())
        return (best_scores[title] - statistics.fmean(best_scores.values())) / (deviation or 1.0)

    hops = len(state.hops)
    last_read = state.read[-1] if state.read else []
    mentioned = state.mentioned[-1] if state.mentioned else []
    read_mentions = sorted((t for t in mentioned if t in last_read), key=last_read.index)
    evidence = [[s.title for s in hop.evidence] for hop in state.hops]
    last_sets = state.document_sets[-1] if hops > 1 else []
    probabilities = [math.exp(s.score) for s in last_sets if title in s.titles and s.score >= -12]
    floor = math.log(1e-6)
    near = state.proximity[-1].get(title) if hops else None
    return {
        "first_stage": reciprocal_rank([c.title for c in state.candidates or ()]),
        "named": float(title in state.claim_mentions),
        "named_early": reciprocal_position(state.claim_mentions),
        "read_first": reciprocal_rank([s.titles[0] for s in state.document_sets[0]])
        if hops
        else 0.0,
        "read_last": reciprocal_rank(last_read) if hops > 1 else 0.0,
        "mentioned_last": reciprocal_rank(
            read_mentions + [t for t in mentioned if t not in last_read]
        ),
        "evidence_last": reciprocal_position(evidence[-1]) if hops else 0.0,
        "evidence_share": sum(title in titles for titles in evidence) / max(hops, 1),
        "standing_first": z_score(state.best_scores[0]) if hops else -1.0,
        "standing_last": z_score(state.best_scores[-1]) if hops else -1.0,
        "seen_last": float(title in last_read),
        "mentioned_share": sum(title in titles for titles in state.mentioned) / max(hops, 1),
        "probability": math.log(sum(probabilities)) if probabilities else floor,
        "generative_first": state.title_scores[0].get(title, floor) if hops else floor,
        "generative_last": state.title_scores[-1].get(title, floor) if hops > 1 else floor,
        "near_evidence": near.arrivals if near else floor,
        "mentions_evidence": near.mentions if near else 0.0,
    }


@given(states())
def test_features_equal_those_computed_one_by_one(state: SearchState) -> None:
    features = document_features(state)
    ranked = rank_documents(
        state.document_sets,
        state.candidates or (),
        read=state.read,
        mentioned=state.mentioned,
        claim_mentions=state.claim_mentions,
    )
    assert {document.title for document in ranked} <= set(features)
    for title, values in features.items():
        expected = expected_features(state, title)
        for name, value in zip(FEATURES, values, strict=True):
            assert math.isclose(value, expected[name], abs_tol=1e-9), name


def test_a_claim_without_hops_has_no_features() -> None:
    assert document_features(SearchState(Claim("1", "A claim."))) == {}
