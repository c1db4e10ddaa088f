"""The commands on citations: ``cite``, ``audit``, ``verify-citation`` and ``extract-citations``."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admiral.cli.options import Command, checked_text, output_width, overrides, settings_options
from admiral.errors import AdmiralError
from admiral.io.progress import track_claims
from admiral.storage.atomic_files import check_distinct_paths

if TYPE_CHECKING:
    from admiral.citations.citation_records import CitationVerdict, CitedClaim, ScoredSource
    from admiral.citations.citation_settings import CitationConfig
    from admiral.citations.extract import ReadPage
    from admiral.sources import Source


_INDENT = "    "
_KB = "Knowledge base of sources, or of any documents."
_kb_option = click.option("--kb", metavar="DIR", required=True, help=_KB)
_lists_option = click.option(
    "--lists/--no-lists",
    default=True,
    show_default=True,
    help="Also items of lists that are no sentences.",
)


def citation_settings_options(command: Command) -> Command:
    """Add --verifier, --classifier, --config and --set."""
    command = settings_options(command, "`admiral settings --citations` describes them.")
    classifier = "Classifier of pairs to verify with."
    command = click.option("--classifier", metavar="DIR", help=classifier)(command)
    return click.option("--verifier", metavar="NAME", help="Verifier.  [default: mixed]")(command)


def citation_config(path: Path | None, assignments: Sequence[str]) -> CitationConfig:
    """Return the settings of a file and ``key=value`` overrides.

    Raises AdmiralError if a setting is invalid, or the encoder of the verifier is not installed.
    """
    from admiral.citations.citation_settings import CitationConfig
    from admiral.requirements import minilm_directory

    config = CitationConfig.read(path, assignments)
    bundled = config.verifier == "mixed" and not config.weights
    if bundled or config.verifier == "late":
        minilm_directory()  # now, rather than after torch is imported
    return config


def verdict_lines(verdict: CitationVerdict) -> Iterator[str]:
    """Yield the lines of a verdict as readable text."""
    from admiral.citations.claim_texts import covered_claim
    from admiral.citations.decide import no_suggestion, summary

    yield from _wrapped(f"{verdict.decision.upper().replace('_', ' ')}  {verdict.claim.claim}", "")
    yield from _wrapped(summary(verdict), "  ")
    covered = covered_claim(verdict.claim).claim
    if covered != verdict.claim.claim:
        yield from _wrapped(f"the references cover: {covered}", "  ")
    for source in verdict.existing:
        yield from source_lines("cites", source)
    if verdict.together is not None:
        yield f"  together: {', '.join(score_facts(verdict.together))}"
    for rank, source in enumerate(verdict.suggestions, 1):
        yield from source_lines(f"{rank}.", source)
    if not verdict.suggestions and verdict.query:
        yield from _wrapped(no_suggestion(verdict), "  ")
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
    if source.denied_by:
        yield from _wrapped(f"denied by “{' '.join(source.denied_by.split())}”", _INDENT)
    for sentence in source.sentences:
        if sentence.text != source.denied_by:
            yield from _wrapped(f"“{' '.join(sentence.text.split())}”", _INDENT)
    if source.missing:
        yield from _wrapped(f"missing: {'; '.join(source.missing)}", _INDENT)
    if source.wikitext:
        yield f"{_INDENT}{source.wikitext}"  # in one line, to be copied


def score_facts(scored: ScoredSource) -> list[str]:
    """Return a description of a score."""
    facts = [] if scored.finding is None else [scored.finding.replace("_", " ")]
    facts.append(f"score {scored.score:.2f}")
    if scored.probability is not None:
        facts.append(f"probability of support {scored.probability:.2f}")
    if scored.percentile is not None and scored.finding != "contradicted":
        facts.append(f"better than {scored.percentile:.0f}% of the reference citations")
    return facts


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, output_width(), initial_indent=indent, subsequent_indent=indent + "  "
    )


@click.command("cite")
@click.argument("statement")
@_kb_option
@click.option("--page", default="", metavar="TITLE", help="Title of the statement's page.")
@click.option("--context", default="", metavar="TEXT", help="Text before the statement.")
@click.option("-k", "--k", type=click.IntRange(min=1), help="Number of sources.  [default: 5]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON records, not readable text.")
@citation_settings_options
def cite_command(
    statement: str,
    kb: str,
    page: str,
    context: str,
    k: int | None,
    as_json: bool,
    config_path: Path | None,
    assignments: tuple[str, ...],
    **flags: str | None,
) -> None:
    """Suggest sources of a knowledge base for STATEMENT, best first.

    All of them are listed with their scores; a low probability of support says that no good source
    was found, not that the statement is wrong.
    """
    from admiral.citations.citer import Citer
    from admiral.citations.verdict_file import suggestion_record

    text = checked_text(statement, "the statement")
    config = citation_config(config_path, [*overrides(assignments, flags), "suggest=true"])
    with Citer.open(kb, config=config) as citer:
        sources = citer.suggest(text, k, page=page, before=context)
    for rank, source in enumerate(sources, 1):
        if as_json:
            record = suggestion_record(rank, source, None)
            click.echo(json.dumps(record, ensure_ascii=False))
        else:
            click.echo("\n".join(source_lines(f"{rank}.", source)))
    if not sources and not as_json:
        click.echo("no passage shares a word with the statement")


_FILE = click.Path(path_type=Path)


@click.command("audit")
@click.argument("page", type=_FILE, required=False)
@click.option("--pages", type=_FILE, help="Folder of pages, instead of PAGE.")
@_kb_option
@click.option(
    "--output", type=_FILE, required=True, help="HTML page to write; with --pages, a folder."
)
@click.option(
    "--format",
    type=click.Choice(("auto", "wikitext", "html")),
    default="auto",
    show_default=True,
    help="Format of the pages; auto tells it by their beginning.",
)
@_lists_option
@click.option("--quiet", is_flag=True, help="Show no progress.")
@citation_settings_options
def audit_command(
    page: Path | None,
    pages: Path | None,
    kb: str,
    output: Path,
    format: str,
    lists: bool,
    quiet: bool,
    config_path: Path | None,
    assignments: tuple[str, ...],
    **flags: str | None,
) -> None:
    """Check the citations of a page; write an HTML page.

    PAGE is wikitext or HTML of MediaWiki. Statements that editors have tagged come first, then
    those that a source denies, then those with the least support, each with the passage that says
    most of it, what the source lacks, and better sources with the wikitext to paste.
    On the page, an editor accepts or rejects each finding, and saves these decisions (JSON) and
    PAGE with the accepted sources.
    Sources that cannot be read are listed apart: they are not checked, which is not failing.

    With --pages, every page of a folder is audited, and index.html of the folder --output lists the
    statements of all, the worst first. The same command resumes an interrupted run.
    """
    from admiral.citations.audit_page import audit_page, write_page
    from admiral.citations.citer import Citer, urgency
    from admiral.citations.extract import page_of_file

    if (page is None) == (pages is None):
        raise click.UsageError("Give a PAGE, or --pages with a folder of pages.")
    config = citation_config(config_path, overrides(assignments, flags))
    notes = [
        f"Verifier: {config.verifier}. A low score says where to look first, not that a statement "
        "is wrong."
    ]

    def read(path: Path) -> ReadPage:
        return page_of_file(path, format=format, lists=lists)  # type: ignore[arg-type]

    if pages is not None:
        given = {"pages": str(pages.resolve()), "format": format, "lists": lists}
        _audit_folder(pages, kb, output, config, given, read, notes, quiet)
        return
    assert page is not None  # checked above
    check_distinct_paths(output, page, config_path, folders=[kb])
    found = read(page)
    claims = [each.claim for each in found.claims]
    if not claims:
        raise AdmiralError(
            f"{page}: holds no statement with a reference. Check the file and --format"
        )
    with Citer.open(kb, config=config) as citer:
        checked = citer.verify_many(claims)
        verdicts = list(track_claims(checked, done=0, total=len(claims), quiet=quiet))
        verdicts.sort(key=urgency)
        title = found.title or page.name
        write_page(output, audit_page(title, verdicts, notes, citer.sources.source, found))
    _report(output, Counter(verdict.decision for verdict in verdicts))


def _audit_folder(
    pages: Path,
    kb: str,
    output: Path,
    config: CitationConfig,
    given: dict[str, object],
    read: Callable[[Path], ReadPage],
    notes: list[str],
    quiet: bool,
) -> None:
    from admiral.citations.citer import Citer
    from admiral.citations.verdict_file import recorded_citation_settings
    from admiral.citations.work_list import (
        INDEX,
        audit_folder,
        finish_work_list,
        page_files,
        start_work_list,
    )

    check_distinct_paths(output, folders=[kb, pages])
    files = page_files(pages, output)
    start_work_list(output, {**recorded_citation_settings(config, kb), **given})
    done = sum(records.exists() for records in files.values())
    with Citer.open(kb, config=config) as citer:
        audited = audit_folder(files, read, citer, notes)
        for _ in track_claims(audited, done=done, total=len(files), quiet=quiet, unit="page"):
            pass
    _report(output / INDEX, finish_work_list(output, files))


def _report(output: Path, decisions: Counter[str]) -> None:
    total = decisions.total()
    click.echo(
        f"{output}: {total:,} statement{'' if total == 1 else 's'}: {decisions['flag']} to check, "
        f"{decisions['replace']} to replace, {decisions['keep']} to keep, "
        f"{decisions['not_checked']} not checked",
        err=True,
    )


@click.command("verify-citation")
@click.option("--kb", metavar="DIR", help=_KB)
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
    kb: str | None,
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

    Give --kb and --input, or --claim and --source for one pair. It says what supports a claim, what
    is missing, and which source of the knowledge base would be better. Sources that cannot be read
    are reported as not checked, never as failing.
    """
    given = overrides(assignments, flags)
    if paper_rule:
        given.append("paper_rule=true")
    if claim is not None:
        if source_path is None or (input_path, output, kb) != (None, None, None):
            raise click.UsageError(
                "--claim takes --source, and none of --kb, --input and --output. For sources of a "
                "knowledge base, use `admiral cite`."
            )
        config = citation_config(config_path, [*given, "suggest=false"])
        flagged = _print_all(_check_pair(config, claim, source_path, page), as_json)
    else:
        if kb is None or input_path is None:
            raise click.UsageError("Give --kb and --input, or --claim and --source.")
        if overwrite and output is None:
            raise click.UsageError("--overwrite needs --output.")
        config = citation_config(config_path, given)
        if output is not None:
            check_distinct_paths(output, input_path, config_path, folders=[kb])
            flagged = _write_file(config, kb, input_path, output, overwrite, quiet)
        else:
            flagged = _print_all(_verdicts(config, kb, input_path), as_json)
    return 1 if fail_on_flag and flagged else 0


