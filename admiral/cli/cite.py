"""``admiral cite`` and ``admiral audit``: sources of a statement, and of a whole page."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
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
from admiral.storage.atomic_files import check_distinct_paths, check_page_path

if TYPE_CHECKING:
    from admiral.citations.citation_records import CitationVerdict, ScoredSource
    from admiral.citations.citation_settings import CitationConfig
    from admiral.citations.extract import ReadPage


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
    from admiral.citations.covered_part import covered_claim
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
@click.argument("page", type=_FILE, required=False)
@click.option("--pages", type=_FILE, help="Folder of pages, instead of PAGE.")
@click.option("--library", metavar="DIR", required=True, help="Library of sources.")
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
@click.option(
    "--lists/--no-lists",
    default=True,
    show_default=True,
    help="Also items of lists that are no sentences.",
)
@click.option("--quiet", is_flag=True, help="Show no progress.")
@citation_settings_options
def audit_command(
    page: Path | None,
    pages: Path | None,
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

    PAGE is wikitext or HTML of MediaWiki. Statements that editors have tagged come first, then
    those that a source denies, then those with the least support, each with the passage that says
    most of it, what the source lacks, and better sources of the library with the wikitext to paste.
    On the page, an editor accepts or rejects each finding, and saves these decisions (JSON) and
    PAGE with the accepted sources.
    Sources that cannot be read are listed apart: they are not checked, which is not failing.

    With --pages, every page of a folder is audited, and index.html of the folder --output lists the
    statements of all, the worst first. The same command resumes an interrupted run.
    """
    from admiral.citations.audit_page import audit_page
    from admiral.citations.citer import Citer, urgency
    from admiral.citations.extract import page_of_file
    from admiral.citations.source_collections import source_texts
    from admiral.errors import AdmiralError
    from admiral.library import Library
    from admiral.storage.atomic_files import write_atomically

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
        _audit_folder(pages, library, output, config, given, read, notes, quiet)
        return
    assert page is not None  # checked above
    check_distinct_paths(output, page, config_path)
    check_outside_folders(output, library)
    check_page_path(output)
    found = read(page)
    claims = [each.claim for each in found.claims]
    if not claims:
        raise AdmiralError(
            f"{page}: holds no statement with a reference. Check the file and --format"
        )
    with Citer.open(library, config=config) as citer, Library.open(library) as sources:
        checked = citer.verify_many(claims)
        verdicts = list(track_claims(checked, done=0, total=len(claims), quiet=quiet))
        verdicts.sort(key=urgency)
        title = found.title or page.name
        parts = audit_page(title, verdicts, notes, source_texts(sources), found)
        write_atomically(output, (part.encode("utf-8") for part in parts))
    _report(output, Counter(verdict.decision for verdict in verdicts))


def _audit_folder(
    pages: Path,
    library: str,
    output: Path,
    config: CitationConfig,
    given: dict[str, object],
    read: Callable[[Path], ReadPage],
    notes: list[str],
    quiet: bool,
) -> None:
    from admiral.citations.citer import Citer
    from admiral.citations.source_collections import source_texts
    from admiral.citations.verdict_file import recorded_citation_settings
    from admiral.citations.work_list import INDEX, WorkList, audit_folder, page_files
    from admiral.library import Library

    check_outside_folders(output, library, str(pages))
    files = page_files(pages)
    work_list = WorkList(output, {**recorded_citation_settings(config, library), **given})
    done = len(files) - len(work_list.pending(files))
    with Citer.open(library, config=config) as citer, Library.open(library) as sources:
        audited = audit_folder(files, read, work_list, citer, notes, source_texts(sources))
        for _ in track_claims(audited, done=done, total=len(files), quiet=quiet):
            pass
    _report(output / INDEX, work_list.finish(files))


def _report(output: Path, decisions: Counter[str]) -> None:
    from admiral.evaluation.predictions import count_noun

    click.echo(
        f"{output}: {count_noun(decisions.total(), 'statement')}: {decisions['flag']} to check, "
        f"{decisions['replace']} to replace, {decisions['keep']} to keep, "
        f"{decisions['not_checked']} not checked",
        err=True,
    )
