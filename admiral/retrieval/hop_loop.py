"""One hop of a batch of claims, each of which may be at another one."""

from __future__ import annotations

import time
from collections.abc import Sequence

from admiral.config import RetrievalConfig
from admiral.kb import KnowledgeBase
from admiral.ranking.document_scorer import Relevance
from admiral.ranking.features import document_clues
from admiral.records import Hop, Sentence
from admiral.reranking.long_documents import shortened
from admiral.retrieval.evidence import choose_evidence, favoured, weighed
from admiral.retrieval.mentions import MentionFinder
from admiral.retrieval.score_checks import plain_scores
from admiral.retrieval.stage_assembly import Stages
from admiral.retrieval.state import Progress


class Hops:
    """Makes hops: find documents, rerank their sentences, choose evidence and judge it.

    Parameters
    ----------
    kb
        The documents.
    stages
        The four stages.
    mentions
        Finds what evidence mentions; None to do without.
    config
        Settings.
    relevance
        What tells which documents belong to the evidence; None to choose by sentences alone.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        stages: Stages,
        mentions: MentionFinder | None,
        config: RetrievalConfig,
        relevance: Relevance | None = None,
    ) -> None:
        self._relevance = relevance
        self._kb, self._stages, self._mentions, self._config = kb, stages, mentions, config
        self._dynamic = config.hops == "dynamic"
        self._limit = config.max_hops if self._dynamic else int(config.hops)

    def step(self, batch: Sequence[Progress]) -> None:
        """Take each claim one hop on, and mark those that stop.

        If it fails on the way and is called again, it goes on behind the part that was completed
        last.
        """
        began = time.perf_counter()
        batch = [p for p in batch if p.stopped is None]
        if new := [p for p in batch if p.candidates is None]:
            self._search(new)
        if further := [p for p in batch if p.hops and len(p.sets) == len(p.hops)]:
            self._expand(further)
        if reading := [p for p in batch if p.stopped is None]:
            self._read(reading, began)

    def _search(self, batch: Sequence[Progress]) -> None:
        """Ask the first stage, and find what the claims name."""
        found = self._stages.first.candidates(
            [p.claim.text for p in batch], self._config.first_stage_documents
        )
        for progress, titles in zip(batch, found, strict=True):
            if self._mentions is not None:
                progress.named = self._mentions.in_text(progress.claim.text)
            progress.candidates = plain_scores("first", titles)

    def _expand(self, batch: Sequence[Progress]) -> None:
        """Find the document sets of the next hop, and mark the claims that have none."""
        expanded = self._stages.retriever.expand(
            [p.claim.text for p in batch],
            [p.evidence for p in batch],
            [len(p.hops) for p in batch],
        )
        for progress, sets in zip(batch, expanded, strict=True):
            if usable := plain_scores("retriever", sets):
                progress.sets.append(usable)
            else:
                progress.stopped = "dead_end"

    def _read(self, batch: Sequence[Progress], began: float) -> None:
        """Rerank the documents' sentences, choose the evidence and judge it."""
        config = self._config
        texts = [p.claim.text for p in batch]
        documents = [
            [
                shortened(p.claim.text, self._kb.document(title), config.rerank_sentences)
                for title in p.to_read(config.rerank_documents)
            ]
            for p in batch
        ]
        kept = [p.kept() for p in batch]
        scored = [
            favoured(plain_scores("reranker", sentences), p.mentioned)
            for p, sentences in zip(
                batch, self._stages.reranker.score(texts, documents, kept), strict=True
            )
        ]
        chosen = [self._choose(*pair) for pair in zip(batch, scored, strict=True)]
        evidence = [sentences for sentences, _ in chosen]
        judgements = self._stages.judge.judge(
            texts, [[(s.title, s.text) for s in sentences] for sentences in evidence]
        )
        seconds = (time.perf_counter() - began) / len(batch)
        for progress, sentences, (found, linked), judgement in zip(
            batch, scored, chosen, judgements, strict=True
        ):
            progress.note_read(sentences)
            progress.linked.append(linked)
            hop = Hop(
                len(progress.hops) + 1,
                tuple(progress.sets[-1][: config.beam_size]),
                found,
                judgement.proof,
                judgement.sufficient,
                seconds,
                tuple(progress.read[-1]),
            )
            progress.hops.append(hop)
            self._may_stop(progress, hop)

    def _choose(
        self, progress: Progress, scored: Sequence[Sentence]
    ) -> tuple[tuple[Sentence, ...], list[str]]:
        """Return the evidence among the scored sentences, and the documents that it mentions.

        What tells relevant documents asks which of them give evidence; so the first choice, by the
        sentences alone, is for this.
        """
        evidence = self._best(scored)
        linked = self._mentioned(evidence)
        if self._relevance is None:
            return evidence, linked
        clues = document_clues(progress.supposing(scored, evidence, linked))
        read = dict.fromkeys(s.title for s in scored)
        relevance = {title: self._relevance.score(clues[title]) for title in read}
        evidence = self._best(weighed(scored, relevance))
        return evidence, self._mentioned(evidence)

    def _best(self, scored: Sequence[Sentence]) -> tuple[Sentence, ...]:
        return choose_evidence(scored, self._config.evidence, self._config.evidence_per_document)

    def _mentioned(self, evidence: Sequence[Sentence]) -> list[str]:
        return self._mentions.in_evidence(evidence) if self._mentions else []

    def _may_stop(self, progress: Progress, hop: Hop) -> None:
        least = min(self._config.min_hops, self._limit)
        if not hop.evidence:
            progress.stopped = "dead_end"
        elif self._dynamic and hop.sufficient and hop.number >= least:
            progress.stopped = "sufficient"
        elif hop.number == self._limit:
            progress.stopped = "max_hops"
