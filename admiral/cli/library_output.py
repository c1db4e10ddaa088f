"""What ``admiral library`` prints."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from admiral.library import LibraryChange, LibraryInfo, LibraryReport, ScoredPassage


def print_information(facts: LibraryInfo) -> None:
    """Print the facts about a library, one a line."""
    sizes = ", ".join(f"{name} {size / 1e6:.1f}" for name, size in facts.sizes.items())
    embedded = ", ".join(f"{count:,} by {name}" for name, count in facts.embedded.items())
    each = facts.sizes["total"] / facts.passages if facts.passages else 0
    shown = {
        "sources": f"{facts.sources:,} ({facts.empty:,} without text)",
        "passages": f"{facts.passages:,}, {each:.0f} bytes each",
        "changes": f"{facts.added:,} added, {facts.removed:,} removed",
        "vectors": embedded or "none",
        "sizes (MB)": sizes,
        **{name: str(value) for name, value in facts.settings.items()},
    }
    width = max(map(len, shown))
    for name, text in shown.items():
        click.echo(f"{name:<{width}}  {text}")


def print_passages(found: Sequence[ScoredPassage], as_json: bool) -> None:
    """Print the passages that a search has found, as JSON records or as text."""
    from admiral.io.text_rendering import printable

    for scored in found:
        passage = scored.passage
        if as_json:
            click.echo(json.dumps({"score": round(scored.score, 4), **asdict(passage)}))
        else:
            title, url = printable(passage.title), printable(passage.url)
            text = printable(" ".join(passage.text.split()))
            click.echo(f"{scored.score:7.3f}  {title} <{url}>\n         {text}")


def print_change(report: LibraryChange, as_json: bool) -> None:
    """Print the report of a change."""
    if as_json:
        click.echo(json.dumps({**asdict(report), "path": str(report.path)}))
        return
    click.echo(f"{report.path}: {sources_and_passages(report)}, in {report.seconds:.1f} s")
    print_counts(
        {
            "added": report.added,
            "replaced": report.replaced,
            "removed": report.removed,
            "skipped (URL known)": report.skipped,
            "URLs not found": report.missing,
            "passages embedded": report.embedded,
            "waiting for `admiral library compact`": report.pending,
        }
    )


def sources_and_passages(report: LibraryReport | LibraryChange) -> str:
    """Return the numbers of sources and passages of a report, in words."""
    from admiral.evaluation.pairing import count_noun

    return f"{count_noun(report.sources, 'source')}, {count_noun(report.passages, 'passage')}"


def print_counts(counts: dict[str, int]) -> None:
    """Print the counts that are not zero, one a line."""
    for name, count in counts.items():
        if count:
            click.echo(f"{name}: {count:,}")
