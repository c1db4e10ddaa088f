"""The whole method: first stage, rerank, prove, hop, and so on until the evidence suffices."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from types import TracebackType

import torch

from admiral.checkpoint import Checkpoint, load_checkpoint
from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, locate
from admiral.lexicons import open_lexicon
from admiral.protocols import FirstStage, HopRetriever, SentenceReranker, SufficiencyJudge
from admiral.records import (
    Claim,
    DocumentSet,
    Hop,
    RetrievalResult,
    ScoredTitle,
    Sentence,
    Stopped,
)
from admiral.stages.combined import CombinedReranker
from admiral.stages.cross_encoder import CrossEncoderReranker
from admiral.stages.evidence import choose_evidence
from admiral.stages.first_stage import Bm25FirstStage, FusedFirstStage
from admiral.stages.hop import TrieHopRetriever
from admiral.stages.mentions import MentionFinder, interleaved
from admiral.stages.ranking import rank_documents
from admiral.stages.similarity import SimilarityReranker, minilm_directory
from admiral.stages.term_matching import TermReranker
from proofs import Judgement
from proofs.generator import ProofGenerator
from proofs.judges import AlwaysSufficient, GeneratedProofJudge, LexicalJudge, NeverSufficient
from trie.inputs import claim_ids


@dataclass(frozen=True, slots=True)
class Stages:
    """The four stages; replace one to try another (see `admiral.protocols`)."""

    first: FirstStage
    reranker: SentenceReranker
    judge: SufficiencyJudge
    retriever: HopRetriever


@dataclass(slots=True)
class _Progress:
    """One claim on its way through the hops."""

    claim: Claim
    candidates: list[ScoredTitle]
    sets: list[list[DocumentSet]] = field(default_factory=list)
    hops: list[Hop] = field(default_factory=list)
    read: list[list[str]] = field(default_factory=list)
    stopped: Stopped | None = None

    @property
    def evidence(self) -> tuple[Sentence, ...]:
        return self.hops[-1].evidence if self.hops else ()


class Admiral:
    """Retrieves the documents and sentences that verify claims.

    Parameters
    ----------
    kb
        The open knowledge base; closed together with this object.
    checkpoint
        The model that the stages share.
    config
        Settings.
    stages
        The four stages; built from the settings where not given.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        checkpoint: Checkpoint,
        config: RetrievalConfig,
        stages: Stages | None = None,
    ) -> None:
        config.validate()
        self.kb, self.checkpoint, self.config = kb, checkpoint, config
        self.stages = stages or build_stages(kb, checkpoint, config)
        self._mentions = MentionFinder(kb) if config.mentions else None

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path | None = None,
        kb: str | Path | None = None,
        *,
        config: RetrievalConfig | None = None,
    ) -> Admiral:
        """Open a checkpoint and a knowledge base, by name or directory.

        Raises
        ------
        AdmiralError
            If either does not exist or is damaged, or a setting makes no sense.
        """
        config = replace(config or RetrievalConfig())
        config.model, config.kb = str(model or config.model), str(kb or config.kb)
        config.validate()
        if config.threads:
            torch.set_num_threads(config.threads)
        checkpoint = load_checkpoint(config.model, _device(config.device), _dtype(config))
        opened = KnowledgeBase.open(
            locate(config.kb),
            bm25=None if config.bm25 == "auto" else config.bm25,
            title_weight=config.title_weight,
            text_weight=config.text_weight,
        )
        try:
            return cls(opened, checkpoint, config)
        except BaseException:
            opened.close()
            raise

    def retrieve(self, claim: str | Claim, hops: str | int | None = None) -> RetrievalResult:
        """Retrieve for one claim; `hops` is ``dynamic`` or a number, the setting by default."""
        one = Claim("1", claim) if isinstance(claim, str) else claim
        return next(self.retrieve_many([one], hops=hops))

    def retrieve_many(
        self, claims: Iterable[Claim], hops: str | int | None = None
    ) -> Iterator[RetrievalResult]:
        """Yield a result for each claim, in order; `batch_size` claims travel together."""
        config = replace(self.config)
        config.hops = config.hops if hops is None else str(hops)
        config.validate()
        stream = iter(claims)
        while batch := list(islice(stream, config.batch_size)):
            yield from self._batch(batch, config)

    def prove(self, claim: str, evidence: Sequence[tuple[str, str]]) -> Judgement:
        """Judge a claim against (title, sentence) pairs by the judge of the settings."""
        return self.stages.judge.judge([claim], [evidence])[0]

    def _batch(self, claims: Sequence[Claim], config: RetrievalConfig) -> list[RetrievalResult]:
        for claim in claims:
            if not claim.text.strip():
                raise AdmiralError(f"claim {claim.id!r}: is empty; give a sentence to verify")
        began = time.perf_counter()
        dynamic = config.hops == "dynamic"
        limit = config.max_hops if dynamic else int(config.hops)
        found = self.stages.first.candidates([c.text for c in claims], config.first_stage_documents)
        everyone = [_Progress(c, titles) for c, titles in zip(claims, found, strict=True)]
        for number in range(1, limit + 1):
            active = [p for p in everyone if p.stopped is None]
            if not active:
                break
            if number > 1:
                began = time.perf_counter()
                self._expand(active, number - 1)
                active = [p for p in active if p.stopped is None]
            may_stop = dynamic and number >= min(config.min_hops, limit)
            self._hop(active, number, config, began, stop=may_stop)
            for progress in active:
                if progress.stopped is None and number == limit:
                    progress.stopped = "max_hops"
        return [self._result(p, config) for p in everyone]

    def _expand(self, active: Sequence[_Progress], hop: int) -> None:
        """Find the document sets of the next hop, and mark the claims that have none."""
        expanded = self.stages.retriever.expand(
            [p.claim.text for p in active], [p.evidence for p in active], hop
        )
        for progress, sets in zip(active, expanded, strict=True):
            if sets:
                progress.sets.append(sets)
            else:
                progress.stopped = "dead_end"

    def _hop(
        self,
        active: Sequence[_Progress],
        number: int,
        config: RetrievalConfig,
        began: float,
        *,
        stop: bool,
    ) -> None:
        """Rerank, choose the evidence and judge it, for all claims that are still under way."""
        texts = [p.claim.text for p in active]
        scored = self.stages.reranker.score(
            texts,
            [
                [
                    self.kb.document(t)
                    for t in _titles(p, number, self._mentions, config.rerank_documents)
                ]
                for p in active
            ],
            [_kept(p, number) for p in active],
        )
        evidence = [
            choose_evidence(s, config.evidence, config.evidence_per_document) for s in scored
        ]
        judgements = self.stages.judge.judge(
            texts, [[(s.title, s.text) for s in sentences] for sentences in evidence]
        )
        seconds = (time.perf_counter() - began) / max(len(active), 1)
        for progress, sentences, chosen, judgement in zip(
            active, scored, evidence, judgements, strict=True
        ):
            progress.read.append(list(dict.fromkeys(s.title for s in sentences)))
            if number == 1:
                progress.sets.append(_first_sets(progress.candidates, sentences))
            progress.hops.append(
                Hop(
                    number,
                    tuple(progress.sets[-1][: config.beam_size]),
                    chosen,
                    judgement.proof,
                    judgement.sufficient,
                    seconds,
                )
            )
            if not chosen:
                progress.stopped = "dead_end"
            elif stop and judgement.sufficient:
                progress.stopped = "sufficient"

    def _result(self, progress: _Progress, config: RetrievalConfig) -> RetrievalResult:
        ranking = rank_documents(
            progress.sets,
            progress.candidates,
            config.top_k,
            read=progress.read,
            named=self._mentions.in_text(progress.claim.text) if self._mentions else (),
            fused=config.ranking == "fused",
        )
        return RetrievalResult(
            progress.claim,
            tuple(ranking),
            progress.evidence,
            tuple(progress.hops),
            progress.stopped or "dead_end",
            self._warnings(progress.claim.text),
        )

    def _warnings(self, claim: str) -> tuple[str, ...]:
        """Say which end of a claim the model did not see."""
        room = self.checkpoint.model.max_source // 2
        tokens = self.checkpoint.tokens
        ids, cut = claim_ids(tokens, "retrieve", claim, room)
        if not cut:
            return ()
        seen = len(ids) - 2 - (tokens.task("retrieve") is not None)
        _, spans = tokens.encode_with_offsets(claim)
        rest = claim[spans[seen][0] :]
        shown = rest if len(rest) <= 60 else rest[:60] + "…"
        return (
            f"the claim has {len(spans)} tokens, the model reads {seen} of them beside evidence; "
            f"cut from: {shown!r}",
        )

    def close(self) -> None:
        """Close the knowledge base."""
        self.kb.close()

    def __enter__(self) -> Admiral:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def build_stages(kb: KnowledgeBase, checkpoint: Checkpoint, config: RetrievalConfig) -> Stages:
    """Build the stages that the settings name."""
    retriever = TrieHopRetriever(
        checkpoint.model,
        checkpoint.tokens,
        kb.title_trie(checkpoint.tokens),
        kb,
        beam_size=config.beam_size,
        title_beams=max(config.title_beams, 1),
        normalise=config.trie_normalised,
    )
    generator = retriever if config.title_beams else None
    mentions = MentionFinder(kb) if config.mentions else None
    first: FirstStage = Bm25FirstStage(kb)
    if generator or mentions:
        first = FusedFirstStage(kb, generator, mentions)
    return Stages(first, _reranker(checkpoint, config), _judge(checkpoint, config), retriever)


