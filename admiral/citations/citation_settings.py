"""Settings of the verification of citations, declared once as those of retrieval are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from admiral.citations.claim_context import CONTEXT_FORMS
from admiral.storage.bundled_names import VERIFIER
from admiral.storage.declared_settings import declared_settings, documented, setting, value_problems

_COUNT = (1, 1_000_000)
_FROM_0 = (0, 1_000_000)
_SCORE = (-1_000_000, 1_000_000)

#: Verifiers by name, and what they are.
VERIFIERS = {
    "mixed": "several verifiers and counts of uncovered words, with fitted weights",
    "coverage": "share of the claim's words, weighted by rarity; needs no model",
    "similarity": "all-MiniLM-L6-v2, sentences as vectors",
    "late": "all-MiniLM-L6-v2, token by token",
    "proof": "the proof of the judge `calibrated`",
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
        "Model of the verifier `cross-encoder`: `mini-verifier`, the bundled one, the directory of "
        "another one or of any Hugging Face sequence classifier of claims and evidence, or "
        "`module:Class`, your own.",
        is_file=True,
    )
    context: str = setting(
        "claim",
        "Context of the claim that verifiers other than `mixed` read.",
        choices={
            CONTEXT_FORMS[0]: "none",
            CONTEXT_FORMS[1]: "the title of the page",
            CONTEXT_FORMS[2]: "title and section",
            CONTEXT_FORMS[3]: "title, section and the sentence before",
            CONTEXT_FORMS[4]: "title, section and all sentences before",
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

    fail_percentile: float = setting(
        10.0,
        "An existing source fails if its score is below this percentile of the reference citations "
        "of the verifier.",
        section="Decisions",
        bounds=(0, 100),
    )
    fail_probability: float = setting(
        0.0,
        "If above 0, an existing source fails below this probability of support, instead of below "
        "a percentile.",
        bounds=(0, 1),
    )
    accept: float = setting(
        0.3,
        "Probability of support from which a candidate is good enough to replace a failing source.",
        bounds=(0, 1),
    )
    fail_below: float = setting(
        0.0,
        "An existing source fails below this score, if the verifier has no calibration.",
        bounds=_SCORE,
    )
    accept_above: float = setting(
        0.0,
        "A candidate is good enough from this score on, if the verifier has no calibration.",
        bounds=_SCORE,
    )
    margin: float = setting(
        1.0,
        "How many standard deviations of the reference scores (or points, without a calibration) a "
        "candidate must be better than an existing source that does not fail, to be listed.",
        bounds=_FROM_0,
    )
    paper_rule: bool = setting(
        False, "Replace an existing source whenever a candidate has a higher score."
    )

    suggest: bool = setting(True, "Search the library for other sources.", section="Suggestions")
    candidates: int = setting(
        10, "Sources of the search that are verified for each claim.", bounds=_COUNT
    )
    sparse_passages: int = setting(
        100, "Passages of the search, from which these sources are taken.", bounds=_COUNT
    )
    k: int = setting(5, "Suggestions for each claim.", bounds=_COUNT)

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
    from admiral.storage.yaml_settings import read_settings

    return read_settings(CitationConfig, _problems, path, overrides)


def _problems(config: CitationConfig) -> Iterator[tuple[str, str]]:
    """Yield (key, what is wrong and what would be right) for each value that is not allowed."""
    yield from value_problems(config)
    if config.verifier == "cross-encoder" and not config.classifier:
        yield "classifier", "is empty; give the name or the directory of a verifier"