def _check_pair(
    config: CitationConfig, claim: str, source_path: Path, page: str
) -> Iterator[CitationVerdict]:
    from admiral.citations.citer import check_source

    yield check_source(checked_text(claim, "the claim"), _read_source(source_path), config, page)


def _read_source(path: Path) -> Source:
    from dataclasses import replace

    from admiral.sources.source_files import SourceFiles

    source = next(iter(SourceFiles([path])))
    title = "" if path.suffix == ".txt" else source.title  # else its first line
    return replace(source, url=path.resolve().as_uri(), title=title)


def _verdicts(config: CitationConfig, kb: str, input_path: Path) -> Iterator[CitationVerdict]:
    from admiral.citations.citer import Citer

    claims = _read_claims(input_path)
    with Citer.open(kb, config=config) as citer:
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
    kb: str,
    input_path: Path,
    output: Path,
    overwrite: bool,
    quiet: bool,
) -> bool:
    """Write the verdicts that `output` does not hold yet, and return whether any is flagged."""
    from admiral.citations.verdict_file import read_verdicts, write_verdicts

    claims = _read_claims(input_path)

    def on_resume(done: int) -> None:
        if not quiet:
            total = len({one.id for one in claims})
            click.echo(f"{output}: has verdicts on {done} of {total} claims already", err=True)

    write_verdicts(
        output, kb, config, claims, overwrite=overwrite, quiet=quiet, on_resume=on_resume
    )
    return any(record["flagged"] for record in read_verdicts(output).values())


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
@_lists_option
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
    from admiral.citations.extract import pages_of_file
    from admiral.citations.extract.names import TAGS, tag_of
    from admiral.records import json_of
    from admiral.storage.atomic_files import encode_record, write_atomically

    wanted = None if tagged is None else tag_of(tagged.replace("-", " ")) or tagged
    if wanted is not None and wanted not in TAGS:
        raise AdmiralError(f"--tagged {tagged}: is not a known tag. Use one of {', '.join(TAGS)}")
    for page in pages:
        check_distinct_paths(output, page)
    counts: Counter[str] = Counter()
    ids: Counter[str] = Counter()
    unknown: Counter[str] = Counter()

    def claims() -> Iterator[CitedClaim]:
        for path in pages:
            for page in pages_of_file(path, format=format, lists=lists):  # type: ignore[arg-type]
                unknown.update(page.unknown)
                for each in page.claims:
                    if wanted is None or wanted in each.claim.tags:
                        yield each.claim

    def lines() -> Iterator[bytes]:
        for claim in claims():
            counts["claims"] += 1
            counts["citations"] += len(claim.citations)
            counts["with a URL"] += sum(bool(each.url) for each in claim.citations)
            counts["not on the web"] += sum(not each.url for each in claim.citations)
            counts.update(claim.tags)
            record = json_of(claim)
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
