"""``admiral cite`` and ``admiral audit``: sources of a statement, and of a whole page."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admiral.cli.options import (
    Command,
    check_outside_folders,
    checked_text,
    output_width,
    overrides,
)
from admiral.io.progress import track_claims
from admiral.storage.output_paths import check_distinct_paths, check_page_path

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


@click.command("cite")
@click.argument("statement")
@click.option("--library", metavar="DIR", required=True, help="Library of sources.")
@click.option("--page", default="", metavar="TITLE", help="Title of the statement's page.")
@click.option("--context", default="", metavar="TEXT", help="Text before the statement.")
@click.option("-k", "--k", type=click.IntRange(min=1), help="Number of sources.  [default: 5]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON records, not readable text.")
@citation_settings_options
def cite_command(
    statement: str,
    library: str,
    page: str,
    context: str,
    k: int | None,
    as_json: bool,
    config_path: Path | None,
    assignments: tuple[str, ...],
    **flags: str | None,
) -> None:
    """Suggest sources of a library for STATEMENT, best first.

    All of them are listed with their scores; a low probability of support says that no good source
    was found, not that the statement is wrong.
    """
    from admiral.citations.citer import Citer
    from admiral.citations.verdict_file import suggestion_record

    text = checked_text(statement, "the statement")
    config = citation_config(config_path, [*overrides(assignments, flags), "suggest=true"])
    with Citer.open(library, config=config) as citer:
        sources = citer.suggest(text, k, page=page, before=context)
    for rank, source in enumerate(sources, 1):
        if as_json:
            record = suggestion_record(rank, source, None)
            click.echo(json.dumps(record, ensure_ascii=False))
        else:
            click.echo("\n".join(source_lines(f"{rank}.", source)))
    if not sources and not as_json:
        click.echo("no passage of the library shares a word with the statement")


_FILE = click.Path(path_type=Path)


@click.command("audit")
@click.argument("page", type=_FILE)
@click.option("--library", metavar="DIR", required=True, help="Library of sources.")
@click.option("--output", type=_FILE, required=True, help="HTML page to write.")
@click.option(
    "--format",
    type=click.Choice(("auto", "wikitext", "html")),
    default="auto",
    show_default=True,
    help="Format of the page; auto tells it by its beginning.",
)
@click.option(
    "--lists/--no-lists",
    default=True,
    show_default=True,
    help="Also items of lists that are no sentences.",
)
@click.option("--quiet", is_flag=True, help="Show no progress.")
@citation_settings_options
def audit_command(
    page: Path,
    library: str,
    output: Path,
    format: str,
    lists: bool,
    quiet: bool,
    config_path: Path | None,
    assignments: tuple[str, ...],
    **flags: str | None,
) -> None:
    """Check the citations of a page; write an HTML page.

    PAGE is wikitext or HTML of MediaWiki. The statements with the least support come first, each
    with the passage that supports it best, what the source lacks, and other sources of the library.
    Sources that cannot be read are listed apart: they are not checked, which is not failing.
    """
    from admiral.citations.audit_page import audit_page
    from admiral.citations.citation_records import missing_everywhere
    from admiral.citations.citer import Citer
    from admiral.citations.extract import claims_of_file
    from admiral.errors import AdmiralError
    from admiral.evaluation.pairing import count_noun
    from admiral.library import Library
    from admiral.storage.atomic_files import write_atomically

    check_distinct_paths(output, page, config_path)
    check_outside_folders(output, library)
    check_page_path(output)
    config = citation_config(config_path, overrides(assignments, flags))
    claims = list(claims_of_file(page, format=format, lists=lists))  # type: ignore[arg-type]
    if not claims:
        raise AdmiralError(
            f"{page}: holds no statement with a reference. Check the file and --format"
        )
    with Citer.open(library, config=config) as citer, Library.open(library) as sources:

        def source_text(url: str) -> str | None:
            source = sources.source(url)
            return None if source is None else source.text

        checked = citer.verify_many(claims)
        verdicts = list(track_claims(checked, done=0, total=len(claims), quiet=quiet))
        notes = [
            f"Verifier: {config.verifier}. A low score says where to look first, not that a "
            "statement is wrong."
        ]
        parts = audit_page(claims[0].page or page.name, verdicts, notes, source_text)
        write_atomically(output, (part.encode("utf-8") for part in parts))
    flagged = sum(verdict.flagged for verdict in verdicts)
    incomplete = sum(
        not verdict.flagged and bool(missing_everywhere(verdict.existing)) for verdict in verdicts
    )
    unchecked = sum(verdict.decision == "not_checked" for verdict in verdicts)
    click.echo(
        f"{output}: {count_noun(len(verdicts), 'statement')}: {flagged} flagged, {incomplete} "
        f"others with parts that no source covers, {unchecked} not checked",
        err=True,
    )
