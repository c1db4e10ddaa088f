"""Corpora of additional documents and of passages, and messages about missing evidence."""

from __future__ import annotations

from pathlib import Path

from admiral.kb import KnowledgeBase, demo_kb
from training.data.evidence_corpora import (
    ExtendedCorpus,
    PassageCorpus,
    missing_evidence,
    read_documents,
)


def test_extended_and_passage_corpora(user_cache: None, tmp_path: Path) -> None:
    pages = tmp_path / "pages.jsonl"
    pages.write_text('{"title": "Nowhere", "sentences": ["It is not."]}\n')
    documents = read_documents([pages])
    with KnowledgeBase.open(demo_kb("bm25s")) as kb:
        corpus = ExtendedCorpus(kb, documents)
        assert corpus.row("Nowhere") == -1 and corpus.row("Seth Meyers") == kb.row("Seth Meyers")
        assert missing_evidence(corpus, (("Nowhere", 0), ("Seth Meyers", 0))) is None
        assert missing_evidence(corpus, (("Nowhere", 1),)) == (
            "'Nowhere' has no sentence 1: it has 1, counted from 0"
        )
        assert corpus.search(["comedian"], 3) == kb.search(["comedian"], 3)
    passages = PassageCorpus(documents.values())
    assert passages.row("Nowhere") == 0 and passages.row("Erewhon") is None
    assert [one.title for one in passages.search(["anything"], 5)[0]] == ["Nowhere"]
