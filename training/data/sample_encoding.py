"""Encode samples as token ids: encoder inputs and decoder targets."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial

from admiral.reranking.encoder_inputs import RerankPass, rerank_passes
from proofs import NatOp, ProofError, target_ids
from proofs.generation.source_input import evidence_input
from training.data.continuations import Target
from training.data.samples import ProveSample, RerankSample, RetrieveSample, Sample
from training.loop.guided_attention import alignment
from trie import Tokens
from trie.model.tokens import IDENTIFIERS

# Starting processes takes seconds, encoding a sample a millisecond.
_MIN_CORES, _MIN_SAMPLES = 4, 20_000


@dataclass(frozen=True, slots=True)
class GenerationExample:
    """An encoder input and its valid targets, as token ids.

    Attributes
    ----------
    source
        The encoder's input.
    targets
        The valid output sequences, each with its end token.
    copies
        Pairs (target position, source position) of `training.loop.guided_attention.alignment`;
        positions count through all targets, one after the other.
    """

    source: list[int]
    targets: list[list[int]]
    copies: list[tuple[int, int]]

    @property
    def length(self) -> int:
        """Total number of target tokens."""
        return sum(map(len, self.targets))


@dataclass(frozen=True, slots=True)
class RerankingExample:
    """The encoder passes of the reranker for one claim; `gold` marks its gold sentences."""

    passes: list[RerankPass]
    gold: list[list[bool]]


def encode(
    tokens: Tokens, sample: Sample, max_source: int, max_target: int, target: str = "sentences"
) -> GenerationExample | RerankingExample | None:
    """Return a sample as token ids; None if it is too long.

    `target` is the setting of that name (see `training.run_config.TrainConfig`).
    """
    if isinstance(sample, RerankSample):
        return _group(tokens, sample, max_source)
    task = "prove" if isinstance(sample, ProveSample) else "retrieve"
    hop = None
    if isinstance(sample, RetrieveSample):
        hop = min(sample.hop, len({title for title, _ in sample.evidence}))
    source = evidence_input(tokens, task, sample.claim, sample.evidence, max_source, hop)
    if source.cut:
        return None  # the target may refer to the cut text, which would teach guessing
    if isinstance(sample, RetrieveSample):
        targets = [
            titles_target(tokens, sample.evidence, one)
            if target == "titles"
            else retrieval_target(tokens, one)
            for one in sample.targets()
        ]
        short = [ids for ids in targets if len(ids) <= max_target]
        return _pair(tokens, source.ids, short) if short else None
    try:
        ids = target_ids(tokens, sample.proof, sample.claim, sample.evidence, max_length=max_target)
    except ProofError:
        return None
    return _pair(tokens, source.ids, [ids])


def encode_all(
    tokens: Tokens,
    samples: Sequence[Sample],
    max_source: int,
    max_target: int,
    target: str = "sentences",
    workers: int | None = None,
) -> list[GenerationExample | RerankingExample | None]:
    """Encode many samples, in several processes if there are enough samples and cores.

    Parameters
    ----------
    workers
        Number of processes. By default one per core, shared with the other processes of the run,
        or this process alone for few samples.
    """
    one = partial(encode, tokens, max_source=max_source, max_target=max_target, target=target)
    if workers is None:
        cores = len(os.sched_getaffinity(0)) // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        workers = cores if cores >= _MIN_CORES and len(samples) >= _MIN_SAMPLES else 1
    if workers == 1:
        return [one(sample) for sample in samples]
    # A process that uses a GPU must not fork.
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(one, samples, chunksize=256))


def _pair(tokens: Tokens, source: list[int], targets: list[list[int]]) -> GenerationExample:
    symbols, alone = _marks(tokens)
    copies: list[tuple[int, int]] = []
    before = 0
    for target in targets:
        found = alignment(source, target, alone)
        copies += [(before + i, j) for i, j in found if target[i] not in symbols]
        before += len(target)
    return GenerationExample(source, targets, copies)


@cache
def _marks(tokens: Tokens) -> tuple[frozenset[int], frozenset[int]]:
    """Return the tokens that are generated rather than copied, and these plus identifiers.

    Identifiers are not part of a text either, but they are copied from the source.
    """
    symbols = {tokens.symbol(s) for s in "[]{}"} | {tokens.eos}
    symbols |= {tokens.symbol(op.value) for op in NatOp}
    identifiers = set()
    if tokens.task("retrieve") is not None:
        identifiers = {tokens.identifier(i) for i in range(IDENTIFIERS)}
    return frozenset(symbols), frozenset(symbols | identifiers)


def retrieval_target(tokens: Tokens, target: Target) -> list[int]:
    """Return ``e_i e_j [ title ] </s>``."""
    identifiers = [tokens.identifier(i) for i in target.identifiers]
    return [*identifiers, *_bracketed(tokens, target.title), tokens.eos]


def titles_target(tokens: Tokens, evidence: Sequence[tuple[str, str]], target: Target) -> list[int]:
    """Return ``[ title ] ... [ title ] </s>``, with titles in place of identifiers."""
    titles = [*(evidence[i][0] for i in target.identifiers), target.title]
    return [*(token for title in titles for token in _bracketed(tokens, title)), tokens.eos]


def _bracketed(tokens: Tokens, title: str) -> list[int]:
    return [tokens.symbol("["), *tokens.encode(title), tokens.symbol("]")]


def _group(tokens: Tokens, sample: RerankSample, max_source: int) -> RerankingExample | None:
    passes: list[RerankPass] = []
    gold: list[list[bool]] = []
    for document in sample.documents:
        for one in rerank_passes(
            tokens, sample.claim, sample.evidence, document.title, document.sentences, max_source
        ):
            marks = [number in document.relevant for number, _, _ in one.spans]
            # One pass of a long negative document is enough.
            if not passes or one.spans[0][0] == 0 or any(marks):
                passes.append(one)
                gold.append(marks)
    flat = [mark for marks in gold for mark in marks]
    return RerankingExample(passes, gold) if any(flat) and not all(flat) else None
