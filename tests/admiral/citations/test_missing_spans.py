"""What of a claim its source lacks."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from admiral.citations.citation_weights import WORD_FEATURES, CitationWeights, word_features
from proofs.logic.words import word_spans
from tests.admiral.citations.cited_pages import BRIDGE, HARBOUR, passage
from tests.proofs.helpers import texts

# The bundled threshold names only what is sure; a lower one shows what is marked.
MISSING = replace(CitationWeights.bundled().missing, threshold=1.9)
PASSAGES = [passage(BRIDGE.text), passage(HARBOUR.text, 1)]


def test_the_wrong_words_are_found():
    claim = "The Eastern Bridge was opened in 1934 by Governor Ada Lane."
    assert MISSING.spans(claim, PASSAGES, 0) == ("1934",)


def test_nothing_is_missing_from_a_sentence_of_the_source():
    assert MISSING.spans("It is 320 metres long and crosses the river Orr.", PASSAGES, 0) == ()


def test_the_surest_part_comes_first():
    claim = (
        "The Eastern Bridge was built by Zoe Quill, and it was opened in 1940 by Governor Ada Lane."
    )
    assert MISSING.spans(claim, PASSAGES, 0) == ("Zoe Quill", "1940")


@given(st.sampled_from([0, 1]), texts(0, 20))
def test_spans_are_parts_of_the_claim(best, claim):
    spans = MISSING.spans(claim, PASSAGES, best)
    assert all(span in claim for span in spans)
    assert sum(map(len, spans)) <= len(claim)
    words = word_spans(claim)
    rows = word_features(claim, words, PASSAGES, best)
    assert [len(row) for row in rows] == [len(WORD_FEATURES)] * len(words)
    assert all(0 <= value <= 1 for row in rows for value in row)
