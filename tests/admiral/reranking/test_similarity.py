"""Cosine similarities of sentence embeddings, compared with plain transformers."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoTokenizer

from admiral.kb.embeddings import EncoderIdentity, dequantise, quantise
from admiral.records import Document, Sentence
from admiral.reranking import similarity
from admiral.reranking.mean_pooling import MeanPoolingEncoder
from admiral.reranking.minilm_files import MINILM, minilm_directory
from admiral.reranking.similarity import MAX_CLAIM_TOKENS, SimilarityReranker
from trie.model import low_precision
from trie.model.quiet_transformers import quiet_transformers

CLAIMS = ["The Danube flows through Vienna.", "A comedian was born in 1973."]
DOCUMENTS = [
    [Document("Danube", ("The Danube is a river.", " ", "It flows through four capitals."))],
    [
        Document("Vienna", ("Vienna is the capital of Austria.",)),
        Document("Danube", ("The Danube is a river.", "word " * 300)),
    ],
]
EVIDENCE = [[], [Sentence("Vienna", 0, "Vienna is the capital of Austria.")]]


def open_reranker(dtype: torch.dtype = torch.float32) -> SimilarityReranker:
    return SimilarityReranker(MeanPoolingEncoder(minilm_directory(), MINILM, dtype=dtype))


@pytest.fixture(scope="module")
def reranker() -> SimilarityReranker:
    return open_reranker()


def cosine(query: str, text: str) -> float:
    """Compute the similarity with transformers alone, one text at a time."""
    with quiet_transformers():
        tokenizer = AutoTokenizer.from_pretrained(minilm_directory(), local_files_only=True)
        model = AutoModel.from_pretrained(minilm_directory(), local_files_only=True).eval()
    means = []
    for string in (query, text):
        encoded = tokenizer(string, truncation=True, max_length=128, return_tensors="pt")
        with torch.no_grad():
            means.append(model(**encoded).last_hidden_state[0].mean(0))
    return float(torch.nn.functional.cosine_similarity(*means, dim=0))


def test_scores_are_cosine_similarities(reranker: SimilarityReranker) -> None:
    first, second = reranker.score(CLAIMS, DOCUMENTS, EVIDENCE)
    assert [s.key for s in first if s.title == "Danube"] == [s.key for s in first]
    assert {s.index for s in first} == {0, 2}  # the blank sentence is left out
    for claim, chosen, sentences in zip(CLAIMS, EVIDENCE, (first, second), strict=True):
        query = " ".join([claim, *(s.text for s in chosen)])
        assert [s.score for s in sentences] == sorted((s.score for s in sentences), reverse=True)
        for s in sentences:
            assert s.score == pytest.approx(cosine(query, f"{s.title}: {s.text}"), abs=1e-5)


def test_the_claim_limit_is_the_number_of_tokens_read(reranker: SimilarityReranker) -> None:
    def read(words: int) -> list[float]:
        claims = ["river " * words + end for end in ("Paris", "film")]
        return [
            sentences[0].score for sentences in reranker.score(claims, [DOCUMENTS[0]] * 2, [[], []])
        ]

    first, second = read(MAX_CLAIM_TOKENS - 1)
    assert first != second
    first, second = read(MAX_CLAIM_TOKENS)
    assert first == second


def test_bfloat16_hardly_changes_the_scores(reranker: SimilarityReranker) -> None:
    rounded = open_reranker(torch.bfloat16)
    assert rounded._encoder.model.encoder.layer[0].output.dense.weight.dtype == torch.bfloat16
    results = rounded.score(CLAIMS, DOCUMENTS, EVIDENCE)
    for rounded_scores, exact in zip(
        results, reranker.score(CLAIMS, DOCUMENTS, EVIDENCE), strict=True
    ):
        scores = {s.key: s.score for s in exact}
        assert {s.key: s.score for s in rounded_scores} == pytest.approx(scores, abs=0.01)


@pytest.mark.skipif(
    not low_precision.int8_is_supported(), reason="the processor does not support int8"
)
def test_int8_hardly_changes_the_scores(reranker: SimilarityReranker) -> None:
    small = open_reranker(torch.int8)
    results = small.score(CLAIMS, DOCUMENTS, EVIDENCE)
    for rounded_scores, exact in zip(
        results, reranker.score(CLAIMS, DOCUMENTS, EVIDENCE), strict=True
    ):
        scores = {s.key: s.score for s in exact}
        assert {s.key for s in rounded_scores} == set(scores)
        for s in rounded_scores:
            assert s.score == pytest.approx(scores[s.key], abs=0.03)
    alone = [
        small.score([claim], [documents], [chosen])[0]
        for claim, documents, chosen in zip(CLAIMS, DOCUMENTS, EVIDENCE, strict=True)
    ]
    for together, single in zip(results, alone, strict=True):
        assert [s.score for s in together] == pytest.approx([s.score for s in single], abs=1e-6)


def test_batches_and_the_cache_do_not_change_the_scores(
    reranker: SimilarityReranker, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = reranker.score(CLAIMS, DOCUMENTS, EVIDENCE)
    monkeypatch.setattr(similarity, "_CACHE_SIZE", 1)
    for _ in range(2):
        alone = [
            reranker.score([claim], [documents], [chosen])[0]
            for claim, documents, chosen in zip(CLAIMS, DOCUMENTS, EVIDENCE, strict=True)
        ]
        for batched, single in zip(together, alone, strict=True):
            assert [s.key for s in batched] == [s.key for s in single]
            scores = [s.score for s in single]
            assert [s.score for s in batched] == pytest.approx(scores, abs=1e-6)
    assert len(reranker._cache) == 1


def test_claims_without_documents_have_no_sentences(reranker: SimilarityReranker) -> None:
    assert reranker.score(["A claim."], [[]], [[]]) == [[]]


def test_int8_is_refused_where_it_is_not_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(low_precision, "int8_is_supported", lambda: False)
    with pytest.raises(ValueError, match="VNNI; use fp32 or bf16"):
        open_reranker(torch.int8)


class RoundedVectors:
    """Vectors of the sentences of some titles, in eight bits, as a knowledge base stores them."""

    def __init__(self, encoder: MeanPoolingEncoder, titles: set[str]) -> None:
        self.encoder, self.titles = encoder, titles

    def unit_vectors(self, sentences: Sequence[Sentence]) -> np.ndarray:
        texts = [f"{s.title}: {s.text}" for s in sentences]
        is_stored = np.array([s.title in self.titles for s in sentences])
        vectors = dequantise(quantise(np.asarray(self.encoder.unit_vectors(texts))))
        return vectors * is_stored[:, None]


@pytest.mark.parametrize("titles", [{"Danube"}, {"Danube", "Vienna"}, set()])
def test_stored_vectors_are_not_computed_and_hardly_change_the_scores(
    reranker: SimilarityReranker, titles: set[str]
) -> None:
    encoder = reranker._encoder
    with_stored = SimilarityReranker(encoder, RoundedVectors(encoder, titles))
    exact = SimilarityReranker(encoder).score(CLAIMS, DOCUMENTS, EVIDENCE)
    results = with_stored.score(CLAIMS, DOCUMENTS, EVIDENCE)
    assert {text.partition(":")[0] for text in with_stored._cache} == {"Danube", "Vienna"} - titles
    for result, expected in zip(results, exact, strict=True):
        scores = {s.key: s.score for s in expected}
        assert {s.key for s in result} == set(scores)
        for s in result:
            is_stored = s.title in titles
            assert s.score == pytest.approx(scores[s.key], abs=0.003 if is_stored else 1e-6)
            assert not is_stored or s.score != scores[s.key]


def test_the_identity_is_that_of_the_model(tmp_path: Path) -> None:
    def identity(directory: Path) -> EncoderIdentity:
        return MeanPoolingEncoder(directory, "copy").identity

    copy = tmp_path / "copy"
    shutil.copytree(minilm_directory(), copy)
    same = identity(copy)
    assert same == identity(minilm_directory())
    assert (same.name, same.width) == ("copy", 384)
    weights = load_file(copy / "model.safetensors")
    weights["embeddings.LayerNorm.bias"] = weights["embeddings.LayerNorm.bias"] + 1
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    assert identity(copy).fingerprint != same.fingerprint
