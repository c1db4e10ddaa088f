"""``admiral library``: build a library of sources, change it and search it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from admiral.cli.fetch_sources import fetch_command
from admiral.cli.options import (
    checked_text,
    count_option,
    file_limit_options,
    print_report,
    progress_option,
)
from admiral.errors import AdmiralError

if TYPE_CHECKING:
    from admiral.io.limited_reading import FileLimits
    from admiral.kb import KbInfo
    from admiral.kb.vectors import SentenceEncoder
    from admiral.library import LibraryChange, LibraryReport, ScoredPassage


Command = TypeVar("Command", bound=Callable[..., Any])

_OVER_LIMITS = "took longer than --file-seconds, and so without text"
_library = click.option("--library", metavar="DIR", required=True, help="Directory of the library.")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON records.")
_wait = click.option("--wait", is_flag=True, help="Wait for another writer instead of failing.")
_dense = click.option(
    "--dense",
    metavar="minilm|DIR",
    help="Encoder of the vectors of passages, all-MiniLM-L6-v2 or a directory; about 390 bytes a "
    "passage.",
)


def _source_options(command: Command) -> Command:
    for option in (
        click.option(
            "--format",
            default="auto",
            show_default=True,
            help="Format of the files: auto (by suffix), jsonl, html, warc, text or document (PDF, "
            "DOCX and others).",
        ),
        click.option(
            "--base-url", default="", help="URL of the folder of files that do not name theirs."
        ),
        click.option("--skip-bad", is_flag=True, help="Skip and count bad records."),
        file_limit_options,
    ):
        command = option(command)
    return command


@click.group("library")
def library_command() -> None:
    """Keep the sources in which citations are looked up.

    A library is a knowledge base of pages with their URLs, cut into overlapping passages. Other
    processes may read it while it changes.
    """


library_command.add_command(fetch_command)


@library_command.command("build")
@click.argument("sources", metavar="SOURCES...", nargs=-1, required=True, type=click.Path())
@_library
@_source_options
@click.option("--words", default=100, show_default=True, help="Number of words in a passage.")
@click.option(
    "--stride",
    default=50,
    show_default=True,
    help="Number of words from one passage to the next; as many as --words for no overlap, as in "
    "SIDE.",
)
@click.option(
    "--bm25", default="bm25s", show_default=True, help="BM25 backend: bm25s, or lucene (Java)."
)
@click.option("--k1", default=0.9, show_default=True, help="Term frequency saturation of BM25.")
@click.option("--b", default=0.4, show_default=True, help="Length normalisation of BM25.")
@_dense
@click.option(
    "--on-duplicate",
    default="skip",
    show_default=True,
    help="A second source with the same URL is left out (skip), or an error.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing library.")
@progress_option
@_json
def build_command(
    sources: tuple[str, ...],
    library: str,
    format: str,
    base_url: str,
    skip_bad: bool,
    limits: FileLimits,
    dense: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Build a library from files or folders of pages.

    SOURCES are JSON Lines with url, title and text, sentences or html (or records of WiCE or
    WAFER), HTML pages, WARC or WET archives, text files, and documents: PDF, DOCX and all others
    that `admiral index` reads. Files that state no URL are named by their paths.
    """
    from admiral.library import build_library
    from admiral.library.readers import SourceFiles

    files = SourceFiles(sources, format=format, base_url=base_url, skip_bad=skip_bad, limits=limits)
    report = build_library(library, files, encoder=_encoder(dense) if dense else None, **options)
    if as_json:
        counts = {"bad": files.bad, "over_limits": files.over_limits}
        click.echo(json.dumps({**asdict(report), "path": str(report.path), **counts}))
        return
    left_out = {
        "without text": report.empty,
        "left out, URL known": report.duplicates,
        "bad records skipped": files.bad,
        _OVER_LIMITS: files.over_limits,
    }
    line = f"{sources_and_passages(report)}, {report.bytes / 1e6:.1f} MB"
    print_report(report, as_json, line, left_out)


