"""Coverage against its definition, computed step by step."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.citations.passage_verifiers import CoverageVerifier
from admiral.citations.term_weights import TermWeights, uncovered
from admiral.kb.bm25.analysis import STOP_WORDS, porter
from tests.admiral.citations.cited_pages import BRIDGE, HARBOUR, claim, passage

_TEXTS = st.lists(
    st.sampled_from(["the", "bridge", "bridges", "opened", "open", "1932", "of", "Orr"])
).map(" ".join)


def _slow_stems(text):
    words = re.findall("[a-z0-9]+", text.lower())
    return {porter(word) for word in words if word not in STOP_WORDS}


def _slow_coverage(claimed, text, texts):
    def weight(stem):
        n = sum(stem in _slow_stems(each) for each in texts)
        return math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))

    stems = _slow_stems(claimed)
    total = sum(weight(stem) for stem in stems)
    return sum(weight(s) for s in stems & _slow_stems(text)) / total if total else 0.0


@given(_TEXTS, st.lists(_TEXTS, min_size=1, max_size=4))
def test_coverage_is_as_defined(claimed, texts):
    verifier = CoverageVerifier(TermWeights.of(texts))
    (scores,) = verifier.score([claim(claimed)], [[passage(text) for text in texts]])
    expected = [_slow_coverage(claimed, text, texts) for text in texts]
    assert scores == pytest.approx(expected)
    assert all(0 <= score <= 1 + 1e-9 for score in scores)


def test_the_context_has_to_be_covered_if_it_is_read():
    weights = TermWeights.of([BRIDGE.text, HARBOUR.text])
    own = claim("It was opened in 1932.", page="Zanzibar")
    alone = CoverageVerifier(weights).score([own], [[passage(BRIDGE.text)]])
    titled = CoverageVerifier(weights, "all").score([own], [[passage(BRIDGE.text)]])
    assert alone[0][0] == pytest.approx(1.0)
    assert titled[0][0] < alone[0][0]


def test_names_and_values_that_a_source_lacks_are_counted():
    source = [passage(BRIDGE.text)]
    for text, count in (
        ("The bridge was opened in 1932.", 0),
        ("The bridge was opened in 1931.", 1),
        ("The bridge of Zanzibar was painted by Quill in 1931.", 3),
        (" ".join(f"Name{number}" for number in range(9)), 5),
    ):
        assert uncovered(text, source) == pytest.approx(math.sqrt(count)), text
