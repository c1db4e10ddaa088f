"""Settings of the verification of citations, declared once as those of retrieval are."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from admiral.config import RunSettings, Weight
from admiral.requirements import FAST_VERIFIER
from admiral.settings import Count, CountOrNone, FileName, Probability

Score = Annotated[float, Field(ge=-1_000_000, le=1_000_000)]


class CitationConfig(RunSettings):
    """Settings of the verification of citations."""

    headings: ClassVar[dict[str, str]] = {
        "verifier": "Verification",
        "supported": "Decisions",
        "suggest": "Suggestions",
        "precision": "Speed",
    }

    verifier: Literal["mixed", "coverage", "late", "cross-encoder"] = "mixed"
    """Verifier of sources.

    - `mixed`: several verifiers and counts of uncovered words, with fitted weights
    - `coverage`: share of the claim's words, weighted by rarity; needs no model
    - `late`: all-MiniLM-L6-v2, token by token
    - `cross-encoder`: the model in `classifier`, which reads the sentences of a passage
    """
    classifier: FileName = FAST_VERIFIER
    """Model that `mixed` reads the best sentences of a source with, and that of the verifier
    `cross-encoder`: `mini-verifier`, the bundled one, the directory of another one or of any
    Hugging Face sequence classifier of claims and evidence, or `module:Class`, your own."""
    context: Literal["claim", "all"] = "claim"
    """Context of the claim that verifiers other than `mixed` read.

    - `claim`: none
    - `all`: the title of the page, the section and all sentences before, as in the paper
    """
    verify_passages: CountOrNone = 6
    """Passages of each source that slower verifiers read: those that cover most of the claim. With
    0, they read all, as in the paper."""
    aggregate: Literal["max", "parts"] = "parts"
    """From passages to sources, for verifiers other than `mixed`.

    - `max`: the highest score of a passage, as in the paper
    - `parts`: half of it the mean over the parts of the claim
    """
    weights: FileName = ""
    """File of weights and calibrations, written by `training.citations`. If empty, the bundled file
    is used."""
    min_words: Count = 50
    """Words that a source needs to be scored; shorter ones are not checked."""

    supported: Probability = 0.5
    """Probability of support from which a source supports its claim. Only such a source is
    suggested."""
    not_found: Probability = 0.1
    """Probability of support below which nothing of the claim was found in a source. An existing
    source is then flagged."""
    contradicted: Probability = 0.6
    """Probability that a source denies its claim from which it contradicts it, for verifiers that
    tell."""
    missing_below: Probability = 0.25
    """Probability of support below which the part that a source lacks is named, of a claim that is
    found in part."""
    fail_below: Score = 0.0
    """Score in place of `not_found` for a verifier without a calibration."""
    accept_above: Score = 0.0
    """Score in place of `supported` for a verifier without a calibration."""
    margin: Weight = 1.0
    """Margin by which a candidate must score better than an existing source that is kept, to be
    listed: in standard deviations of the reference scores, or in points without a calibration."""
    paper_rule: bool = False
    """Replace an existing source whenever a candidate supports the claim with a higher score."""

    suggest: bool = True
    """Search the knowledge base for other sources."""
    candidates: Count = 10
    """Sources of the search that are considered for each claim."""
    verify_candidates: CountOrNone = 4
    """Candidates that are verified: those that cover most of the claim. With 0, all are."""
    sparse_passages: Count = 100
    """Passages of each index, from which these sources are taken."""
    index: Literal["bm25", "dense", "both"] = "bm25"
    """Indexes that are searched.

    - `bm25`: words
    - `dense`: vectors of the knowledge base by `encoder`
    - `both`: both; a source has the sum of the reciprocals of its ranks
    """
    encoder: FileName = ""
    """Directory of the encoder of these vectors, trained by `python -m training dense_retriever`;
    if empty, all-MiniLM-L6-v2."""
    expander: FileName = ""
    """Directory of a model that writes the title of the page to cite, trained by `python -m
    training retriever`. The title is added to what BM25 is asked, as in the paper. If empty,
    queries are not expanded."""
    ranked: CountOrNone = 0
    """Sources of the search that records list, as found and as verified, for `admiral evaluate
    citations`. As many are considered as candidates."""
    k: Count = 5
    """Suggestions for each claim."""
    blocked_sites: FileName = ""
    """File of sites that cannot be sources, one host a line; lines with # are comments. Pages of
    Wikipedia and its copies never can."""

    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Arithmetic of the models.

    - `auto`: bf16 if the processor or GPU has bfloat16 arithmetic, otherwise fp32
    - `fp32`: 32-bit floating point
    - `bf16`: bfloat16
    """

    @field_validator("classifier")
    @classmethod
    def _check_classifier(cls, value: str, others: ValidationInfo) -> str:
        if others.data.get("verifier") == "cross-encoder" and not value:
            raise ValueError("is empty; give the name or the directory of a verifier")
        return value
