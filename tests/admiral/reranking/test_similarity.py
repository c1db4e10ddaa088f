"""Cosines of sentence embeddings, beside the encoder's own way of computing them."""

from __future__ import annotations

import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from admiral.models.checkpoint import quiet
from admiral.records import Document, Sentence
from admiral.reranking import similarity
from admiral.reranking.similarity import CLAIM_TOKENS, SimilarityReranker, minilm_directory
from trie.model import int8

CLAIMS = ["The Danube flows through Vienna.", "A comedian was born in 1973."]
DOCUMENTS = [
    [Document("Danube", ("The Danube is a river.", " ", "It flows through four capitals."))],
    [
        Document("Vienna", ("Vienna is the capital of Austria.",)),
        Document("Danube", ("The Danube is a river.", "word " * 300)),
    ],
]
EVIDENCE = [[], [Sentence("Vienna", 0, "Vienna is the capital of Austria.")]]


@pytest.fixture(scope="module")
def reranker() -> SimilarityReranker:
    return SimilarityReranker(minilm_directory())


def cosine(query: str, text: str) -> float:
    """By transformers alone, one text at a time."""
    with quiet():
        tokenizer = AutoTokenizer.from_pretrained(minilm_directory(), local_files_only=True)
        model = AutoModel.from_pretrained(minilm_directory(), local_files_only=True).eval()
    means = []
    for one in (query, text):
        encoded = tokenizer(one, truncation=True, max_length=128, return_tensors="pt")
        with torch.no_grad():
            means.append(model(**encoded).last_hidden_state[0].mean(0))
    return float(torch.nn.functional.cosine_similarity(*means, dim=0))


def test_scores_are_cosines(reranker: SimilarityReranker) -> None:
    first, second = reranker.score(CLAIMS, DOCUMENTS, EVIDENCE)
    assert [s.key for s in first if s.title == "Danube"] == [s.key for s in first]
    assert {s.index for s in first} == {0, 2}  # the blank one is no evidence
    for claim, chosen, found in zip(CLAIMS, EVIDENCE, (first, second), strict=True):
        query = " ".join([claim, *(s.text for s in chosen)])
        assert [s.score for s in found] == sorted((s.score for s in found), reverse=True)
        for s in found:
            assert s.score == pytest.approx(cosine(query, f"{s.title}: {s.text}"), abs=1e-5)


def test_so_many_tokens_of_a_claim_are_read(reranker: SimilarityReranker) -> None:
    def read(words: int) -> list[float]:
        claims = ["river " * words + end for end in ("Paris", "film")]
        return [one[0].score for one in reranker.score(claims, [DOCUMENTS[0]] * 2, [[], []])]

    one, other = read(CLAIM_TOKENS - 1)
    assert one != other
    one, other = read(CLAIM_TOKENS)
    assert one == other


def test_in_bfloat16_cosines_are_nearly_the_same(reranker: SimilarityReranker) -> None:
    rounded = SimilarityReranker(minilm_directory(), dtype=torch.bfloat16)
    assert rounded._model.encoder.layer[0].output.dense.weight.dtype == torch.bfloat16
    found = rounded.score(CLAIMS, DOCUMENTS, EVIDENCE)
    for mine, exact in zip(found, reranker.score(CLAIMS, DOCUMENTS, EVIDENCE), strict=True):
        scores = {s.key: s.score for s in exact}
        assert {s.key: s.score for s in mine} == pytest.approx(scores, abs=0.01)


@pytest.mark.skipif(not int8.int8_works(), reason="the processor has no int8")
def test_in_eight_bits_cosines_are_nearly_the_same(reranker: SimilarityReranker) -> None:
    small = SimilarityReranker(minilm_directory(), dtype=torch.int8)
    found = small.score(CLAIMS, DOCUMENTS, EVIDENCE)
    for mine, exact in zip(found, reranker.score(CLAIMS, DOCUMENTS, EVIDENCE), strict=True):
        scores = {s.key: s.score for s in exact}
        assert {s.key for s in mine} == set(scores)
        for s in mine:
            assert s.score == pytest.approx(scores[s.key], abs=0.03)
    alone = [
        small.score([claim], [documents], [chosen])[0]
        for claim, documents, chosen in zip(CLAIMS, DOCUMENTS, EVIDENCE, strict=True)
    ]
    for one, other in zip(found, alone, strict=True):
        assert [s.score for s in one] == pytest.approx([s.score for s in other], abs=1e-6)


def test_a_batch_and_what_is_remembered_change_nothing(
    reranker: SimilarityReranker, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = reranker.score(CLAIMS, DOCUMENTS, EVIDENCE)
    monkeypatch.setattr(similarity, "_REMEMBERED", 1)
    for _ in range(2):
        alone = [
            reranker.score([claim], [documents], [chosen])[0]
            for claim, documents, chosen in zip(CLAIMS, DOCUMENTS, EVIDENCE, strict=True)
        ]
        for one, other in zip(together, alone, strict=True):
            assert [s.key for s in one] == [s.key for s in other]
            assert [s.score for s in one] == pytest.approx([s.score for s in other], abs=1e-6)
    assert len(reranker._known) == 1


def test_claims_without_documents_have_no_sentences(reranker: SimilarityReranker) -> None:
    assert reranker.score(["A claim."], [[]], [[]]) == [[]]


def test_eight_bits_are_refused_where_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(int8, "int8_works", lambda: False)
    with pytest.raises(ValueError, match="VNNI; use fp32 or bf16"):
        SimilarityReranker(minilm_directory(), dtype=torch.int8)
