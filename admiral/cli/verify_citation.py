"""``admiral verify-citation``: does the cited source support the claim?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admiral.cli.cite import citation_config, citation_settings_options, verdict_lines
from admiral.cli.options import check_outside_folders, checked_text, overrides
from admiral.errors import AdmiralError
from admiral.storage.atomic_files import check_distinct_paths

if TYPE_CHECKING:
    from admiral.citations.citation_records import CitationVerdict, CitedClaim
    from admiral.citations.citation_settings import CitationConfig
    from admiral.library.source_records import Source

_FILE = click.Path(path_type=Path)


@click.command("verify-citation")
@click.option("--library", metavar="DIR", help="Library of sources.")
@click.option("--input", "input_path", type=_FILE, help="JSON Lines file of claims and citations.")
@click.option(
    "--output",
    type=_FILE,
    help="JSON Lines file of verdicts. The same command resumes an interrupted run.",
)
@click.option("--overwrite", is_flag=True, help="Discard an existing --output and start again.")
@click.option("--claim", metavar="TEXT", help="One claim, instead of --input; needs --source.")
@click.option("--source", "source_path", type=_FILE, help="Text file of the source of --claim.")
@click.option("--page", default="", metavar="TITLE", help="With --claim: title of its page.")
@click.option("--paper-rule", is_flag=True, help="Replace whatever is not the best source.")
@click.option("--fail-on-flag", is_flag=True, help="Exit with status 1 if any claim is flagged.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON records, not readable text.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@citation_settings_options
def verify_citation_command(
    library: str | None,
    input_path: Path | None,
    output: Path | None,
    overwrite: bool,
    claim: str | None,
    source_path: Path | None,
    page: str,
    paper_rule: bool,
    fail_on_flag: bool,
    as_json: bool,
    quiet: bool,
    config_path: Path | None,
    assignments: tuple[str, ...],
    **flags: str | None,
) -> int:
    """Check whether cited sources support their claims.

    Give --library and --input, or --claim and --source for one pair without a library. It says what
    supports a claim, what is missing, and which source of the library would be better. Sources that
    cannot be read are reported as not checked, never as failing.

    This has nothing to do with `admiral verify`, which checks the files of a knowledge base.
    """
    given = overrides(assignments, flags)
    if paper_rule:
        given.append("paper_rule=true")
    if claim is not None:
        if source_path is None or (input_path, output, library) != (None, None, None):
            raise click.UsageError(
                "--claim takes --source, and none of --library, --input and --output. For sources "
                "of a library, use `admiral cite`."
            )
        config = citation_config(config_path, [*given, "suggest=false"])
        flagged = _print_all(_check_pair(config, claim, source_path, page), as_json)
    else:
        if library is None or input_path is None:
            raise click.UsageError("Give --library and --input, or --claim and --source.")
        if overwrite and output is None:
            raise click.UsageError("--overwrite needs --output.")
        config = citation_config(config_path, given)
        if output is not None:
            check_distinct_paths(output, input_path, config_path)
            check_outside_folders(output, library, config.classifier)
            flagged = _write_file(config, library, input_path, output, overwrite, quiet)
        else:
            flagged = _print_all(_verdicts(config, library, input_path), as_json)
    return 1 if fail_on_flag and flagged else 0


def _check_pair(
    config: CitationConfig, claim: str, source_path: Path, page: str
) -> Iterator[CitationVerdict]:
    from admiral.citations.citer import check_source

    yield check_source(checked_text(claim, "the claim"), _read_source(source_path), config, page)


def _read_source(path: Path) -> Source:
    from admiral.library.readers.web_files import html_source
    from admiral.library.source_records import Source

    try:
        content = path.read_bytes()
    except OSError as error:
        raise AdmiralError(f"{path}: cannot be read: {error.strerror}") from error
    url = path.resolve().as_uri()
    if path.suffix.lower() in (".html", ".htm", ".xhtml"):
        page = html_source(content, url)
        return Source(url, page.title, page.text, language=page.language)
    try:
        return Source(url, "", content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise AdmiralError(f"{path}: is not UTF-8 text. Save it as UTF-8") from error


def _verdicts(config: CitationConfig, library: str, input_path: Path) -> Iterator[CitationVerdict]:
    from admiral.citations.citer import Citer

    claims = _read_claims(input_path)
    with Citer.open(library, config=config) as citer:
        yield from citer.verify_many(claims)


def _read_claims(path: Path) -> list[CitedClaim]:
    """Return all claims of a file, so that a bad line is reported before models are loaded."""
    from admiral.citations.citation_file import read_citations

    claims = list(read_citations(path))
    if not claims:
        raise AdmiralError(
            f"{path}: holds no claims. `admiral extract-citations` writes those of a page"
        )
    return claims


def _print_all(verdicts: Iterator[CitationVerdict], as_json: bool) -> bool:
    """Print verdicts as they come, and return whether any claim is flagged."""
    import json

    from admiral.citations.verdict_file import verdict_record

    flagged = False
    for number, verdict in enumerate(verdicts):
        flagged |= verdict.flagged
        if as_json:
            click.echo(json.dumps(verdict_record(verdict), ensure_ascii=False))
        else:
            click.echo(("\n" if number else "") + "\n".join(verdict_lines(verdict)))
    return flagged


def _write_file(
    config: CitationConfig,
    library: str,
    input_path: Path,
    output: Path,
    overwrite: bool,
    quiet: bool,
) -> bool:
    """Write the verdicts that `output` does not hold yet, and return whether any is flagged."""
    from admiral.citations.verdict_file import any_flagged, write_verdicts

    claims = _read_claims(input_path)

    def on_resume(done: int) -> None:
        if not quiet:
            total = len({one.id for one in claims})
            click.echo(f"{output}: has verdicts on {done} of {total} claims already", err=True)

    write_verdicts(
        output, library, config, claims, overwrite=overwrite, quiet=quiet, on_resume=on_resume
    )
    return any_flagged(output)
