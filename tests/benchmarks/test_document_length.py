"""Documents of a given length keep their own sentences in order."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.document_length import lengthened

DOCUMENTS = st.lists(
    st.lists(st.text(max_size=4), min_size=1, max_size=6), min_size=1, max_size=5
).map(lambda texts: [{"title": str(n), "sentences": own} for n, own in enumerate(texts)])


@given(DOCUMENTS, st.integers(1, 20), st.integers(0, 3))
def test_documents_have_the_length_and_their_own_sentences(
    documents: list[dict[str, Any]], length: int, seed: int
) -> None:
    result = lengthened(documents, length, seed)
    assert result == lengthened(documents, length, seed)
    pool = [sentence for document in documents for sentence in document["sentences"]]
    for given_document, made in zip(documents, result, strict=True):
        assert made["title"] == given_document["title"]
        assert len(made["sentences"]) == length
        assert set(made["sentences"]) <= set(pool)
        remaining = iter(made["sentences"])
        assert all(sentence in remaining for sentence in given_document["sentences"][:length])
