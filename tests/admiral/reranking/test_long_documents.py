"""Long documents keep the sentences that share words with the claim."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from admiral.records import Document
from admiral.reranking.long_documents import shorten_document


def test_sentences_that_share_words_with_the_claim_keep_their_indices() -> None:
    document = Document(
        "D", ("First.", "", "Rain falls.", "A red boat.", "Snow.", "The boat sank!")
    )
    shortened = shorten_document("The red boat sank.", document, 3)
    assert shortened.sentences == ("First.", "", "", "A red boat.", "", "The boat sank!")
    assert (shortened.title, shortened.links) == (document.title, document.links)
    assert shorten_document("The red boat sank.", document, 6) is document


@given(st.text(max_size=20), st.lists(st.text("ab .", max_size=6), max_size=12), st.integers(1, 12))
def test_at_most_count_sentences_remain_unchanged(
    claim: str, sentences: list[str], count: int
) -> None:
    document = Document("D", tuple(sentences))
    shortened = shorten_document(claim, document, count).sentences
    assert len(shortened) == len(sentences)
    kept = [i for i, text in enumerate(shortened) if text.strip()]
    non_blank = [i for i, text in enumerate(sentences) if text.strip()]
    assert all(shortened[i] == sentences[i] for i in kept)
    if len(sentences) > count:
        assert len(kept) == min(count, len(non_blank))
