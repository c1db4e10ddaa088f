"""Exact search of vectors: independent of blocks, close to full precision."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.kb import embed, remove
from admiral.kb.vectors import best_vectors, quantise
from admiral.sources import Source
from admiral.sources.open_sources import Sources
from admiral.sources.source_indexing import build_sources
from tests.admiral.kb.fake_encoder import FakeEncoder


def best(vectors, block, queries, k):
    stored = quantise(vectors)
    blocks = (stored[at : at + block] for at in range(0, len(stored), block))
    return best_vectors(blocks, queries, k)


def unit(rng, count, width):
    vectors = rng.normal(size=(count, width)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@given(st.integers(0, 80), st.integers(1, 50), st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_results_do_not_depend_on_the_size_of_blocks(size, block, k, seed):
    rng = np.random.default_rng(seed)
    vectors, queries = unit(rng, size, 16), unit(rng, 3, 16)
    vectors[1::3] = vectors[:1]  # equal scores
    found = best(vectors, block, queries, k)
    assert found == best(vectors, 10**6, queries, k)
    for ranking in found:
        assert len(ranking) == min(k, size)
        assert ranking == sorted(ranking, key=lambda each: (-each[1], each[0]))


def test_recall_against_full_precision():
    rng = np.random.default_rng(0)
    vectors, queries = unit(rng, 20_000, 384), unit(rng, 50, 384)
    found = best(vectors, 4096, queries, 100)
    exact = queries @ vectors.T
    recalls = [
        len({number for number, _ in ranking} & set(np.argsort(-scores)[:100].tolist())) / 100
        for ranking, scores in zip(found, exact, strict=True)
    ]
    assert np.mean(recalls) >= 0.99
    worst = max(abs(s - float(exact[q, n])) for q, ranking in enumerate(found) for n, s in ranking)
    assert worst < 0.002


def test_passages_are_found_by_their_vectors(tmp_path):
    encoder = FakeEncoder()
    sources = [Source(f"x.example/{n}", f"T{n}", f"Text {n}. " * 60) for n in range(5)]
    build_sources(sources, tmp_path / "kb", encoder=encoder)
    remove(["x.example/3"], tmp_path / "kb")
    embed(tmp_path / "kb", encoder, progress=False)
    with Sources.open(tmp_path / "kb") as opened:
        dense = opened.dense(encoder)
        for n in (0, 1, 2, 4):
            for passage in opened.passages(f"x.example/{n}"):
                ((best, *_),) = dense.search([f"{passage.title}: {passage.text}"], 3)
                assert best.passage == passage
                assert best.score == pytest.approx(1, abs=0.01)
        everything = dense.search(["anything"], 1000)[0]
        assert "x.example/3" not in {s.passage.url for s in everything}
        assert len(everything) == opened.kb.counts["passages"]
