"""Encode samples as token ids: encoder inputs and decoder targets."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial

from admiral.reranking.encoder_inputs import RerankerInput, reranker_inputs
from proofs import NatOp, ProofError, target_ids
from proofs.generation.proof_grammar import missing_proof_marks
from proofs.generation.source_input import encode_source
from training.data.copy_alignment import copy_alignment
from training.data.samples import ProveSample, RerankSample, RetrieveSample, Sample, Target
from trie import SafeTokenizer
from trie.model.safe_tokenizer import IDENTIFIERS

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
        Pairs (target position, source position) of `copy_alignment`. Target positions count
        through the concatenated targets.
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

    passes: list[RerankerInput]
    gold: list[list[bool]]


def encode(
    tokens: SafeTokenizer,
    sample: Sample,
    max_source: int,
    max_target: int,
    target: str = "sentences",
) -> GenerationExample | RerankingExample | None:
    """Return a sample as token ids; None if it is too long or holds nothing to rank.

    Parameters
    ----------
    tokens
        Tokenizer of the checkpoint.
    sample
        A sample of any task.
    max_source, max_target
        Maximum numbers of input and output tokens. Longer targets of a retrieval sample are
        dropped, and the sample with them if none is left.
    target
        What precedes the title in a retrieval target: identifiers of ``sentences``, or the
        ``titles`` of their documents (variant joint-docs).
    """
    if isinstance(sample, RerankSample):
        return _reranking_example(tokens, sample, max_source)
    task = "prove" if isinstance(sample, ProveSample) else "retrieve"
    hop = None
    if isinstance(sample, RetrieveSample):
        hop = min(sample.hop, len({title for title, _ in sample.evidence}))
    source = encode_source(tokens, task, sample.claim, sample.evidence, max_source, hop)
    if source.truncated:
        return None  # the target may refer to the cut text, which would teach guessing
    if isinstance(sample, RetrieveSample):
        targets = [
            titles_target(tokens, sample.evidence, continuation)
            if target == "titles"
            else retrieval_target(tokens, continuation)
            for continuation in sample.targets()
        ]
        short = [ids for ids in targets if len(ids) <= max_target]
        return _generation_example(tokens, source.ids, short) if short else None
    try:
        ids = target_ids(tokens, sample.proof, sample.claim, sample.evidence, max_length=max_target)
    except ProofError:
        return None
    return _generation_example(tokens, source.ids, [ids])


def encode_all(
    tokens: SafeTokenizer,
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
    encode_one = partial(
        encode, tokens, max_source=max_source, max_target=max_target, target=target
    )
    if workers is None:
        cores = len(os.sched_getaffinity(0)) // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        workers = cores if cores >= _MIN_CORES and len(samples) >= _MIN_SAMPLES else 1
    if workers == 1:
        return [encode_one(sample) for sample in samples]
    # A process that uses a GPU must not fork.
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(encode_one, samples, chunksize=256))


def _generation_example(
    tokens: SafeTokenizer, source: list[int], targets: list[list[int]]
) -> GenerationExample:
    symbols, separators = _symbols_and_separators(tokens)
    copies: list[tuple[int, int]] = []
    offset = 0
    for target in targets:
        aligned = copy_alignment(source, target, separators)
        copies += [(offset + i, j) for i, j in aligned if target[i] not in symbols]
        offset += len(target)
    return GenerationExample(source, targets, copies)


@cache
def _symbols_and_separators(tokens: SafeTokenizer) -> tuple[frozenset[int], frozenset[int]]:
    """Return the tokens that are generated rather than copied, and these plus identifiers.

    Identifiers are not part of a text either, but they are copied from the source.
    """
    marks = {*"[]{}", *(op.value for op in NatOp)} - set(missing_proof_marks(tokens))
    symbols = {tokens.single_token(mark) for mark in marks} | {tokens.eos}
    identifiers = set()
    if tokens.task("retrieve") is not None:
        identifiers = {tokens.identifier(i) for i in range(IDENTIFIERS)}
    return frozenset(symbols), frozenset(symbols | identifiers)


def retrieval_target(tokens: SafeTokenizer, target: Target) -> list[int]:
    """Return ``e_i e_j [ title ] </s>``."""
    identifiers = [tokens.identifier(i) for i in target.identifiers]
    return [*identifiers, *_bracketed(tokens, target.title), tokens.eos]


def titles_target(
    tokens: SafeTokenizer, evidence: Sequence[tuple[str, str]], target: Target
) -> list[int]:
    """Return ``[ title ] ... [ title ] </s>``, with titles in place of identifiers."""
    titles = [*(evidence[i][0] for i in target.identifiers), target.title]
    return [*(token for title in titles for token in _bracketed(tokens, title)), tokens.eos]


def _bracketed(tokens: SafeTokenizer, title: str) -> list[int]:
    return [tokens.single_token("["), *tokens.encode(title), tokens.single_token("]")]


def _reranking_example(
    tokens: SafeTokenizer, sample: RerankSample, max_source: int
) -> RerankingExample | None:
    passes: list[RerankerInput] = []
    gold: list[list[bool]] = []
    for document in sample.documents:
        for rerank_pass in reranker_inputs(
            tokens, sample.claim, sample.evidence, document.title, document.sentences, max_source
        ):
            is_gold = [number in document.relevant for number, _, _ in rerank_pass.spans]
            # One pass of a long negative document is enough.
            if not passes or rerank_pass.spans[0][0] == 0 or any(is_gold):
                passes.append(rerank_pass)
                gold.append(is_gold)
    flat = [mark for marks in gold for mark in marks]
    return RerankingExample(passes, gold) if any(flat) and not all(flat) else None
