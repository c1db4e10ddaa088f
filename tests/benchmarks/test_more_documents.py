"""Enlarged corpora: the real documents first, then made ones with titles of their own."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.records import Document
from benchmarks.more_documents import enlarged

WORDS = st.sampled_from(["Ada", "Lovelace", "Alan", "Turing", "Grace", "Hopper", "of", "Rome"])
DOCUMENTS = st.lists(
    st.builds(
        Document,
        st.lists(WORDS, min_size=1, max_size=4).map(" ".join),
        st.lists(WORDS, max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda document: document.title,
)


@given(DOCUMENTS, st.integers(0, 60), st.integers(0, 3))
def test_it_has_so_many_documents_of_different_titles(
    documents: list[Document], count: int, seed: int
) -> None:
    if count > len(documents) and not any(document.sentences for document in documents):
        with pytest.raises(ValueError, match="no documents with sentences"):
            list(enlarged(documents, count, seed))
        return
    found = list(enlarged(documents, count, seed))
    assert len(found) == count and found == list(enlarged(documents, count, seed))
    assert found[: len(documents)] == documents[:count]
    titles = [document.title for document in found]
    assert len(set(titles)) == count
    sentences = {sentence for document in documents for sentence in document.sentences}
    assert {sentence for document in found for sentence in document.sentences} <= sentences


def test_nothing_is_made_of_nothing() -> None:
    assert list(islice(enlarged([], 0), 1)) == []
    with pytest.raises(ValueError, match="no documents"):
        list(enlarged([], 1))
