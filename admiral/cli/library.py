"""``admiral library``: build a library of sources, change it, check it and search it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import click

from admiral.cli.library_output import (
    print_change,
    print_counts,
    print_information,
    print_passages,
    sources_and_passages,
)
from admiral.cli.options import checked_text, file_limit_options
from admiral.errors import AdmiralError

if TYPE_CHECKING:
    from admiral.io.limited_reading import FileLimits
    from admiral.kb.embeddings import SentenceEncoder

Command = TypeVar("Command", bound=Callable[..., Any])

_OVER_LIMITS = "took longer than --file-seconds, and so without text"
_library = click.option("--library", metavar="DIR", required=True, help="Directory of the library.")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON records.")
_progress = click.option("--progress/--no-progress", default=True, help="Show progress.")
_wait = click.option("--wait", is_flag=True, help="Wait for another writer instead of failing.")
_dense = click.option(
    "--dense",
    type=click.Choice(["minilm"]),
    help="Encoder of the vectors of passages; about 390 bytes a passage.",
)


def _source_options(command: Command) -> Command:
    """Add the options that say how sources are read."""
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

    A library holds pages with their URLs, cut into overlapping passages. Other processes may read
    it while it changes.
    """


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
@_progress
@_json
def build_command(
    sources: tuple[str, ...],
    library: str,
    format: str,
    base_url: str,
    skip_bad: bool,
    limits: FileLimits,
    words: int,
    stride: int,
    bm25: str,
    k1: float,
    b: float,
    dense: str | None,
    on_duplicate: str,
    overwrite: bool,
    progress: bool,
    as_json: bool,
) -> None:
    """Build a library from files or folders of pages.

    SOURCES are JSON Lines with url, title and text, sentences or html (or records of WiCE or
    WAFER), HTML pages, WARC or WET archives, text files, and documents: PDF, DOCX, ODT, RTF, PPTX,
    XLSX, ODS and EPUB.
    """
    from admiral.library import build_library
    from admiral.library.readers import SourceFiles

    files = SourceFiles(sources, format=format, base_url=base_url, skip_bad=skip_bad, limits=limits)
    report = build_library(
        library,
        files,
        words=words,
        stride=stride,
        bm25=bm25,
        k1=k1,
        b=b,
        encoder=_encoder() if dense else None,
        on_duplicate=on_duplicate,
        overwrite=overwrite,
        progress=progress,
    )
    if as_json:
        counts = {"bad": files.bad, "over_limits": files.over_limits}
        click.echo(json.dumps({**asdict(report), "path": str(report.path), **counts}))
        return
    click.echo(
        f"{report.path}: {sources_and_passages(report)}, "
        f"{report.bytes / 1e6:.1f} MB, in {report.seconds:.1f} s"
    )
    print_counts(
        {
            "without text": report.empty,
            "left out, URL known": report.duplicates,
            "bad records skipped": files.bad,
            _OVER_LIMITS: files.over_limits,
        }
    )


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
@_progress
@_json
def add_command(
    sources: tuple[str, ...],
    library: str,
    format: str,
    base_url: str,
    skip_bad: bool,
    limits: FileLimits,
    on_duplicate: str,
    wait: bool,
    progress: bool,
    as_json: bool,
) -> None:
    """Add sources to a library, or replace them by newer ones."""
    from admiral.library import add_sources
    from admiral.library.readers import SourceFiles

    files = SourceFiles(sources, format=format, base_url=base_url, skip_bad=skip_bad, limits=limits)
    report = add_sources(library, files, on_duplicate=on_duplicate, wait=wait, progress=progress)
    print_change(report, as_json)
    if not as_json:
        print_counts({_OVER_LIMITS: files.over_limits})


@library_command.command("remove")
@click.argument("urls", metavar="URL...", nargs=-1, required=True)
@_library
@click.option("--ignore-missing", is_flag=True, help="Count unknown URLs instead of failing.")
@_wait
@_progress
@_json
def remove_command(
    urls: tuple[str, ...],
    library: str,
    ignore_missing: bool,
    wait: bool,
    progress: bool,
    as_json: bool,
) -> None:
    """Remove sources from a library by their URLs, in any form."""
    from admiral.library import remove_sources

    report = remove_sources(
        library, urls, ignore_missing=ignore_missing, wait=wait, progress=progress
    )
    print_change(report, as_json)


@library_command.command("embed")
@_library
@_wait
@_progress
@_json
def embed_command(library: str, wait: bool, progress: bool, as_json: bool) -> None:
    """Store the vectors of all passages that have none, for dense retrieval."""
    from admiral.library import embed_passages

    print_change(embed_passages(library, _encoder(), wait=wait, progress=progress), as_json)


@library_command.command("compact")
@_library
@_wait
@_progress
@_json
def compact_command(library: str, wait: bool, progress: bool, as_json: bool) -> None:
    """Merge the changes of a library; afterwards it is as if newly built."""
    from admiral.library import compact_library

    print_change(compact_library(library, wait=wait, progress=progress), as_json)


@library_command.command("info")
@_library
@_json
def info_command(library: str, as_json: bool) -> None:
    """Show the counts, the settings and the sizes of a library."""
    from admiral.library import describe_library

    facts = describe_library(library)
    if as_json:
        click.echo(json.dumps(facts.to_json()))
        return
    print_information(facts)


@library_command.command("verify")
@_library
@_progress
def verify_command(library: str, progress: bool) -> None:
    """Check every file and passage of a library; the exit status is 1 if anything is wrong."""
    from admiral.library import library_problems

    problems = library_problems(library, progress=progress)
    click.echo("\n".join(problems) if problems else f"{library}: sound")
    if problems:
        count = f"{len(problems)} problem{'s' * (len(problems) > 1)}"
        raise AdmiralError(f"{library}: {count}. Build it again with `admiral library build`.")


@library_command.command("search")
@click.argument("query")
@_library
@click.option(
    "-k",
    "--k",
    "count",
    type=click.IntRange(1, 10_000),
    default=10,
    show_default=True,
    help="Maximum number of passages.",
)
@_dense
@_json
def search_command(query: str, library: str, count: int, dense: str | None, as_json: bool) -> None:
    """Search the passages of a library by BM25, or by vectors with --dense.

    As with grep, the exit status is 1 if nothing is found.
    """
    from admiral.library import Library

    text = checked_text(query, "QUERY")
    with Library.open(library) as opened:
        index = opened.dense(_encoder()) if dense else opened
        (found,) = index.search([text], count)
    if not found:
        raise AdmiralError(f"{library}: no passage has any of these words. Use others")
    print_passages(found, as_json)


def _encoder() -> SentenceEncoder:
    from admiral.config import RetrievalConfig
    from admiral.retrieval.stage_assembly import build_passage_encoder

    return build_passage_encoder(RetrievalConfig())
