"""``admiral fetch``: get the sources that pages cite, or list those that are missing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admiral.cli.options import progress_option
from admiral.errors import AdmiralError, RecordError
from admiral.io.progress import EXIT_INTERRUPTED

if TYPE_CHECKING:
    from admiral.citations.citation_records import CitedClaim
    from admiral.citations.extract import CitedSource
    from admiral.download.source_fetch import FetchedPages, Outcome

_LIST, _CLAIMS = ".txt", (".jsonl", ".jsonl.gz")
_MOST_SHOWN = 20  # sources that were not fetched


@click.command("fetch")
@click.argument(
    "pages", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PAGE..."
)
@click.option("--kb", metavar="DIR", required=True, help="Directory of the knowledge base.")
@click.option("--list-missing", is_flag=True, help="Print what is missing; fetch nothing.")
@click.option(
    "--archive",
    metavar="URL",
    default="",
    help="Where to look last: address of an archive with {url} and, if wanted, {date} (YYYYMMDD), "
    "such as https://web.archive.org/web/{date}id_/{url}.",
)
@click.option(
    "--delay",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="Seconds between two requests to a host; robots.txt may ask for more.",
)
@click.option("--retry", is_flag=True, help="Also try again what was refused or not found before.")
@click.option(
    "--allow-host",
    "allowed_hosts",
    multiple=True,
    metavar="HOST",
    help="Fetch also from this host (name or name:port), although its address is not public.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON records.")
@progress_option
def fetch_command(
    pages: tuple[Path, ...],
    kb: str,
    list_missing: bool,
    archive: str,
    delay: float,
    retry: bool,
    allowed_hosts: tuple[str, ...],
    as_json: bool,
    progress: bool,
) -> None:
    """Fetch the sources that pages cite, and add them to a knowledge base.

    A PAGE is wikitext or HTML of MediaWiki, a dump, claims with citations (.jsonl), or a list of
    URLs (.txt): one a line, with that of a copy after it, if there is one. Of each source, the
    archived copy that the reference names is tried first, then the page itself, then --archive.

    Rules of sites for robots are kept. Hosts with private addresses are refused, also behind
    redirects. What was fetched is kept, and the same command resumes where it stopped. The
    knowledge base is built if there is none.
    """
    from admiral.download.page_fetch import FetchLimits, PageFetcher
    from admiral.download.source_fetch import FetchedPages, WantedSource, fetch_sources

    if archive and "{url}" not in archive:
        raise AdmiralError(
            f"--archive {archive}: does not say where the address goes. Write {{url}} in it"
        )
    web, others = _cited(pages)
    if list_missing:
        _print_missing(_missing(web, kb), len(web), others, as_json)
        return
    kept = FetchedPages(Path(f"{kb.rstrip('/')}.fetched"))
    _add(kept, kb)  # what an earlier run fetched
    missing = _missing(web, kb)
    before = {each.citation.url: kept.problem(each.citation.url) for each in missing}
    before = {url: problem for url, problem in before.items() if problem and not retry}
    sources = [
        WantedSource(each.citation.url, each.citation.archive_url, each.day)
        for each in missing
        if each.citation.url not in before
    ]
    numbers = count(1)

    def report(outcome: Outcome) -> None:
        if progress:
            what = outcome.error.problem if outcome.error else "fetched"
            place = f"{next(numbers)} of {len(sources)}"
            click.echo(f"{place}: {what} {outcome.source.url}", err=True)

    async def run() -> list[Outcome]:
        async with PageFetcher(FetchLimits(delay=delay), allowed_hosts) as fetcher:
            return await fetch_sources(sources, fetcher, kept, archive=archive, report=report)

    try:
        done = asyncio.run(run())
    except KeyboardInterrupt:
        click.echo(
            f"interrupted; what was fetched is in {kept.folder}. Run the same command to resume",
            err=True,
        )
        raise SystemExit(EXIT_INTERRUPTED) from None
    without_text = _add(kept, kb)
    failed = {each.source.url: each.error for each in done if each.error is not None}
    problems = {url: error.problem for url, error in failed.items()}
    counts = {
        "sources": len(web),
        "fetched": len(done) - len(failed),
        "without_text": without_text,
        "failed": problems,
        "failed_before": len(before),
        "not_tried": len(sources) - len(done),
        "not_web": len(others),
    }
    if as_json:
        click.echo(json.dumps(counts, ensure_ascii=False))
    else:
        there = len(web) - len(_missing(web, kb))
        click.echo(
            f"{kb}: {counts['fetched']} fetched, {there} of {len(web)} sources on the web are "
            f"there; {_not_web(others)}"
        )
        if without_text:
            click.echo(f"without text: {without_text}")
        messages = [*map(str, failed.values()), *before.values()]
        for message in messages[:_MOST_SHOWN]:
            click.echo(f"not fetched: {message}")
        if len(messages) > _MOST_SHOWN:
            click.echo(f"not fetched: {len(messages) - _MOST_SHOWN} others")
    remedy = (
        "`--list-missing` prints what to bring by other means: write a line "
        '{"url": "...", "html": "..."} for each page into pages.jsonl, then `admiral '
        f"{'add' if Path(kb).exists() else 'index'} --sources pages.jsonl --kb {kb}`; a PDF file "
        "is added with --base-url, the URL of its folder"
    )
    if set(problems.values()) == {"offline"} and not counts["fetched"]:
        raise AdmiralError(f"no host is known: this machine may be offline. {remedy}")
    if (failed or before) and not as_json:
        click.echo(remedy)
    if failed and not counts["fetched"]:
        raise SystemExit(1)


def _add(kept: FetchedPages, kb: str) -> int:
    """Add the pages that were not added yet; return how many of them have no text."""
    from admiral.kb.store import is_knowledge_base
    from admiral.sources.source_files import SourceFiles
    from admiral.sources.source_indexing import add_sources, build_sources

    archives = kept.not_added()
    if not archives:
        return 0
    sources = list(SourceFiles(archives, skip_bad=True))
    (add_sources if is_knowledge_base(Path(kb)) else build_sources)(sources, kb)
    kept.note_added()
    return sum(not source.text.strip() for source in sources)


def _cited(pages: Sequence[Path]) -> tuple[list[CitedSource], list[CitedSource]]:
    """Return the sources that pages cite on the web, and others."""
    from admiral.citations.citation_file import read_citations
    from admiral.citations.extract import cited_sources, claims_of_file

    def claims() -> Iterator[CitedClaim]:
        for page in pages:
            if page.name.endswith(_CLAIMS):
                yield from read_citations(page)
            elif page.suffix == _LIST:
                yield from _listed(page)
            else:
                yield from claims_of_file(page)

    web, others = cited_sources(claims())
    if not web and not others:
        raise AdmiralError(f"{', '.join(map(str, pages))}: cites nothing. Check the files")
    return web, others


def _listed(path: Path) -> Iterator[CitedClaim]:
    """Yield a claim for each line of a list of URLs."""
    from admiral.citations.citation_records import Citation, CitedClaim
    from admiral.io.streams import open_binary
    from admiral.sources.canonical_urls import is_web

    with open_binary(path) as file:
        for number, line in enumerate(file, 1):
            try:
                words = line.decode("utf-8-sig").split()
            except UnicodeDecodeError as error:
                raise RecordError(f"{path}:{number}", "", "is not UTF-8", "Convert it") from error
            if not words or words[0].startswith("#"):
                continue
            if len(words) > 2 or not all(map(is_web, words)):
                raise RecordError(
                    f"{path}:{number}",
                    "url",
                    f"{' '.join(words)[:100]!r} is no URL, alone or with that of a copy",
                    "Write one URL a line; to fetch what a page cites, name it with .wiki or .html",
                )
            url, archive_url = (*words, "")[:2]
            yield CitedClaim(str(number), "", citations=(Citation(url, archive_url=archive_url),))


def _missing(sources: Sequence[CitedSource], kb: str) -> list[CitedSource]:
    from admiral.kb.store import is_knowledge_base
    from admiral.sources.open_sources import Sources

    if not is_knowledge_base(Path(kb)):
        return list(sources)
    with Sources.open(kb) as opened:
        return [each for each in sources if opened.source(each.citation.url) is None]


def _print_missing(
    missing: Sequence[CitedSource], count: int, others: Sequence[CitedSource], as_json: bool
) -> None:
    from admiral.records import json_of

    for status, sources in (("missing", missing), ("not_web", others)):
        for source in sources:
            citation = source.citation
            if as_json:
                record = {"status": status, "claims": source.claims, **json_of(citation)}
                click.echo(json.dumps(record, ensure_ascii=False))
            elif status == "missing":
                click.echo(" ".join(filter(None, (citation.url, citation.archive_url))))
            else:
                isbn = citation.isbn and f"ISBN {citation.isbn}"
                names = filter(None, (citation.author, citation.title, citation.date, isbn))
                named = ". ".join(names) or f"reference {citation.name}"
                click.echo(f"# not on the web: {named}")
    click.echo(
        f"{len(missing)} of {count} sources on the web are missing; {_not_web(others)}", err=True
    )


def _not_web(others: Sequence[CitedSource]) -> str:
    verb = "source is" if len(others) == 1 else "sources are"
    return f"{len(others)} {verb} not on the web"
