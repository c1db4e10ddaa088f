"""Options and readable output of the commands on citations."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admiral.cli.options import Command, output_width

if TYPE_CHECKING:
    from admiral.citations.citation_records import CitationVerdict, JointScore, ScoredSource
    from admiral.citations.citation_settings import CitationConfig

_INDENT = "    "


def citation_settings_options(command: Command) -> Command:
    """Add --verifier, --classifier, --config and --set."""
    for option in (
        click.option(
            "--set",
            "assignments",
            multiple=True,
            metavar="KEY=VALUE",
            help="Change a setting; repeatable. `admiral settings --citations` describes them.",
        ),
        click.option(
            "--config",
            "config_path",
            type=click.Path(path_type=Path),
            help="YAML file of settings. Options and --set override it.",
        ),
        click.option("--classifier", metavar="DIR", help="Classifier of pairs to verify with."),
        click.option("--verifier", metavar="NAME", help="Verifier.  [default: mixed]"),
    ):
        command = option(command)
    return command


def citation_config(path: Path | None, assignments: Sequence[str]) -> CitationConfig:
    """Return the settings of a file and ``key=value`` overrides.

    Raises AdmiralError if a setting is invalid, or the encoder of the verifier is not installed.
    """
    from admiral.citations.citation_settings import load_citation_config
    from admiral.requirements import minilm_directory

    config = load_citation_config(path, assignments)
    bundled = config.verifier == "mixed" and not config.weights
    if bundled or config.verifier in ("similarity", "late"):
        minilm_directory()  # now, rather than after torch is imported
    return config


def verdict_lines(verdict: CitationVerdict) -> Iterator[str]:
    """Yield the lines of a verdict as readable text."""
    yield from _wrapped(f"{verdict.decision.upper().replace('_', ' ')}  {verdict.claim.claim}", "")
    for source in verdict.existing:
        yield from source_lines("cites", source)
    if verdict.together is not None:
        yield f"  together: {', '.join(score_facts(verdict.together))}"
    for rank, source in enumerate(verdict.suggestions, 1):
        yield from source_lines(f"{rank}.", source)
    for warning in verdict.warnings:
        yield from _wrapped(f"warning: {warning}", "  ")


def source_lines(label: str, source: ScoredSource) -> Iterator[str]:
    """Yield the lines of a source after a label."""
    name = " ".join(filter(None, [source.title, source.url and f"<{source.url}>"])) or "no URL"
    yield from _wrapped(f"{label} {name}", "  ")
    if source.score is None:
        yield f"{_INDENT}not checked: {source.status.replace('_', ' ')}"
        return
    yield from _wrapped(", ".join(score_facts(source)), _INDENT)
    for sentence in source.sentences:
        yield from _wrapped(f"“{' '.join(sentence.text.split())}”", _INDENT)
    if source.missing:
        yield from _wrapped(f"missing: {'; '.join(source.missing)}", _INDENT)


def score_facts(scored: ScoredSource | JointScore) -> list[str]:
    """Return a description of a score."""
    facts = [f"score {scored.score:.2f}"]
    if scored.probability is not None:
        facts.append(f"probability of support {scored.probability:.2f}")
    if scored.percentile is not None:
        facts.append(f"better than {scored.percentile:.0f}% of the reference citations")
    return facts


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, output_width(), initial_indent=indent, subsequent_indent=indent + "  "
    )
