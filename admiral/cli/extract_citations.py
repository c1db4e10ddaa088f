"""``admiral extract-citations``: the statements of pages with their references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from admiral.errors import AdmiralError
from admiral.storage.atomic_files import check_distinct_paths, check_output_path

_FILE = click.Path(path_type=Path)
_MOST_NAMED = 10  # templates that are not known
_FORMATS = ("auto", "wikitext", "html", "dump")


@click.command("extract-citations")
@click.argument("pages", nargs=-1, required=True, type=_FILE, metavar="PAGE...")
@click.option("--output", type=_FILE, required=True, help="JSON Lines file of claims to write.")
@click.option(
    "--format",
    type=click.Choice(_FORMATS),
    default="auto",
    show_default=True,
    help="Format of the pages; auto tells them by their beginning.",
)
@click.option(
    "--lists/--no-lists",
    default=True,
    show_default=True,
    help="Also items of lists that are no sentences.",
)
@click.option(
    "--tagged",
    metavar="TAG",
    help="Only claims with a maintenance tag, such as failed-verification or citation-needed.",
)
@click.option("--quiet", is_flag=True, help="Print no summary.")
def extract_citations_command(
    pages: tuple[Path, ...], output: Path, format: str, lists: bool, tagged: str | None, quiet: bool
) -> None:
    """Write the statements of pages that have references.

    Each statement is written with its context and its sources. A PAGE is wikitext, HTML of
    MediaWiki, or an XML dump, which may be compressed. The title of a page of wikitext is the name
    of its file. Rows of tables, values of infoboxes and captions that have references are
    statements, too; comments and hidden text are left out.

    Tags are kept: `--tagged failed-verification` on a dump gives the references that editors found
    to fail, as the data set WAFER has them.
    """
    from admiral.citations.citation_file import claim_record
    from admiral.citations.citation_records import CitedClaim
    from admiral.citations.extract import claims_of_file
    from admiral.citations.extract.marked_blocks import TAGS, tag_of
    from admiral.storage.atomic_files import encode_record, write_atomically

    wanted = None if tagged is None else tag_of(tagged.replace("-", " ")) or tagged
    if wanted is not None and wanted not in TAGS:
        raise AdmiralError(f"--tagged {tagged}: is not a known tag. Use one of {', '.join(TAGS)}")
    check_output_path(output)
    for page in pages:
        check_distinct_paths(output, page)
    counts: Counter[str] = Counter()
    ids: Counter[str] = Counter()
    unknown: Counter[str] = Counter()

    def claims() -> Iterator[CitedClaim]:
        for page in pages:
            found = claims_of_file(
                page,
                format=format,  # type: ignore[arg-type]
                lists=lists,
                unknown=unknown,
            )
            for claim in found:
                if wanted is None or wanted in claim.tags:
                    yield claim

    def lines() -> Iterator[bytes]:
        for claim in claims():
            counts["claims"] += 1
            counts["citations"] += len(claim.citations)
            counts["with a URL"] += sum(bool(each.url) for each in claim.citations)
            counts["not on the web"] += sum(not each.url for each in claim.citations)
            counts.update(claim.tags)
            record = claim_record(claim)
            ids[claim.id] += 1
            if ids[claim.id] > 1:  # two pages with one title
                record["id"] = f"{claim.id}~{ids[claim.id]}"
            yield encode_record(record)

    write_atomically(output, lines())
    if not quiet:
        named = ", ".join(f"{count:,} {name}" for name, count in counts.items())
        click.echo(f"{output}: {named or 'no claims with references'}", err=True)
        if unknown:
            most = ", ".join(
                f"{n:,} {{{{{name}}}}}" for name, n in unknown.most_common(_MOST_NAMED)
            )
            click.echo(
                f"{unknown.total():,} templates are not known; their arguments are kept: "
                f"{most}{', ...' if len(unknown) > _MOST_NAMED else ''}",
                err=True,
            )