def _reranker(checkpoint: Checkpoint, config: RetrievalConfig) -> SentenceReranker:
    if config.reranker == "cross-encoder":
        return CrossEncoderReranker(checkpoint)
    if config.reranker == "bm25":
        return TermReranker()
    similarity = SimilarityReranker(
        minilm_directory(), device=_device(config.device), dtype=_dtype(config)
    )
    if config.reranker == "similarity":
        return similarity
    return CombinedReranker([CrossEncoderReranker(checkpoint), similarity, TermReranker()])


def _judge(checkpoint: Checkpoint, config: RetrievalConfig) -> SufficiencyJudge:
    match config.judge:
        case "never":
            return NeverSufficient()
        case "always":
            return AlwaysSufficient()
        case "lexical":
            return LexicalJudge(open_lexicon(config))
        case _:
            return GeneratedProofJudge(ProofGenerator(checkpoint.model, checkpoint.tokens))


def _device(name: str) -> str:
    if name != "auto":
        if name.startswith("cuda") and not torch.cuda.is_available():
            raise AdmiralError(f"device {name!r}: no GPU is visible; use --device cpu")
        return name
    return "cuda" if torch.cuda.is_available() else "cpu"


def _dtype(config: RetrievalConfig) -> torch.dtype:
    return torch.bfloat16 if config.precision == "bf16" else torch.float32


