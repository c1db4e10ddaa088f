"""Settings of a retrieval run: defaults, then a YAML file, then ``key=value`` overrides.

Each setting is declared once, in `RetrievalConfig`. ``admiral settings`` prints the declarations as
a YAML file or as the tables of ``docs/settings.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.requirements import ENCODER, VERIFIER
from admiral.storage.declared_settings import declared_settings, documented, setting, value_problems

# Larger numbers are typing errors, and too much for torch, Java or 32-bit integers.
_COUNT = (1, 1_000_000)
_HOPS = (1, 999)
_WEIGHT = (0, 1_000_000)


#: The settings of ``--fast``. BM25, mentions, sentence embeddings and the verifier remain.
FAST_SETTINGS: dict[str, Any] = {
    "generator": False,
    "title_beams": 0,
    "rerank_documents": 12,
}


@documented
@dataclass
class RetrievalConfig:
    """Settings of a retrieval run."""

    model: str = setting(
        "mini",
        "Checkpoint: `mini`, the bundled one, or a directory.",
        section="Model and knowledge base",
        pattern=".+",
        format="a name or a directory",
    )
    retriever_models: str = setting(
        "",
        "Checkpoints of the hop retriever, separated by commas: for the first hop, the second, and "
        "so on; the last one serves all later hops. If empty, `model`.",
    )
    title_model: str = setting(
        "",
        "Checkpoint that generates titles from the claim alone, for the first stage. If empty, "
        "`model`.",
        is_file=True,
    )
    reranker_model: str = setting(
        "", "Checkpoint of the cross-encoder. If empty, `model`.", is_file=True
    )
    prover: str = setting(
        "",
        "Checkpoint of the judges `generated` and `classifier`. If empty, `model`.",
        is_file=True,
    )
    kb: str = setting(
        "demo",
        "Knowledge base: `demo`, the bundled one, or a directory that `admiral index` made.",
        pattern=".+",
        format="a name or a directory",
    )

    hops: str | int = setting(
        "dynamic",
        "Number of hops, or `dynamic`: continue until the judge finds the evidence sufficient. "
        "With `0`, only the first stage runs: documents keep its order, and no evidence is read or "
        "judged.",
        section="Hops",
        pattern="dynamic|0|[1-9][0-9]{0,2}",
        format="'dynamic' or a number from 0 to 999",
    )
    min_hops: int = setting(
        2,
        "Minimum number of hops for `dynamic`, however sufficient the evidence. The default is "
        "lowered to `max_hops`; any other number may not be larger.",
        bounds=_HOPS,
    )
    max_hops: int = setting(
        4, "Maximum number of hops for `dynamic`, however insufficient the evidence.", bounds=_HOPS
    )

    top_k: int = setting(100, "Documents in the final ranking.", section="Sizes", bounds=_COUNT)
    beam_size: int = setting(
        25,
        "Beam size of the hop retriever (25 in the paper); a smaller one is faster.",
        bounds=_COUNT,
    )
    evidence: int = setting(
        5,
        "Sentences kept as evidence at each hop (l in the paper), of claims of up to eight content "
        "words. The model's vocabulary may allow fewer: 10 with the bundled one.",
        bounds=_COUNT,
    )
    max_evidence: int = setting(
        8,
        "Sentences kept of longer claims, which need more documents: one more for each three "
        "words, and no more than this. The search builds on the first `evidence` of them.",
        bounds=_COUNT,
    )
    evidence_per_document: int = setting(
        2,
        "Evidence sentences kept from one document. More are kept only where other documents have "
        "too few.",
        bounds=_COUNT,
    )
    first_stage_documents: int = setting(
        100,
        "Candidate documents of the first stage. They also fill the final ranking up to `top_k`.",
        bounds=_COUNT,
    )
    rerank_documents: int = setting(
        40, "Documents whose sentences are reranked at each hop.", bounds=_COUNT
    )
    rerank_sentences: int = setting(
        64,
        "Sentences of one document that are reranked. Of longer documents, those of the best "
        "passages that share rare words with the claim or the evidence are taken.",
        bounds=_COUNT,
    )
    cross_encoder_tokens: int = setting(
        256,
        "Tokens of an input of the cross-encoder, at most those that its checkpoint reads; longer "
        "documents are read in parts.",
        bounds=(32, 100_000),
    )
    rerank_characters: int = setting(
        32_000,
        "Characters of long documents, those of more than 40 sentences, that are reranked at a hop "
        "which reads only such documents, and a share of it if others are among them. It is about "
        "four times the number of tokens. Each document keeps at least one sentence.",
        bounds=(1, 1_000_000_000),
    )
    mentions: bool = setting(
        True,
        "Use the titles that texts mention. Documents that the claim names become candidates; "
        "those that the evidence names or links to are read at the next hop and are ranked higher.",
    )
    aliases: bool = setting(
        True,
        "Count other names of documents as mentions too, such as acronyms and names of commands. "
        "They are found when the knowledge base is built.",
    )
    graph: str | bool = setting(
        "auto",
        "Use the graph of mentions, which `admiral index` makes of 750 or more documents, and "
        "`admiral graph build` of any. "
        "Documents that are close in it to the claim become candidates of the first stage; those "
        "that are close to the evidence are candidates of the next hop, and are ranked higher.",
        choices={
            "auto": "if the knowledge base has a graph that is up to date",
            "true": "yes; without such a graph, it is an error",
            "false": "no",
        },
    )
    generator: bool = setting(
        True,
        "Use the documents that the model generates. Without them, the first stage has no "
        "generated titles, and later hops read the documents of the evidence, those that it "
        "mentions, and the candidates of the first stage.",
    )
    title_beams: int = setting(
        10,
        "Titles that the model generates from the claim alone for the first stage; 0 generates "
        "none.",
        bounds=(0, 1_000_000),
    )

    bm25: str = setting(
        "auto",
        "BM25 backend.",
        section="Stages",
        choices={
            "auto": "the one that the knowledge base was built with",
            "lucene": "Lucene, which needs Java",
            "bm25s": "bm25s, without Java",
        },
    )
    reranker: str = setting(
        "combined",
        "Reranker of sentences.",
        choices={
            "combined": "`similarity` and `bm25` together",
            "similarity": "embeddings of the sentence encoder",
            "bm25": "BM25 among the sentences; needs no training",
            "cross-encoder": "the checkpoint, which reads the claim with the sentences",
            "pointwise": "a seq2seq model that answers true or false for each sentence, such as "
            "monoT5, in `reranker_model`; slow",
        },
    )
    sentence_encoder: str = setting(
        ENCODER,
        "Encoder of the rerankers `similarity` and `combined`: `mini-encoder`, the bundled one; "
        "`all-MiniLM-L6-v2`, if it is installed; or the directory of another one with mean "
        "pooling.",
        pattern=".+",
        format="'mini-encoder' or a directory",
        is_file=True,
    )
    judge: str = setting(
        "verifier",
        "Judge that decides whether the evidence is sufficient.",
        choices={
            "verifier": "the model in `verifier`, with a proof of what it decides; without a "
            "model, the same as `lexical`",
            "lexical": "a proof by rules and word lists",
            "generated": "a proof generated by the model",
            "classifier": "the model's encoder with a linear head; gives no proof",
            "never": "the evidence is never sufficient",
            "always": "the evidence is always sufficient",
        },
    )
    verifier: str = setting(
        VERIFIER,
        "Verifier, which decides for the judge `verifier`: `mini-verifier`, the bundled one; the "
        "directory of another one or of any Hugging Face sequence classifier of claims and "
        "evidence; `module:Class`, your own; or `openai`, a chat model. If empty, there is none.",
        is_file=True,
    )
    verifier_model: str = setting("", "Name of the chat model of the verifier `openai`.")
    base_url: str = setting(
        "",
        "Address of an OpenAI-compatible server for the verifier `openai`, up to `/v1`. If empty, "
        "that of OpenAI. The key is read from the environment variable OPENAI_API_KEY.",
    )
    verifier_prices: str = setting(
        "",
        "Prices of a million tokens of questions and of replies of `verifier_model`, such as "
        "0.15,0.60, to log what its answers cost.",
    )
    stop_at: float = setting(
        0.7,
        "Probability from which the evidence counts as sufficient, that is, supports or refutes "
        "the claim, and a search stops; needs a verifier. Up to 0.5, the most probable verdict "
        "always wins; a higher one can force NOT ENOUGH INFO.",
        bounds=(0, 1),
    )
    stop_early_at: float = setting(
        0.6,
        "Probability of the verdict by one sentence alone, which speaks of most of the claim, from "
        "which a search stops before `min_hops` hops; needs a verifier.",
        bounds=(0, 1),
    )
    early_exit: bool = setting(
        False,
        "With the judge `generated`, stop decoding at the first step that the evidence does not "
        "cover. It is faster, but hops with insufficient evidence then show no proof.",
    )
    wordnet: bool = setting(
        False, "Let the judges `verifier` and `lexical` use WordNet, if it is installed."
    )
    paraphrases: str = setting(
        "",
        "File of words with the same meaning, for the judges `verifier` and `lexical`.",
        is_file=True,
    )
    antonyms: str = setting(
        "",
        "File of words with the opposite meaning, for the judges `verifier` and `lexical`.",
        is_file=True,
    )
    ranking: str = setting(
        "learned",
        "Final ranking of the documents. With `fused` and `last-hop`, evidence is chosen by the "
        "scores of the sentences alone.",
        choices={
            "learned": "by features of all hops with fitted weights, which also help to choose "
            "the evidence",
            "fused": "by reciprocal rank fusion of all hops and the first stage",
            "last-hop": "as in the paper: the document sets of the last hop first, then earlier "
            "hops",
        },
    )
    ranking_weights: str = setting(
        "",
        "File of weights of the ranking `learned`, written by `training.ranking`. If empty, the "
        "bundled weights are used.",
        is_file=True,
    )
    variant: str = setting(
        "ours",
        "Scoring of document sets; the others are compared in table 3 of the paper.",
        choices={
            "ours": "the method: sentences and title are decoded jointly",
            "top-1": "only the best sentence is read",
            "not-joint": "titles are decoded without sentences",
            "joint-docs": "the titles of the whole set are decoded, by a model trained for it",
        },
    )
    hyperlinks: bool = setting(
        False, "Append the titles that a sentence links to when the hop retriever reads it."
    )
    trie_normalised: bool = setting(
        False,
        "Normalise token probabilities over the allowed tokens only, instead of over the whole "
        "vocabulary as in the paper.",
    )
    title_weight: float = setting(0.5, "BM25 weight of the title field.", bounds=_WEIGHT)
    text_weight: float = setting(
        1.0,
        "BM25 weight of the text field. One of the two weights must be positive.",
        bounds=_WEIGHT,
    )
    precision: str = setting(
        "auto",
        "Arithmetic of the model.",
        choices={
            "auto": "bf16 if the processor or GPU has bfloat16 arithmetic, otherwise fp32",
            "fp32": "32-bit floating point",
            "bf16": "two to three times faster with bfloat16 arithmetic (avx512_bf16, amx_bf16 or "
            "a GPU), much slower without; scores differ in the third digit",
            "int8": "8-bit products in the encoders, on processors with VNNI; slightly faster "
            "than bf16; scores differ in the first or second digit",
        },
    )

    batch_size: int = setting(
        8, "Claims processed together.", section="Speed", affects_results=False, bounds=_COUNT
    )
    device: str = setting(
        "auto",
        "Device of the model: `auto`, `cpu`, `mps`, `cuda` or `cuda:N`.",
        pattern="auto|cpu|mps|cuda(:(0|[1-9][0-9]{0,8}))?",
        format="auto, cpu, mps, cuda or cuda:N",
        affects_results=False,
    )
    threads: int = setting(
        0, "CPU threads; 0 leaves the number to torch.", bounds=(0, 1024), affects_results=False
    )

    def __post_init__(self) -> None:
        if isinstance(self.hops, int) and not isinstance(self.hops, bool):
            self.hops = str(self.hops)
        if isinstance(self.graph, bool):
            self.graph = str(self.graph).lower()

    def validate(self) -> None:
        """Check all settings.

        Raises
        ------
        AdmiralError
            Naming the first setting whose value is not allowed.
        """
        for key, problem in _problems(self):
            raise AdmiralError(f"setting {key!r}: {problem}")

    @classmethod
    def fast(cls, **changes: Any) -> RetrievalConfig:
        """Return the settings of ``--fast``: nothing generated, and few documents read.

        Parameters
        ----------
        changes
            Values of other settings, or of the same ones.
        """
        return cls(**(FAST_SETTINGS | changes))

    def settings(self) -> dict[str, Any]:
        """Return the settings that decide what a run returns, without those of speed."""
        values = asdict(self)
        return {
            declared.name: declared.type(values[declared.name])  # 1 is the same run as 1.0
            for declared in declared_settings(type(self))
            if declared.affects_results
        }


#: Settings whose values are paths of files or folders, or empty.
FILE_SETTINGS = tuple(each.name for each in declared_settings(RetrievalConfig) if each.is_file)


def load_config(path: Path | None = None, overrides: Sequence[str] = ()) -> RetrievalConfig:
    """Return checked settings from a file and overrides.

    Raises AdmiralError for an unreadable file, an unknown key, a value of the wrong type or out of
    range; the message names the file (or the override) and the key.

    Parameters
    ----------
    path
        YAML file of settings; keys that it leaves out keep their defaults.
    overrides
        ``key=value`` strings. Later ones override earlier ones, and all override the file.

    Returns
    -------
    RetrievalConfig
        The settings.
    """
    # Imported here, like below: OmegaConf takes longer than all else that `--help` needs.
    from admiral.storage.declared_settings import read_settings

    return read_settings(RetrievalConfig, _problems, path, overrides)


def build_config(items: Iterable[tuple[str, str, Any]]) -> RetrievalConfig:
    """Return checked settings from (origin, key, value) triples.

    Parameters
    ----------
    items
        Later items override earlier ones. The origin, such as a place in another file, is what
        messages name.

    Raises
    ------
    AdmiralError
        As in `load_config`.
    """
    from admiral.storage.declared_settings import build_settings

    return build_settings(RetrievalConfig, _problems, items)


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


def _problems(config: RetrievalConfig) -> Iterator[tuple[str, str]]:
    """Yield (key, what is wrong and what would be right) for each value that is not allowed."""
    yield from value_problems(config)
    chosen = config.stop_at != RetrievalConfig.stop_at
    if chosen and not (config.verifier and config.judge == "verifier"):
        yield (
            "stop_at",
            "works only with the judge 'verifier' and a verifier; give its directory as the "
            "setting 'verifier'",
        )
    if config.title_weight == config.text_weight == 0:
        yield "text_weight", "is 0 like title_weight; one of the two must be positive"
    chosen = config.min_hops != RetrievalConfig.min_hops
    if config.hops == "dynamic" and chosen and config.min_hops > config.max_hops:
        yield "min_hops", f"{config.min_hops} is larger than max_hops, {config.max_hops}"
