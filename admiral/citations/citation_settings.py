"""Settings of the verification of citations, declared once as those of retrieval are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from admiral.requirements import VERIFIER
from admiral.storage.declared_settings import declared_settings, documented, setting, value_problems

_COUNT = (1, 1_000_000)
_FROM_0 = (0, 1_000_000)
_SCORE = (-1_000_000, 1_000_000)

#: Verifiers by name, and what they are.
VERIFIERS = {
    "mixed": "several verifiers and counts of uncovered words, with fitted weights",
    "coverage": "share of the claim's words, weighted by rarity; needs no model",
    "late": "all-MiniLM-L6-v2, token by token",
    "cross-encoder": "the model in `classifier`, which reads the sentences of a passage",
}


@documented
@dataclass
class CitationConfig:
    """Settings of the verification of citations."""

    verifier: str = setting(
        "mixed", "Verifier of sources.", section="Verification", choices=VERIFIERS
    )
    classifier: str = setting(
        VERIFIER,
        "Model that `mixed` reads the best sentences of a source with, and that of the verifier "
        "`cross-encoder`: `mini-verifier`, the bundled one, the directory of another one or of any "
        "Hugging Face sequence classifier of claims and evidence, or `module:Class`, your own.",
        is_file=True,
    )
    context: str = setting(
        "claim",
        "Context of the claim that verifiers other than `mixed` read.",
        choices={
            "claim": "none",
            "all": "the title of the page, the section and all sentences before, as in the paper",
        },
    )
    verify_passages: int = setting(
        6,
        "Passages of each source that slower verifiers read: those that cover most of the claim. "
        "With 0, they read all, as in the paper.",
        bounds=_FROM_0,
    )
    aggregate: str = setting(
        "parts",
        "From passages to sources, for verifiers other than `mixed`.",
        choices={
            "max": "the highest score of a passage, as in the paper",
            "parts": "half of it the mean over the parts of the claim",
        },
    )
    weights: str = setting(
        "",
        "File of weights and calibrations, written by `training.citations`. If empty, the bundled "
        "file is used.",
        is_file=True,
    )
    min_words: int = setting(
        50, "Words that a source needs to be scored; shorter ones are not checked.", bounds=_COUNT
    )

    supported: float = setting(
        0.5,
        "Probability of support from which a source supports its claim. Only such a source is "
        "suggested.",
        section="Decisions",
        bounds=(0, 1),
    )
    not_found: float = setting(
        0.1,
        "Probability of support below which nothing of the claim was found in a source. An "
        "existing source is then flagged.",
        bounds=(0, 1),
    )
    contradicted: float = setting(
        0.6,
        "Probability that a source denies its claim from which it contradicts it, for verifiers "
        "that tell.",
        bounds=(0, 1),
    )
    missing_below: float = setting(
        0.25,
        "Probability of support below which the part that a source lacks is named, of a claim that "
        "is found in part.",
        bounds=(0, 1),
    )
    fail_below: float = setting(
        0.0,
        "Score in place of `not_found` for a verifier without a calibration.",
        bounds=_SCORE,
    )
    accept_above: float = setting(
        0.0,
        "Score in place of `supported` for a verifier without a calibration.",
        bounds=_SCORE,
    )
    margin: float = setting(
        1.0,
        "How many standard deviations of the reference scores (or points, without a calibration) a "
        "candidate must be better than an existing source that is kept, to be listed.",
        bounds=_FROM_0,
    )
    paper_rule: bool = setting(
        False,
        "Replace an existing source whenever a candidate supports the claim with a higher score.",
    )

    suggest: bool = setting(True, "Search the library for other sources.", section="Suggestions")
    candidates: int = setting(
        10, "Sources of the search that are considered for each claim.", bounds=_COUNT
    )
    verify_candidates: int = setting(
        4,
        "Candidates that are verified: those that cover most of the claim. With 0, all are.",
        bounds=_FROM_0,
    )
    sparse_passages: int = setting(
        100, "Passages of each index, from which these sources are taken.", bounds=_COUNT
    )
    index: str = setting(
        "bm25",
        "Indexes that are searched.",
        choices={
            "bm25": "words",
            "dense": "vectors of the library by `encoder`",
            "both": "both; a source has the sum of the reciprocals of its ranks",
        },
    )
    encoder: str = setting(
        "",
        "Directory of the encoder of the library's vectors, trained by `training.dense_retriever`; "
        "if empty, all-MiniLM-L6-v2.",
        is_file=True,
    )
    expander: str = setting(
        "",
        "Directory of a model that writes the title of the page to cite, trained by "
        "`training.retriever`. The title is added to what is searched in the words of the library, "
        "as in the paper. If empty, queries are not expanded.",
        is_file=True,
    )
    ranked: int = setting(
        0,
        "Sources of the search that records list, as found and as verified, for `admiral evaluate "
        "citations`. As many are considered as candidates.",
        bounds=_FROM_0,
    )
    k: int = setting(5, "Suggestions for each claim.", bounds=_COUNT)
    blocked_sites: str = setting(
        "",
        "File of sites that cannot be sources, one host a line; lines with # are comments. Pages "
        "of Wikipedia and its copies never can.",
        is_file=True,
    )

    batch_size: int = setting(
        8, "Claims processed together.", section="Speed", affects_results=False, bounds=_COUNT
    )
    device: str = setting(
        "auto",
        "Device of the models: `auto`, `cpu`, `mps`, `cuda` or `cuda:N`.",
        pattern="auto|cpu|mps|cuda(:(0|[1-9][0-9]{0,8}))?",
        format="auto, cpu, mps, cuda or cuda:N",
        affects_results=False,
    )
    threads: int = setting(
        0, "CPU threads; 0 leaves the number to torch.", bounds=(0, 1024), affects_results=False
    )
    precision: str = setting(
        "auto",
        "Arithmetic of the models.",
        choices={
            "auto": "bf16 if the processor or GPU has bfloat16 arithmetic, otherwise fp32",
            "fp32": "32-bit floating point",
            "bf16": "bfloat16",
        },
    )

    def validate(self) -> None:
        """Check all settings.

        Raises AdmiralError (Naming the first setting whose value is not allowed).
        """
        from admiral.errors import AdmiralError

        for key, problem in _problems(self):
            raise AdmiralError(f"setting {key!r}: {problem}")

    def settings(self) -> dict[str, Any]:
        """Return the settings that decide what a run returns, without those of speed."""
        values = asdict(self)
        return {
            declared.name: declared.type(values[declared.name])
            for declared in declared_settings(type(self))
            if declared.affects_results
        }


def load_citation_config(path: Path | None = None, overrides: Sequence[str] = ()) -> CitationConfig:
    """Return checked settings from a file and ``key=value`` overrides.

    Raises AdmiralError as `admiral.config.load_config`.
    """
    from admiral.storage.declared_settings import read_settings

    return read_settings(CitationConfig, _problems, path, overrides)


def _problems(config: CitationConfig) -> Iterator[tuple[str, str]]:
    """Yield (key, what is wrong and what would be right) for each value that is not allowed."""
    yield from value_problems(config)
    if config.verifier == "cross-encoder" and not config.classifier:
        yield "classifier", "is empty; give the name or the directory of a verifier"
