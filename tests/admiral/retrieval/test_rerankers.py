"""BM25 over the sentences of a claim's candidates."""

import math
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoTokenizer

from admiral.kb.vectors import dequantise, quantise
from admiral.records import Document, Sentence
from admiral.requirements import MINILM, minilm_directory
from admiral.retrieval import rerankers
from admiral.retrieval.rerankers import (
    BM25Reranker,
    CombinedReranker,
    MeanPoolingEncoder,
    SimilarityReranker,
)
from trie.seq2seq import quiet_transformers

EMMY_AND_COMEDIAN = [
    Document("Emmy", ("The awards were hosted by a comedian.", "They are given each year.")),
    Document("Comedian", ("A comedian tells jokes.", "")),
]


def test_scores_equal_the_bm25_formula():
    (sentences,) = BM25Reranker().score(["Jokes by comedians"], [EMMY_AND_COMEDIAN], [[]])
    assert (sentences[0].title, sentences[0].index) == ("Comedian", 0)
    # With their titles, the sentences have 5, 4 and 4 terms; "joke" occurs in one of the three,
    # "comedian" in two. The blank sentence is left out.
    lengths = {("Emmy", 0): 5, ("Emmy", 1): 4, ("Comedian", 0): 4}
    mean = sum(lengths.values()) / 3

    def weight(document_frequency, frequency, length):
        idf = math.log(1 + (3 - document_frequency + 0.5) / (document_frequency + 0.5))
        return idf * frequency / (frequency + 0.9 * (0.6 + 0.4 * length / mean))

    expected = {
        ("Emmy", 0): weight(2, 1, 5),
        ("Emmy", 1): 0.0,
        ("Comedian", 0): weight(2, 2, 4) + weight(1, 1, 4),
    }
    assert {s.key: pytest.approx(s.score, rel=1e-4) for s in sentences} == expected
    assert [s.score for s in sentences] == sorted((s.score for s in sentences), reverse=True)


def test_claims_without_shared_terms_or_without_documents():
    no_match, no_documents = BM25Reranker().score(
        ["Zebra", "Zebra"], [EMMY_AND_COMEDIAN, []], [[], []]
    )
    assert [s.score for s in no_match] == [0.0] * 3
    assert [s.key for s in no_match] == sorted(s.key for s in no_match)
    assert no_documents == []


def test_documents_without_terms():
    (sentences,) = BM25Reranker().score(["the"], [[Document("The", ("", "of the"))]], [[]])
    assert [(s.index, s.score) for s in sentences] == [(1, 0.0)]


CLAIMS = ["The Danube flows through Vienna.", "A comedian was born in 1973."]
DOCUMENTS = [
    [Document("Danube", ("The Danube is a river.", " ", "It flows through four capitals."))],
    [
        Document("Vienna", ("Vienna is the capital of Austria.",)),
        Document("Danube", ("The Danube is a river.", "word " * 300)),
    ],
]
EVIDENCE = [[], [Sentence("Vienna", 0, "Vienna is the capital of Austria.")]]


def open_reranker(dtype=torch.float32):
    return SimilarityReranker(MeanPoolingEncoder(minilm_directory(), MINILM, dtype=dtype))


@pytest.fixture(scope="module")
def reranker():
    return open_reranker()


def cosine(query, text):
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


def test_scores_are_cosine_similarities(reranker):
    first, second = reranker.score(CLAIMS, DOCUMENTS, EVIDENCE)
    assert [s.key for s in first if s.title == "Danube"] == [s.key for s in first]
    assert {s.index for s in first} == {0, 2}  # the blank sentence is left out
    for claim, chosen, sentences in zip(CLAIMS, EVIDENCE, (first, second), strict=True):
        query = " ".join([claim, *(s.text for s in chosen)])
        assert [s.score for s in sentences] == sorted((s.score for s in sentences), reverse=True)
        for s in sentences:
            assert s.score == pytest.approx(cosine(query, f"{s.title}: {s.text}"), abs=1e-5)


def test_the_claim_limit_is_the_number_of_tokens_read(reranker):
    def read(words):
        claims = ["river " * words + end for end in ("Paris", "film")]
        return [
            sentences[0].score for sentences in reranker.score(claims, [DOCUMENTS[0]] * 2, [[], []])
        ]

    limit = reranker.claim_limits["the sentence encoder"]
    first, second = read(limit - 1)
    assert first != second
    first, second = read(limit)
    assert first == second


