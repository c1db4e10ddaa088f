"""Both backends give the scores of a slow BM25."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.kb.bm25 import BACKENDS
from admiral.kb.bm25.analysis import terms

K1, B = 0.6, 0.4  # of the paper
WORDS = ["harbour", "lamps", "painted", "painter's", "the", "of", "Zürich", "1973", "x", "singing"]
sentence = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
long_sentence = st.lists(st.sampled_from(WORDS), max_size=90).map(" ".join)
weights = st.sampled_from([(1.0, 1.0), (0.0, 1.0), (0.5, 1.0), (2.0, 1.0), (1.0, 0.0)])


def one_byte(length):
    """Round a length as Lucene's norms do (``SmallFloat.intToByte4`` and back)."""
    exact = 24  # lengths below this are stored exactly
    rest = length - exact
    if rest < 8:
        return length
    shift = rest.bit_length() - 4
    return exact + (rest >> shift << shift)


def field_scores(texts, query, quantised):
    """Score every text; documents without terms do not count in the statistics."""
    documents = [terms(text) for text in texts]
    filled = [document for document in documents if document]
    scores = [0.0] * len(documents)
    if not filled:
        return scores
    mean = sum(map(len, filled)) / len(filled)
    for term in terms(query):  # with repetitions
        frequency = sum(term in document for document in filled)
        idf = math.log(1 + (len(filled) - frequency + 0.5) / (frequency + 0.5))
        for row, document in enumerate(documents):
            times = document.count(term)
            length = one_byte(len(document)) if quantised else len(document)
            scores[row] += idf * times / (times + K1 * (1 - B + B * length / mean))
    return scores


def oracle(documents, query, title, text, backend):
    quantised = backend == "lucene"
    titles = field_scores([pair[0] for pair in documents], query, quantised)
    texts = field_scores([pair[1] for pair in documents], query, quantised)
    return [title * a + text * b for a, b in zip(titles, texts, strict=True)]


def test_lengths_are_rounded_as_in_lucene():
    assert [one_byte(n) for n in (0, 7, 24, 39, 40, 41, 56, 59, 1000)] == [
        *(0, 7, 24, 39, 40, 40, 56, 56),
        984,
    ]


@pytest.mark.parametrize("backend", BACKENDS)
@given(data=st.data())
def test_scores_are_bm25(backend, make, data):
    documents = data.draw(st.lists(st.tuples(sentence, sentence | long_sentence), max_size=8))
    title, text = data.draw(weights)
    queries = data.draw(st.lists(sentence, min_size=1, max_size=3))
    with make(backend, documents, title, text) as index:
        results = index.search(queries, len(documents) + 3)
    for query, hits in zip(queries, results, strict=True):
        expected = oracle(documents, query, title, text, backend)
        assert {row for row, _ in hits} == {row for row, s in enumerate(expected) if s > 0}
        assert len({row for row, _ in hits}) == len(hits)
        for row, score in hits:
            assert score == pytest.approx(expected[row], rel=1e-5)
        scores = [score for _, score in hits]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("backend", BACKENDS)
@given(data=st.data())
def test_a_smaller_k_gives_a_prefix_of_the_ranking(backend, make, data):
    # Few distinct documents, so that many scores tie; ties are broken by row.
    few = st.sampled_from([("lamp", "harbour"), ("harbour", "x singing"), ("", ""), ("x", "x")])
    documents = data.draw(st.lists(few, min_size=1, max_size=40))
    query = data.draw(sentence)
    with make(backend, documents) as index:
        every = index.search([query], len(documents))[0]
        for k in range(1, len(documents) + 1):
            assert index.search([query], k)[0] == every[:k]
    assert every == sorted(every, key=lambda hit: (-hit[1], hit[0]))


@given(documents=st.lists(st.tuples(sentence, sentence), max_size=10), query=sentence, pair=weights)
def test_backends_agree_on_short_documents(make, documents, query, pair):
    # Below 40 terms Lucene's lengths are exact.
    first, second = (dict(make(b, documents, *pair).search([query], 20)[0]) for b in BACKENDS)
    assert first == pytest.approx(second, rel=1e-5)


def test_merged_segments_keep_rows(backend, make):
    # Many copies of one document, and a single different one among them.
    documents = [("same", f"word{row % 7} common") for row in range(12_000)]
    documents[9_876] = ("needle", "common")
    with make(backend, documents) as index:
        assert index.search(["needle"], 5)[0][0][0] == 9_876
        assert [row for row, _ in index.search(["word3"], 4)[0]] == [3, 10, 17, 24]
