"""Settings of a retrieval run: defaults, then a YAML file, then ``key=value`` overrides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.storage.yaml_settings import build_settings, read_settings

# Settings that change how fast a run is, not what it returns.
_SPEED_ONLY = frozenset({"batch_size", "device", "threads"})
# Settings that name files, or are empty.
FILES = ("judge_weights", "ranking_weights", "paraphrases", "antonyms")
_CHOICES = {
    "bm25": ("auto", "lucene", "bm25s"),
    "reranker": ("combined", "cross-encoder", "similarity", "bm25"),
    "judge": ("never", "always", "lexical", "generated", "classifier", "calibrated"),
    "ranking": ("learned", "fused", "last-hop"),
    "variant": ("ours", "top-1", "not-joint", "joint-docs"),
    "precision": ("auto", "fp32", "bf16", "int8"),
}
_AT_LEAST = {
    "min_hops": 1,
    "max_hops": 1,
    "top_k": 1,
    "beam_size": 1,
    "evidence": 1,
    "evidence_per_document": 1,
    "first_stage_documents": 1,
    "rerank_documents": 1,
    "cross_encoder_documents": 1,
    "rerank_sentences": 1,
    "title_beams": 0,
    "batch_size": 1,
    "threads": 0,
}
# More is a slip of the finger, and too much for torch, Java, or numbers of 32 bits.
_AT_MOST = {"min_hops": 999, "max_hops": 999, "threads": 1024}
_MOST = 1_000_000
_WEIGHTS = ("title_weight", "text_weight")
_DEVICE = re.compile(r"auto|cpu|mps|cuda(:(0|[1-9][0-9]{0,8}))?")


@dataclass
class RetrievalConfig:
    """Everything that changes what a run returns, and how fast.

    Attributes
    ----------
    model, kb
        Names or directories; ``mini`` and ``demo`` are the bundled ones.
    hops
        ``dynamic``, or a number as text: always that many hops.
    min_hops, max_hops
        Bounds of ``dynamic``: how many hops are made even where the evidence seems to suffice, and
        how many where it does not.
    top_k
        Documents in the final ranking.
    beam_size
        Beams of the hop retriever (paper: 25).
    evidence
        Sentences kept per hop, the paper's `l`.
    evidence_per_document
        Most of them from one document; others fill up only where there are too few.
    first_stage_documents
        Candidates that BM25 gives (also the fill-up of the ranking).
    rerank_documents
        Documents whose sentences are reranked at each hop.
    cross_encoder_documents
        Of these, documents that the cross-encoder of ``combined`` reads: those that the other two
        find best.
    rerank_sentences
        Most sentences of one of them: of longer ones, those that share most words with the claim.
    mentions
        Whether what texts name counts: titles that the claim names join the candidates; documents
        that the evidence names or links to are read at the next hop and rise in the ranking.
    title_beams
        Titles generated from the claim alone; 0 switches hop 0 off.
    bm25
        ``lucene``, ``bm25s``, or ``auto``: the one that the knowledge base was built with.
    reranker
        ``cross-encoder``, ``similarity``, ``bm25`` (of sentences), or ``combined``: all three.
    judge
        Who decides that the evidence is enough: ``never``, ``always``, ``lexical`` (a proof by
        rules), ``generated`` (a proof by the model), ``classifier`` (no proof), or ``calibrated``
        (a proof by rules whose steps are scored).
    judge_weights
        File of the weights of ``calibrated``, as `training.judges` writes it; the built-in ones
        where empty.
    early_exit
        With ``generated``, stop decoding at the first step that the evidence does not cover:
        faster, but hops with insufficient evidence then show no proof.
    wordnet
        Whether the judges by rules ask WordNet, where it is installed.
    paraphrases, antonyms
        Files of words for the judges by rules, see `proofs.PairLexicon`; none where empty.
    ranking
        ``learned``: by what all hops say about a document, with fitted weights (see
        `admiral.ranking.document_scorer`), which also help to choose the evidence of each hop;
        ``fused``: all hops and the first stage vote; ``last-hop``: the last hop's document sets
        first, filled up from the hops before (`admiral.ranking.fusion`).
    ranking_weights
        File of the weights of ``learned``, as `training.ranking` writes it; the bundled ones where
        empty.
    variant
        How document sets are scored: ``ours``, or ``top-1``, ``not-joint`` or ``joint-docs``, with
        which the paper compares (see `admiral.retrieval.hop_retriever`).
    hyperlinks
        Whether the hop retriever reads the titles that a sentence links to behind it.
    trie_normalised
        Score tokens by the softmax over the allowed ones only (off: the paper's definition).
    title_weight, text_weight
        Weights of the BM25 fields, from 0 to a million and not both zero.
    precision
        ``fp32``; ``bf16``: two to three times faster on processors with bfloat16 arithmetic
        (``avx512_bf16``, ``amx_bf16``) and on GPUs, much slower without it, scores differing in the
        third digit; ``auto``: the faster one of these, here; or ``int8``, on processors with VNNI
        only: the encoders' products are in eight bits, which is a little faster than bfloat16 and
        does not need it; scores differ in the first or second digit (see `trie.model.int8`).
    batch_size
        Claims that travel together; the threads share them.
    device, threads
        ``auto``, ``cpu``, ``mps``, ``cuda`` or ``cuda:N``; CPU threads, 0 for the default.
    """

    model: str = "mini"
    kb: str = "demo"
    hops: str = "dynamic"
    min_hops: int = 2
    max_hops: int = 4
    top_k: int = 100
    beam_size: int = 25
    evidence: int = 5
    evidence_per_document: int = 2
    first_stage_documents: int = 100
    rerank_documents: int = 40
    cross_encoder_documents: int = 20
    rerank_sentences: int = 64
    mentions: bool = True
    title_beams: int = 10
    bm25: str = "auto"
    reranker: str = "combined"
    judge: str = "calibrated"
    judge_weights: str = ""
    early_exit: bool = False
    wordnet: bool = False
    paraphrases: str = ""
    antonyms: str = ""
    ranking: str = "learned"
    ranking_weights: str = ""
    variant: str = "ours"
    hyperlinks: bool = False
    trie_normalised: bool = False
    title_weight: float = 0.5
    text_weight: float = 1.0
    precision: str = "auto"
    batch_size: int = 8
    device: str = "auto"
    threads: int = 0

    def validate(self) -> None:
        """Raise `AdmiralError` naming the first setting whose value makes no sense."""
        for key, problem in _problems(self):
            raise AdmiralError(f"setting {key!r}: {problem}")

    def settings(self) -> dict[str, Any]:
        """Return the settings that decide what a run returns, leaving out those of speed."""
        found = {key: value for key, value in asdict(self).items() if key not in _SPEED_ONLY}
        return found | {key: float(found[key]) for key in _WEIGHTS}  # 1 is 1.0, and the same run


def load_config(path: Path | None = None, overrides: Sequence[str] = ()) -> RetrievalConfig:
    """Return the settings of a run, checked.

    Parameters
    ----------
    path
        A YAML file of settings; keys that it leaves out keep their defaults.
    overrides
        ``key=value`` strings, later ones winning over earlier ones and all over the file.

    Raises
    ------
    AdmiralError
        For an unreadable file, an unknown key, a value of the wrong type or out of range; the
        message names the file (or the override) and the key.
    """
    return read_settings(RetrievalConfig, _problems, path, overrides)


def build_config(items: Iterable[tuple[str, str, Any]]) -> RetrievalConfig:
    """Return settings from (origin, key, value), later ones winning, as `load_config` checks them.

    The origin, such as a place in another file, is what messages name.
    """
    return build_settings(RetrievalConfig, _problems, items)


def _problems(config: RetrievalConfig) -> Iterator[tuple[str, str]]:
    """Yield (key, what is wrong and what would be right) for each bad value."""
    for field in fields(config):
        value, kind = getattr(config, field.name), type(field.default)
        kinds = (int, float) if kind is float else kind
        if not isinstance(value, kinds) or (isinstance(value, bool) and kind is not bool):
            found = f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")
            yield field.name, f"{value!r} is of type {found}, not {kind.__name__}"
    for key in ("model", "kb"):
        if not getattr(config, key):
            yield key, "is empty; give a name or a directory"
    if config.hops != "dynamic" and not re.fullmatch(r"[1-9][0-9]{0,2}", config.hops):
        yield "hops", f"{config.hops!r} is neither 'dynamic' nor a number from 1 to 999"
    for key, least in _AT_LEAST.items():
        if getattr(config, key) < least:
            yield key, f"{getattr(config, key)} is too small; the least is {least}"
        most = _AT_MOST.get(key, _MOST)
        if getattr(config, key) > most:
            yield key, f"{getattr(config, key)} is too large; the most is {most}"
    for key, choices in _CHOICES.items():
        if getattr(config, key) not in choices:
            yield key, f"{getattr(config, key)!r} is not one of {', '.join(choices)}"
    for key in _WEIGHTS:
        if not 0 <= getattr(config, key) <= _MOST:
            yield key, f"{getattr(config, key)} is not a number from 0 to {_MOST}"
    if config.title_weight == config.text_weight == 0:
        yield "text_weight", "is 0 like title_weight; one of the two must be positive"
    if not _DEVICE.fullmatch(config.device):
        yield "device", f"{config.device!r} is not auto, cpu, mps, cuda or cuda:N"