def test_bfloat16_hardly_changes_the_scores(reranker):
    rounded = open_reranker(torch.bfloat16)
    assert rounded._encoder.model.encoder.layer[0].output.dense.weight.dtype == torch.bfloat16
    results = rounded.score(CLAIMS, DOCUMENTS, EVIDENCE)
    for rounded_scores, exact in zip(
        results, reranker.score(CLAIMS, DOCUMENTS, EVIDENCE), strict=True
    ):
        scores = {s.key: s.score for s in exact}
        assert {s.key: s.score for s in rounded_scores} == pytest.approx(scores, abs=0.01)


def test_batches_and_the_cache_do_not_change_the_scores(reranker, monkeypatch):
    together = reranker.score(CLAIMS, DOCUMENTS, EVIDENCE)
    monkeypatch.setattr(rerankers, "_CACHE_SIZE", 1)
    for _ in range(2):
        alone = [
            reranker.score([claim], [documents], [chosen])[0]
            for claim, documents, chosen in zip(CLAIMS, DOCUMENTS, EVIDENCE, strict=True)
        ]
        for batched, single in zip(together, alone, strict=True):
            assert [s.key for s in batched] == [s.key for s in single]
            scores = [s.score for s in single]
            assert [s.score for s in batched] == pytest.approx(scores, abs=1e-6)


def test_claims_without_documents_have_no_sentences(reranker):
    assert reranker.score(["A claim."], [[]], [[]]) == [[]]


class RoundedVectors:
    """Vectors of the sentences of some titles, in eight bits, as a knowledge base stores them."""

    def __init__(self, encoder, titles):
        self.encoder, self.titles = encoder, titles

    def unit_vectors(self, sentences):
        texts = [f"{s.title}: {s.text}" for s in sentences]
        is_stored = np.array([s.title in self.titles for s in sentences])
        vectors = dequantise(quantise(np.asarray(self.encoder.unit_vectors(texts))))
        return vectors * is_stored[:, None]


@pytest.mark.parametrize("titles", [{"Danube"}, {"Danube", "Vienna"}, set()])
def test_stored_vectors_are_not_computed_and_hardly_change_the_scores(reranker, titles):
    encoder = reranker._encoder
    with_stored = SimilarityReranker(encoder, RoundedVectors(encoder, titles).unit_vectors)
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


def test_the_identity_is_that_of_the_model(tmp_path):
    def identity(directory):
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


class FakeReranker:
    """Returns given scores."""

    def __init__(self, scores):
        self._scores = scores

    def score(self, claims, documents, evidence):
        return [
            [
                Sentence(d.title, i, text, self._scores[d.title, i])
                for d in claim_documents
                for i, text in enumerate(d.sentences)
            ]
            for claim_documents in documents
        ]


TWO_DOCUMENTS = [[Document("a", ("x", "y")), Document("b", ("z",))]]


def order(*scores):
    combined = CombinedReranker([FakeReranker(s) for s in scores])
    (sentences,) = combined.score(["claim"], TWO_DOCUMENTS, [[]])
    return [(s.title, s.index) for s in sentences]


def test_equal_scores_and_no_documents():
    same = {("a", 0): 1.0, ("a", 1): 1.0, ("b", 0): 1.0}
    assert order(same) == [("a", 0), ("a", 1), ("b", 0)]
    assert CombinedReranker([FakeReranker({})]).score(["claim"], [[]], [[]]) == [[]]


def test_scores_are_means_of_z_scores():
    first, second = (
        {("a", 0): 1.0, ("a", 1): 0.5, ("b", 0): 0.0},
        {("a", 0): 1, ("a", 1): 0, ("b", 0): 0.5},
    )
    combined = CombinedReranker([FakeReranker(first), FakeReranker(second)])
    (sentences,) = combined.score(["claim"], TWO_DOCUMENTS, [[]])
    scores = {s.key: s.score for s in sentences}
    # Their z-scores are ±1.2247 and 0.
    assert scores == pytest.approx(
        {("a", 0): 1.2247, ("a", 1): -1.2247 / 2, ("b", 0): -1.2247 / 2}, abs=1e-3
    )
