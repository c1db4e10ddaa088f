"""Settings of a retrieval run: defaults, then a YAML file, then ``key=value`` overrides.

Each setting is declared once, in `RetrievalConfig`. ``admiral settings`` prints the declarations as
a YAML file or as the tables of ``docs/settings.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from admiral.requirements import ENCODER, FAST_VERIFIER, READER
from admiral.settings import Count, CountOrNone, FileName, Name, Probability, Settings

HopCount = Annotated[int, Field(ge=1, le=999)]
Weight = Annotated[float, Field(ge=0, le=1_000_000)]

#: The settings of ``--fast``. BM25, mentions, sentence embeddings and a small verifier remain.
FAST_SETTINGS: dict[str, Any] = {
    "generator": False,
    "title_beams": 0,
    "rerank_documents": 12,
    "verifier": FAST_VERIFIER,
}


class RunSettings(Settings):
    """The settings of speed, which all runs have and which do not change their results."""

    headings: ClassVar[dict[str, str]] = {"batch_size": "Speed"}

    batch_size: Count = 8
    """Claims processed together."""
    device: Annotated[str, Field(pattern=r"^(auto|cpu|mps|cuda(:(0|[1-9][0-9]{0,8}))?)$")] = "auto"
    """Device of the models: `auto`, `cpu`, `mps`, `cuda` or `cuda:N`."""
    threads: Annotated[int, Field(ge=0, le=1024)] = 0
    """CPU threads; 0 leaves the number to torch."""

    def settings(self) -> dict[str, Any]:
        """Return the settings that decide what a run returns, without those of speed."""
        return self.model_dump(exclude=set(RunSettings.model_fields))


def _lower(value: object) -> str:
    return str(value).lower()


class RetrievalConfig(RunSettings):
    """Settings of a retrieval run.

    They are described in ``docs/settings.md``. A value that is not allowed raises
    pydantic.ValidationError here, and `AdmiralError` in `changed`, which returns a copy with other
    values.
    """

    headings: ClassVar[dict[str, str]] = {
        "model": "Model and knowledge base",
        "hops": "Hops",
        "top_k": "Sizes",
        "bm25": "Stages",
    }

    model: Name = "mini"
    """Checkpoint: `mini`, the bundled one, or a directory."""
    retriever_models: str = ""
    """Checkpoints of the hop retriever, separated by commas: for the first hop, the second, and so
    on; the last one serves all later hops. If empty, `model`."""
    title_model: FileName = ""
    """Checkpoint that generates titles from the claim alone, for the first stage. If empty,
    `model`."""
    reranker_model: FileName = ""
    """Checkpoint of the cross-encoder. If empty, `model`."""
    prover: FileName = ""
    """Checkpoint of the judges `generated` and `classifier`. If empty, `model`."""
    kb: Name = "demo"
    """Knowledge base: `demo`, the bundled one, or a directory that `admiral index` made."""

    hops: Annotated[str, BeforeValidator(str), Field(pattern=r"^(dynamic|0|[1-9][0-9]{0,2})$")] = (
        "dynamic"
    )
    """Number of hops, or `dynamic`: continue until the judge finds the evidence sufficient. With
    `0`, only the first stage runs: documents keep its order, and no evidence is read or judged."""
    max_hops: HopCount = 4
    """Maximum number of hops for `dynamic`, however insufficient the evidence."""
    min_hops: HopCount = 2
    """Minimum number of hops for `dynamic`, however sufficient the evidence. The default is lowered
    to `max_hops`; any other number may not be larger."""

    top_k: Count = 100
    """Documents in the final ranking."""
    beam_size: Count = 25
    """Beam size of the hop retriever (25 in the paper); a smaller one is faster."""
    evidence: Count = 5
    """Sentences kept as evidence at each hop (l in the paper), of claims of up to eight content
    words. The model's vocabulary may allow fewer: 10 with the bundled one."""
    max_evidence: Count = 8
    """Sentences kept of longer claims at most, one more for each three words, and with the opening
    sentences of documents that claim or evidence name. A search builds on the first `evidence`."""
    evidence_per_document: Count = 2
    """Evidence sentences kept from one document. More are kept only where other documents have too
    few."""
    first_stage_documents: Count = 100
    """Candidate documents of the first stage. They also fill the final ranking up to `top_k`."""
    rerank_documents: Count = 40
    """Documents whose sentences are reranked at each hop."""
    rerank_sentences: Count = 64
    """Sentences of one document that are reranked. Of longer documents, those of the best passages
    that share rare words with the claim or the evidence are taken."""
    cross_encoder_tokens: Annotated[int, Field(ge=32, le=100_000)] = 256
    """Tokens of an input of the cross-encoder, at most those that its checkpoint reads; longer
    documents are read in parts."""
    rerank_characters: Annotated[int, Field(ge=1, le=1_000_000_000)] = 32_000
    """Characters of long documents, those of more than 40 sentences, that are reranked at a hop
    which reads only such documents, and a share of it if others are among them. It is about four
    times the number of tokens. Each document keeps at least one sentence."""
    mentions: bool = True
    """Use the titles that texts mention. Documents that the claim names become candidates; those
    that the evidence names or links to are read at the next hop and are ranked higher."""
    aliases: bool = True
    """Count other names of documents as mentions too, such as acronyms and names of commands. They
    are found when the knowledge base is built."""
    graph: Annotated[Literal["auto", "true", "false"], BeforeValidator(_lower)] = "auto"
    """Use the graph of mentions, which `admiral index` makes of 750 or more documents, and `admiral
    graph build` of any. Documents that are close in it to the claim become candidates of the first
    stage; those that are close to the evidence are candidates of the next hop, and are ranked
    higher.

    - `auto`: if the knowledge base has a graph that is up to date
    - `true`: yes; without such a graph, it is an error
    - `false`: no
    """
    generator: bool = True
    """Use the documents that the model generates. Without them, the first stage has no generated
    titles, and later hops read the documents of the evidence, those that it mentions, and the
    candidates of the first stage."""
    title_beams: CountOrNone = 10
    """Titles that the model generates from the claim alone for the first stage; 0 generates
    none."""

    bm25: Literal["auto", "lucene", "bm25s"] = "auto"
    """BM25 backend.

    - `auto`: the one that the knowledge base was built with
    - `lucene`: Lucene, which needs Java
    - `bm25s`: bm25s, without Java
    """
    reranker: Literal["combined", "similarity", "bm25", "cross-encoder", "pointwise"] = "combined"
    """Reranker of sentences.

    - `combined`: `similarity` and `bm25` together
    - `similarity`: embeddings of the sentence encoder
    - `bm25`: BM25 among the sentences; needs no training
    - `cross-encoder`: the checkpoint, which reads the claim with the sentences
    - `pointwise`: a seq2seq model that answers true or false for each sentence, such as monoT5, in
      `reranker_model`; slow
    """
    sentence_encoder: Annotated[FileName, Field(min_length=1)] = ENCODER
    """Encoder of the rerankers `similarity` and `combined`: `mini-encoder`, the bundled one;
    `all-MiniLM-L6-v2`, if it is installed; or the directory of another one with mean pooling."""
    judge: Literal["verifier", "lexical", "generated", "classifier", "never", "always"] = "verifier"
    """Judge that decides whether the evidence is sufficient.

    - `verifier`: the proof of the model in `verifier`; without a model, the same as `lexical`
    - `lexical`: a proof by rules and word lists
    - `generated`: a proof generated by the model
    - `classifier`: the model's encoder with a linear head; gives no proof
    - `never`: the evidence is never sufficient
    - `always`: the evidence is always sufficient
    """
    verifier: FileName = READER
    """Verifier, which decides for the judge `verifier`: `reader` or `mini-verifier`, the bundled
    ones; the directory of another one or of any Hugging Face sequence classifier of claims and
    evidence; `module:Class`, your own; or `openai`, a chat model. If empty, there is none."""
    verifier_model: str = ""
    """Name of the chat model of the verifier `openai`."""
    base_url: str = ""
    """Address of an OpenAI-compatible server for the verifier `openai`, up to `/v1`. If empty, that
    of OpenAI. The key is read from the environment variable OPENAI_API_KEY."""
    stop_at: Probability = 0.7
    """Probability from which the evidence counts as sufficient, that is, supports or refutes the
    claim, and a search stops; needs a verifier. Up to 0.5, the most probable verdict always wins; a
    higher one can force NOT ENOUGH INFO."""
    stop_early_at: Probability = 0.6
    """Probability of the verdict by one sentence alone, which speaks of most of the claim, from
    which a search stops before `min_hops` hops; needs a verifier."""
    early_exit: bool = False
    """With the judge `generated`, stop decoding at the first step that the evidence does not cover.
    It is faster, but hops with insufficient evidence then show no proof."""
    wordnet: bool = False
    """Let the judge `lexical` use WordNet, if it is installed."""
    paraphrases: FileName = ""
    """File of words with the same meaning, for the judge `lexical`."""
    antonyms: FileName = ""
    """File of words with the opposite meaning, for the judge `lexical`."""
    ranking: Literal["learned", "fused", "last-hop"] = "learned"
    """Final ranking of the documents. With `fused` and `last-hop`, evidence is chosen by the scores
    of the sentences alone.

    - `learned`: by features of all hops with fitted weights, which also help to choose the evidence
    - `fused`: by reciprocal rank fusion of all hops and the first stage
    - `last-hop`: as in the paper: the document sets of the last hop first, then earlier hops
    """
    ranking_weights: FileName = ""
    """File of weights of the ranking `learned`, written by `training.ranking`. If empty, the
    bundled weights are used."""
    variant: Literal["ours", "top-1", "not-joint", "joint-docs"] = "ours"
    """Scoring of document sets; the others are compared in table 3 of the paper.

    - `ours`: the method: sentences and title are decoded jointly
    - `top-1`: only the best sentence is read
    - `not-joint`: titles are decoded without sentences
    - `joint-docs`: the titles of the whole set are decoded, by a model trained for it
    """
    hyperlinks: bool = False
    """Append the titles that a sentence links to when the hop retriever reads it."""
    trie_normalised: bool = False
    """Normalise token probabilities over the allowed tokens only, instead of over the whole
    vocabulary as in the paper."""
    title_weight: Weight = 0.5
    """BM25 weight of the title field."""
    text_weight: Weight = 1.0
    """BM25 weight of the text field. One of the two weights must be positive."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Arithmetic of the model.

    - `auto`: bf16 if the processor or GPU has bfloat16 arithmetic, otherwise fp32
    - `fp32`: 32-bit floating point
    - `bf16`: two to three times faster with bfloat16 arithmetic (avx512_bf16, amx_bf16 or a GPU),
      much slower without; scores differ in the third digit
    """

    @field_validator("min_hops")
    @classmethod
    def _check_min_hops(cls, value: int, others: ValidationInfo) -> int:
        most = others.data.get("max_hops", value)
        chosen = value != cls.model_fields["min_hops"].default
        if others.data.get("hops") == "dynamic" and chosen and value > most:
            raise ValueError(f"{value} is larger than max_hops, {most}")
        return value

    @field_validator("stop_at")
    @classmethod
    def _check_stop_at(cls, value: float, others: ValidationInfo) -> float:
        judged = others.data.get("judge") == "verifier" and others.data.get("verifier")
        if value != cls.model_fields["stop_at"].default and not judged:
            raise ValueError(
                "works only with the judge 'verifier' and a verifier; give its directory as the "
                "setting 'verifier'"
            )
        return value

    @field_validator("text_weight")
    @classmethod
    def _check_text_weight(cls, value: float, others: ValidationInfo) -> float:
        if value == others.data.get("title_weight") == 0:
            raise ValueError("is 0 like title_weight; one of the two must be positive")
        return value

    @classmethod
    def fast(cls, **changes: Any) -> RetrievalConfig:
        """Return the settings of ``--fast``: nothing generated, few documents read."""
        return cls(**(FAST_SETTINGS | changes))


