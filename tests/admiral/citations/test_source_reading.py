"""What the verifier gets to read of a source, and what follows from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.citations.source_scorers import (
    NOTHING_SAID,
    SENTENCES,
    SourceReader,
    source_sentences,
)
from admiral.citations.source_search import cut_source
from admiral.citations.term_weights import TermWeights
from admiral.models.verifiers import open_named_verifier
from admiral.sources import Source
from tests.admiral.citations.cited_pages import BRIDGE

SENTENCE = st.integers(0, 999).map(lambda n: f"Item {n} of the list is kept in room {n % 7}.")


@pytest.fixture(scope="module")
def reader():
    return SourceReader(open_named_verifier("mini-verifier"), TermWeights.background())


@given(st.lists(st.lists(SENTENCE, min_size=1, max_size=8), min_size=1, max_size=30))
def test_passages_give_back_the_sentences_of_their_text(lines):
    text = "\n".join(" ".join(line) for line in lines)
    expected = tuple(dict.fromkeys(sentence for line in lines for sentence in line))
    assert source_sentences(cut_source(Source("u", "", text))) == expected


def test_sentences_of_several_sources_stay_apart():
    passages = [*cut_source(Source("a", "", "One thing")), *cut_source(Source("b", "", "Another"))]
    assert source_sentences(tuple(passages)) == ("One thing", "Another")


def test_sentences_together_cover_the_claim(reader):
    text = " ".join(
        [BRIDGE.text, *(f"The river Orr froze in {year}." for year in range(1700, 1740))]
    )
    claim = "The bridge over the Orr was closed for repairs in 1978 and cost two million pounds."
    chosen = reader.sentences(claim, cut_source(Source("u", "", text)))
    assert len(chosen) == SENTENCES
    assert any("repairs in 1978" in sentence for sentence in chosen)
    assert any("two million pounds" in sentence for sentence in chosen)


def test_support_and_denial(reader):
    passages = cut_source(BRIDGE)
    right, wrong, unrelated = reader.read(
        [
            "The Eastern Bridge was opened in 1932.",
            "The Eastern Bridge was opened in 1934.",
            "Quokkas photosynthesise.",
        ],
        [passages] * 3,
    )
    assert right.entailed > 1
    assert right.denial < 0.1
    assert wrong.entailed < 0
    assert wrong.denial >= 0.5
    assert "opened on 4 May 1932" in wrong.denied_by
    assert unrelated == NOTHING_SAID
