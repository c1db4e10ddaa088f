"""Negatives from BM25 and from the beams of a model."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from admiral import Admiral, RetrievalConfig
from admiral.gold import read_gold
from training.data.evidence_corpora import BeamNegatives, Bm25Negatives

DEMO = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"


def test_negatives_of_beams_are_wrong_documents_of_the_model(user_cache: None) -> None:
    claims = [claim for claim in read_gold(DEMO) if len(claim.titles) > 1][:2]
    config = RetrievalConfig(judge="never", beam_size=4, title_beams=2, rerank_documents=6)
    with Admiral.from_pretrained("mini", kb="demo", config=config) as system:
        searched = Bm25Negatives(system.kb, 20)
        of_beams = BeamNegatives(system, searched).find(claims)
        of_search = searched.find(claims)
    for claim, negatives, other in zip(claims, of_beams, of_search, strict=True):
        titles = [document.title for document in negatives.documents]
        assert not set(titles) & set(claim.titles)
        assert len(titles) == len(set(titles)) >= len(other.documents)
        assert titles != [document.title for document in other.documents]
        assert not {pair[0] for pair in negatives.sentences} & set(claim.titles)