def _titles(
    progress: _Progress, number: int, mentions: MentionFinder | None, count: int
) -> list[str]:
    """Return the documents to read at a hop: `count`, or more for one beside the evidence so far.

    At first these are the candidates; later the evidence so far and, by turns, the documents of
    the hop's sets, those that the evidence mentions, and the first candidates once more: what one
    of them is about may be understood only now.
    """
    candidates = [c.title for c in progress.candidates]
    if number == 1:
        return candidates[:count]
    found = dict.fromkeys(t for one in progress.sets[-1] for t in one.titles)
    named = mentions.in_evidence(progress.evidence) if mentions else []
    read = dict.fromkeys(s.title for s in progress.evidence)
    everything = dict.fromkeys([*read, *interleaved(list(found), named, candidates)])
    return list(everything)[: max(count, len(read) + 1)]


def _kept(progress: _Progress, number: int) -> list[Sentence]:
    """Return the sentences of the best set's kept documents, which the reranker reads besides."""
    if number == 1 or not progress.sets[-1]:
        return []
    kept = progress.sets[-1][0].titles[:-1]
    best = {s.title: s for s in reversed(progress.evidence)}  # the first, so the best, wins
    return [best[title] for title in kept if title in best]


def _first_sets(
    candidates: Sequence[ScoredTitle], sentences: Sequence[Sentence]
) -> list[DocumentSet]:
    """Return `D_1`: single documents in the order of their best sentences, unread ones last."""
    best: dict[str, float] = {}
    for sentence in sentences:
        best.setdefault(sentence.title, sentence.score)
    read = sorted((c for c in candidates if c.title in best), key=lambda c: -best[c.title])
    rest = [c for c in candidates if c.title not in best]
    return [DocumentSet((c.title,), c.score) for c in [*read, *rest]]
