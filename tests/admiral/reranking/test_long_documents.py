"""Long documents are read where they share words with the claim."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from admiral.records import Document
from admiral.reranking.long_documents import shortened


def test_sentences_that_share_words_with_the_claim_keep_their_places() -> None:
    document = Document(
        "D", ("First.", "", "Rain falls.", "A red boat.", "Snow.", "The boat sank!")
    )
    found = shortened("The red boat sank.", document, 3)
    assert found.sentences == ("First.", "", "", "A red boat.", "", "The boat sank!")
    assert (found.title, found.links) == (document.title, document.links)
    assert shortened("The red boat sank.", document, 6) is document


@given(st.text(max_size=20), st.lists(st.text("ab .", max_size=6), max_size=12), st.integers(1, 12))
def test_at_most_so_many_remain_and_none_is_changed(
    claim: str, sentences: list[str], count: int
) -> None:
    document = Document("D", tuple(sentences))
    found = shortened(claim, document, count).sentences
    assert len(found) == len(sentences)
    kept = [place for place, text in enumerate(found) if text.strip()]
    readable = [place for place, text in enumerate(sentences) if text.strip()]
    assert all(found[place] == sentences[place] for place in kept)
    if len(sentences) > count:
        assert len(kept) == min(count, len(readable))