class ClusterOptions(Settings):
    """The cluster of a run with Ray, and the resources of its workers."""

    ray_address: Name = "local"
    """With --engine ray: HOST:PORT of a running cluster, auto for the one on this machine, or local
    for one that ends with the run."""
    workers: CountOrNone = 0
    """With --engine ray: number of workers; 0 for as many as fit."""
    cpus_per_worker: Count = 1
    """With --engine ray: CPUs and threads per worker."""
    gpus_per_worker: Annotated[float, Field(ge=0)] = 0.0
    """With --engine ray: GPUs per worker, possibly a fraction."""


#: Settings whose values are paths of files or folders, or empty.
FILE_SETTINGS = tuple(
    name for name, field in RetrievalConfig.model_fields.items() if "file" in field.metadata
)


def load_config(path: Path | None = None, overrides: Sequence[str] = ()) -> RetrievalConfig:
    """Return checked settings from a YAML file and ``key=value`` strings.

    Later strings override earlier ones, and all override the file; keys that are not given keep
    their defaults.
    """
    return RetrievalConfig.read(path, overrides)


def names_of_retrievers(config: RetrievalConfig) -> list[str]:
    """Return the checkpoints of the setting `retriever_models`; none if it is empty."""
    names = config.retriever_models.split(",") if config.retriever_models else []
    return [name.strip() for name in names]


def checkpoint_settings(config: RetrievalConfig) -> dict[str, list[str]]:
    """Return the settings that name each checkpoint, by its name."""
    fields: dict[str, list[str]] = {}
    for field in ("model", "title_model", "reranker_model", "prover"):
        if name := getattr(config, field):
            fields.setdefault(name, []).append(field)
    for name in dict.fromkeys(names_of_retrievers(config)):
        fields.setdefault(name, []).append("retriever_models")
    return fields