@library_command.command("add")
@click.argument("sources", metavar="SOURCES...", nargs=-1, required=True, type=click.Path())
@_library
@_source_options
@click.option(
    "--on-duplicate",
    default="replace",
    show_default=True,
    help="A source whose URL is known replaces the old one, is left out (skip), or is an error.",
)
@_wait
@progress_option
@_json
def add_command(
    sources: tuple[str, ...],
    library: str,
    format: str,
    base_url: str,
    skip_bad: bool,
    limits: FileLimits,
    progress: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Add sources to a library, or replace them by newer ones."""
    from admiral.graph import update_graph
    from admiral.library import add_sources
    from admiral.library.readers import SourceFiles

    files = SourceFiles(sources, format=format, base_url=base_url, skip_bad=skip_bad, limits=limits)
    report = add_sources(library, files, progress=progress, also=[update_graph], **options)
    print_change(report, as_json)
    if not as_json and files.over_limits:
        click.echo(f"{_OVER_LIMITS}: {files.over_limits:,}")


@library_command.command("remove")
@click.argument("urls", metavar="URL...", nargs=-1, required=True)
@_library
@click.option("--ignore-missing", is_flag=True, help="Count unknown URLs instead of failing.")
@_wait
@progress_option
@_json
def remove_command(
    urls: tuple[str, ...], library: str, progress: bool, as_json: bool, **options: Any
) -> None:
    """Remove sources from a library by their URLs, in any form."""
    from admiral.graph import update_graph
    from admiral.library import remove_sources

    report = remove_sources(library, urls, progress=progress, also=[update_graph], **options)
    print_change(report, as_json)


@library_command.command("embed")
@_library
@_dense
@_wait
@progress_option
@_json
def embed_command(
    library: str, dense: str | None, wait: bool, progress: bool, as_json: bool
) -> None:
    """Store the vectors of all passages that have none, for dense retrieval."""
    from admiral.kb import embed, info
    from admiral.library import LibraryChange

    counts = info(library).counts  # before a model is loaded
    done = embed(library, _encoder(dense or "minilm"), wait=wait, progress=progress)
    report = LibraryChange(
        done.path,
        counts["documents"],
        counts.get("passages", 0),
        embedded=done.documents,
        seconds=done.seconds,
    )
    print_change(report, as_json)


@library_command.command("info")
@_library
@_json
def info_command(library: str, as_json: bool) -> None:
    """Show the counts, the settings and the sizes of a library."""
    from admiral.kb import info

    facts = info(library)
    if as_json:
        click.echo(json.dumps(_sources_json(facts)))
        return
    print_information(facts)


@library_command.command("search")
@click.argument("query")
@_library
@count_option("Maximum number of passages.", most=10_000)
@_dense
@_json
def search_command(query: str, library: str, count: int, dense: str | None, as_json: bool) -> None:
    """Search the passages of a library by BM25, or by vectors with --dense.

    As with grep, the exit status is 1 if nothing is found.
    """
    from admiral.library import Library

    text = checked_text(query, "QUERY")
    with Library.open(library) as opened:
        index = opened.dense(_encoder(dense)) if dense else opened
        (found,) = index.search([text], count)
    if not found:
        raise AdmiralError(f"{library}: no passage has any of these words. Use others")
    print_passages(found, as_json)


def _encoder(name: str) -> SentenceEncoder:
    from admiral.config import RetrievalConfig
    from admiral.retrieval.stage_assembly import build_passage_encoder

    directory = None if name == "minilm" else Path(name)
    return build_passage_encoder(RetrievalConfig(), directory)


def _sources_json(facts: KbInfo) -> dict[str, Any]:
    from admiral.library.open_library import SETTINGS

    return {
        "path": facts.path,
        "sources": facts.counts["documents"],
        "passages": facts.counts.get("passages", 0),
        "empty": facts.counts.get("empty", 0),
        "embedded": facts.embedded,
        "sizes": facts.sizes,
        "settings": {name: facts.settings[name] for name in SETTINGS if name in facts.settings},
    }


def print_information(facts: KbInfo) -> None:
    """Print the facts about a library, one a line."""
    record = _sources_json(facts)
    sizes = ", ".join(f"{name} {size / 1e6:.1f}" for name, size in facts.sizes.items())
    embedded = ", ".join(f"{count:,} by {name}" for name, count in facts.embedded.items())
    each = facts.sizes["total"] / record["passages"] if record["passages"] else 0
    shown = {
        "sources": f"{record['sources']:,} ({record['empty']:,} without text)",
        "passages": f"{record['passages']:,}, {each:.0f} bytes each",
        "vectors": embedded or "none",
        "sizes (MB)": sizes,
        **{name: str(value) for name, value in record["settings"].items()},
    }
    width = max(map(len, shown))
    for name, text in shown.items():
        click.echo(f"{name:<{width}}  {text}")


def print_passages(found: Sequence[ScoredPassage], as_json: bool) -> None:
    """Print the passages that a search has found, as JSON records or as text."""
    from admiral.io.rendering import printable

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
    counts = {
        "added": report.added,
        "replaced": report.replaced,
        "removed": report.removed,
        "skipped (URL known)": report.skipped,
        "URLs not found": report.missing,
        "sources embedded": report.embedded,
    }
    print_report(report, as_json, sources_and_passages(report), counts)


def sources_and_passages(report: LibraryReport | LibraryChange) -> str:
    """Return the numbers of sources and passages of a report, in words."""
    from admiral.evaluation import count_noun

    return f"{count_noun(report.sources, 'source')}, {count_noun(report.passages, 'passage')}"
