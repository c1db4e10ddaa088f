"""``admiral fetch``: get the sources that pages cite, or list those that are missing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
from pydantic import Field

from admiral.cli import options
from admiral.cli.options import Json, argument, command, option, print_record
from admiral.errors import AdmiralError, RecordError

if TYPE_CHECKING:
    from admiral.citations.citation_records import CitedClaim
    from admiral.citations.extract import CitedSource
    from admiral.download.source_fetch import FetchedPages, Outcome, WantedSource

_LIST, _CLAIMS = ".txt", (".jsonl", ".jsonl.gz")
_MOST_SHOWN = 20  # sources that were not fetched


class Fetch(options.Progress):
    """Fetch the sources that pages cite, and add them to a knowledge base.

    A PAGE is wikitext or HTML of MediaWiki, a dump, claims with citations (.jsonl), or a list of
    URLs (.txt): one a line, with that of a copy after it, if there is one. Of each source, the
    archived copy that the reference names is tried first, then the page itself, then --archive.

    Rules of sites for robots are kept. Hosts with private addresses are refused, also behind
    redirects. What was fetched is kept, and the same command resumes where it stopped. The
    knowledge base is built if there is none.

    For example:
      admiral fetch Joe_Hipp.wiki --kb my-sources
      admiral fetch Joe_Hipp.wiki --kb my-sources --list-missing
    """

    pages: Annotated[tuple[Path, ...], argument("PAGE...")]
    kb: Annotated[str, option(metavar="DIR")]
    """Directory of the knowledge base."""
    list_missing: bool = False
    """Print what is missing; fetch nothing."""
    archive: Annotated[str, option("--archive", metavar="URL")] = ""
    """Archive to try last: an address with {url} and, optionally, {date} (YYYYMMDD), such as
    https://web.archive.org/web/{date}id_/{url}."""
    delay: Annotated[float, Field(ge=0)] = 1.0
    """Seconds between two requests to a host; robots.txt may ask for more."""
    retry: bool = False
    """Also try again what was refused or not found before."""
    allowed_hosts: Annotated[tuple[str, ...], option("--allow-host", metavar="HOST")] = ()
    """Fetch also from this host (name or name:port), although its address is not public."""
    as_json: Json = False
    """Print JSON records."""

    def run(self) -> None:
        from admiral.download.source_fetch import FetchedPages, WantedSource

        if self.archive and "{url}" not in self.archive:
            problem = "does not say where the address goes. Write {url} in it"
            raise AdmiralError(f"--archive {self.archive}: {problem}")
        web, others = _cited(self.pages)
        if self.list_missing:
            _print_missing(_missing(web, self.kb), len(web), others, self.as_json)
            return
        kept = FetchedPages(Path(f"{self.kb.rstrip('/')}.fetched"))
        _add(kept, self.kb)  # what an earlier run fetched
        missing = [each.citation for each in _missing(web, self.kb)]
        before = {each.url: kept.problem(each.url) for each in missing}
        before = {url: problem for url, problem in before.items() if problem and not self.retry}
        days = {each.citation.url: each.day for each in web}
        sources = [
            WantedSource(each.url, each.archive_url, days[each.url])
            for each in missing
            if each.url not in before
        ]
        try:
            done = asyncio.run(self._fetch(sources, kept))
        except KeyboardInterrupt:
            click.echo(f"what was fetched is in {kept.folder}; the same command resumes", err=True)
            raise
        without_text = _add(kept, self.kb)
        failed = {each.source.url: each.error for each in done if each.error is not None}
        fetched = len(done) - len(failed)
        if self.as_json:
            print_record(
                {
                    "sources": len(web),
                    "fetched": fetched,
                    "without_text": without_text,
                    "failed": {url: error.problem for url, error in failed.items()},
                    "failed_before": len(before),
                    "not_tried": len(sources) - len(done),
                    "not_web": len(others),
                }
            )
        else:
            there = len(web) - len(_missing(web, self.kb))
            click.echo(
                f"{self.kb}: {fetched} fetched, {there} of {len(web)} sources on the web are "
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
            f"{'add' if Path(self.kb).exists() else 'index'} --sources pages.jsonl --kb "
            f"{self.kb}`; a PDF file is added with --base-url, the URL of its folder"
        )
        if failed and not fetched:
            problems = {error.problem for error in failed.values()}
            offline = "no host is known: this machine may be offline"
            what = offline if problems == {"offline"} else "nothing could be fetched"
            raise AdmiralError(f"{what}. {remedy}")
        if (failed or before) and not self.as_json:
            click.echo(remedy)

    async def _fetch(self, sources: Sequence[WantedSource], kept: FetchedPages) -> list[Outcome]:
        from admiral.download.page_fetch import FetchLimits, PageFetcher
        from admiral.download.source_fetch import fetch_sources

        numbers = count(1)

        def report(outcome: Outcome) -> None:
            if self.progress:
                what = outcome.error.problem if outcome.error else "fetched"
                place = f"{next(numbers)} of {len(sources)}"
                click.echo(f"{place}: {what} {outcome.source.url}", err=True)

        async with PageFetcher(FetchLimits(delay=self.delay), self.allowed_hosts) as fetcher:
            return await fetch_sources(sources, fetcher, kept, archive=self.archive, report=report)


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
                print_record({"status": status, "claims": source.claims, **json_of(citation)})
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


fetch_command = command(Fetch)
