"""Tests of the chunking of claims."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.drafting.chunking import chunk
from tests.proofs.hostile_texts import claims


@given(claims, st.integers(1, 9), st.integers(1, 20))
def test_chunks_partition_the_claim_at_word_boundaries(claim, max_words, max_chunks):
    spans = chunk(claim, max_words=max_words, max_chunks=max_chunks)
    assert " ".join(claim[a:b] for a, b in spans).split() == claim.split()
    assert all(claim[a:b].split() for a, b in spans)
    edges = [0, *[x for span in spans for x in span], len(claim)]
    assert edges == sorted(edges)
    assert all(not claim[a:b].strip() for a, b in zip(edges[::2], edges[1::2], strict=True))
    assert len(spans) <= max_chunks
    if max_chunks >= len(claim.split()):
        assert all(len(claim[a:b].split()) <= max_words for a, b in spans)


@given(st.integers(1, 300), st.integers(1, 20))
def test_joined_chunks_are_at_most_twice_the_average_length(words, max_chunks):
    claim = "word " * words
    longest = max(b - a for a, b in chunk(claim, max_chunks=max_chunks)) // 5 + 1
    assert longest <= max(7, -(-2 * words // max_chunks))


@given(claims, st.integers(1, 9), st.integers(1, 20))
def test_joining_equals_repeated_shortest_pair(claim, max_words, max_chunks):
    spans = chunk(claim, max_words=max_words, max_chunks=len(claim))
    while len(spans) > max_chunks:
        counts = [len(claim[a:b].split()) for a, b in spans]
        sums = [left + right for left, right in pairwise(counts)]
        at = sums.index(min(sums))
        spans[at : at + 2] = [(spans[at][0], spans[at + 1][1])]
    assert chunk(claim, max_words=max_words, max_chunks=max_chunks) == spans


@pytest.mark.parametrize("text", ["word ", "Word, said in ", "the "])
def test_huge_claim_is_chunked_quickly(text):
    claim = text * 50_000
    began = time.process_time()
    assert len(chunk(claim)) <= 16
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        (
            "The lighthouse at Port Merrow was built by an Irish engineer born in 1873.",
            "The lighthouse | at Port Merrow | was built | by an Irish engineer | born | in 1873.",
        ),
        (
            "The Lord of the Northern Isles is a novel that was published on May 3, 1931.",
            "The Lord of the Northern Isles | is a novel | that was published | on May 3, 1931.",
        ),
        (
            'St. Olaf was sung by J. R. Moe for "Merrow." Fenwick is a novel.',
            'St. Olaf | was sung | by J. R. Moe for "Merrow." | Fenwick | is a novel.',
        ),
        ("Merrow", "Merrow"),
        ("", ""),
    ],
)
def test_chunk_examples(claim, expected):
    assert " | ".join(claim[a:b] for a, b in chunk(claim)) == expected


def test_invalid_limits_raise():
    with pytest.raises(ValueError, match="max_words"):
        chunk("a", max_words=0)
