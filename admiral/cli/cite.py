"""The commands on citations: ``cite``, ``audit``, ``verify-citation`` and ``extract-citations``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import click

from admiral.citations.citation_settings import CitationConfig
from admiral.cli import options
from admiral.cli.options import Json, Text, argument, command, option, print_record, shown
from admiral.errors import AdmiralError
from admiral.io.progress import track_claims
from admiral.requirements import minilm_directory

if TYPE_CHECKING:
    from admiral.citations.citation_records import CitationVerdict, CitedClaim, ScoredSource
    from admiral.citations.extract import ReadPage


class _Verifying(options.Configured):
    settings: ClassVar[type[CitationConfig]] = CitationConfig
    own: ClassVar[tuple[str, ...]] = ("verifier", "classifier")

    def citation_settings(self, *more: str) -> CitationConfig:
        """Return the settings, with more as ``key=value``."""
        config = CitationConfig.read(self.config, [*self.overrides(), *more])
        bundled = config.verifier == "mixed" and not config.weights
        if bundled or config.verifier == "late":
            minilm_directory()  # now, rather than after torch is imported
        return config


class _Kb(_Verifying):
    kb: Annotated[str, option(metavar="DIR")]
    """Knowledge base of sources, or of any documents."""


def verdict_text(verdict: CitationVerdict) -> str:
    """Return a verdict as readable text."""
    from admiral.citations.claim_texts import covered_claim
    from admiral.citations.decide import no_suggestion, summary
    from admiral.io.rendering import render_text

    return render_text(
        "verdict",
        verdict=verdict,
        summary=summary(verdict),
        covered=covered_claim(verdict.claim).claim,
        no_suggestion=no_suggestion,
        score_facts=score_facts,
        **shown(),
    )


def score_facts(scored: ScoredSource) -> list[str]:
    """Return a description of a score."""
    facts = [scored.words] if scored.words else []
    facts.append(f"score {scored.score:.2f}")
    if scored.probability is not None:
        facts.append(f"probability of support {scored.probability:.2f}")
    if scored.percentile is not None and scored.finding != "contradicted":
        facts.append(f"better than {scored.percentile:.0f}% of the reference citations")
    return facts


class Cite(_Kb):
    """Suggest sources of a knowledge base for STATEMENT, best first.

    All of them are listed with their scores; a low probability of support says that no good source
    was found, not that the statement is wrong.

    For example:
      admiral cite "The bridge was opened in 1932." --kb my-sources
    """

    statement: Annotated[Text, argument()]
    page: Annotated[str, option("--page", metavar="TITLE")] = ""
    """Title of the statement's page."""
    context: str = ""
    """Text before the statement."""
    count: Annotated[options.Positive, option("-k", "--k")] | None = None
    """Number of sources. [default: 5]"""
    as_json: Json = False
    """Print JSON records, not readable text."""

    def run(self) -> None:
        from admiral.citations.citer import Citer
        from admiral.citations.verdict_file import suggestion_record
        from admiral.io.rendering import render_text

        with Citer.open(self.kb, config=self.citation_settings("suggest=true")) as citer:
            sources = citer.suggest(self.statement, self.count, page=self.page, before=self.context)
        for rank, source in enumerate(sources, 1):
            if self.as_json:
                print_record(suggestion_record(rank, source, None))
            else:
                values: dict[str, Any] = {
                    "source": source,
                    "label": f"{rank}.",
                    "score_facts": score_facts,
                }
                click.echo(render_text("source", **values, **shown()), nl=False)
        if not sources and not self.as_json:
            click.echo("no passage shares a word with the statement")


class Audit(_Kb):
    """Check the citations of a page; write an HTML page.

    PAGE is wikitext or HTML of MediaWiki. Statements that editors have tagged come first, then
    those that a source denies, then those with the least support, each with the passage that says
    most of it, what the source lacks, and better sources with the wikitext to paste.
    On the page, an editor accepts or rejects each finding, and saves these decisions (JSON) and
    PAGE with the accepted sources.
    Sources that cannot be read are listed apart: they are not checked, which is not failing.

    With --pages, every page of a folder is audited, and index.html of the folder --output lists the
    statements of all, the worst first. The same command resumes an interrupted run.

    For example:
      admiral audit Joe_Hipp.wiki --kb my-sources --output audit.html
      admiral audit page.html --kb my-sources --set verifier=coverage --output audit.html
    """

    page: Annotated[Path, argument()] | None = None
    pages: Path | None = None
    """Folder of pages, instead of PAGE."""
    output: Path
    """HTML page to write; with --pages, a folder."""
    format: Literal["auto", "wikitext", "html"] = "auto"
    """Format of the pages; auto tells it by their beginning."""
    lists: bool = True
    """Also items of lists that are no sentences."""
    quiet: bool = False
    """Show no progress."""

    def run(self) -> None:
        from admiral.citations.audit_page import audit_page, write_page
        from admiral.citations.citer import Citer, urgency

        if (self.page is None) == (self.pages is None):
            raise click.UsageError("Give a PAGE, or --pages with a folder of pages.")
        config = self.citation_settings()
        notes = [
            f"Verifier: {config.verifier}. A low score says where to look first, not that a "
            "statement is wrong."
        ]
        if self.page is None:
            self._audit_folder(config, notes)
            return
        read = self._read(self.page)
        claims = [each.claim for each in read.claims]
        if not claims:
            remedy = "Check the file and --format"
            raise AdmiralError(f"{self.page}: holds no statement with a reference. {remedy}")
        with Citer.open(self.kb, config=config) as citer:
            checked = citer.verify_many(claims)
            verdicts = list(track_claims(checked, done=0, total=len(claims), quiet=self.quiet))
            verdicts.sort(key=urgency)
            title = read.title or self.page.name
            write_page(self.output, audit_page(title, verdicts, notes, citer.sources.source, read))
        _report(self.output, Counter(verdict.decision for verdict in verdicts))

    def _read(self, path: Path) -> ReadPage:
        from admiral.citations.extract import page_of_file

        return page_of_file(path, format=self.format, lists=self.lists)

    def _audit_folder(self, config: CitationConfig, notes: list[str]) -> None:
        from admiral.citations.citer import Citer
        from admiral.citations.verdict_file import recorded_citation_settings
        from admiral.citations.work_list import (
            INDEX,
            audit_folder,
            finish_work_list,
            page_files,
            start_work_list,
        )

        assert self.pages is not None
        files = page_files(self.pages, self.output)
        given = {"pages": str(self.pages.resolve()), "format": self.format, "lists": self.lists}
        start_work_list(self.output, {**recorded_citation_settings(config, self.kb), **given})
        done = sum(records.exists() for records in files.values())
        with Citer.open(self.kb, config=config) as citer:
            audited = audit_folder(files, self._read, citer, notes)
            total, quiet = len(files), self.quiet
            for _ in track_claims(audited, done=done, total=total, quiet=quiet, unit="page"):
                pass
        _report(self.output / INDEX, finish_work_list(self.output, files))


def _report(output: Path, decisions: Counter[str]) -> None:
    total = decisions.total()
    click.echo(
        f"{output}: {total:,} statement{'' if total == 1 else 's'}: {decisions['flag']} to check, "
        f"{decisions['replace']} to replace, {decisions['keep']} to keep, "
        f"{decisions['not_checked']} not checked",
        err=True,
    )


class VerifyCitation(_Verifying):
    """Check whether cited sources support their claims.

    Give --kb and --input, or --claim and --source for one pair. It says what supports a claim, what
    is missing, and which source of the knowledge base would be better. Sources that cannot be read
    are reported as not checked, never as failing.

    For example:
      admiral verify-citation --kb my-sources --input citations.jsonl --output verdicts.jsonl
      admiral verify-citation --claim "The bridge was opened in 1932." --source page.html
    """

    kb: Annotated[str, option("--kb", metavar="DIR")] | None = None
    """Knowledge base of sources, or of any documents."""
    input: Path | None = None
    """JSON Lines file of claims and citations."""
    output: Path | None = None
    """JSON Lines file of verdicts. The same command resumes an interrupted run."""
    overwrite: bool = False
    """Discard an existing --output and start again."""
    claim: Text | None = None
    """One claim, instead of --input; needs --source."""
    source: Path | None = None
    """Text file of the source of --claim."""
    page: Annotated[str, option("--page", metavar="TITLE")] = ""
    """With --claim: title of its page."""
    paper_rule: bool = False
    """Replace whatever is not the best source."""
    fail_on_flag: bool = False
    """Exit with status 1 if any claim is flagged."""
    as_json: Json = False
    """Print JSON records, not readable text."""
    quiet: bool = False
    """Show no progress."""

    def run(self) -> int:
        rule = ["paper_rule=true"] if self.paper_rule else []
        if self.claim is not None:
            if self.source is None or (self.input, self.output, self.kb) != (None, None, None):
                raise click.UsageError(
                    "--claim takes --source, and none of --kb, --input and --output. For sources "
                    "of a knowledge base, use `admiral cite`."
                )
            flagged = self._print(self._check_pair(self.citation_settings(*rule, "suggest=false")))
            return int(self.fail_on_flag and flagged)
        if self.kb is None or self.input is None:
            raise click.UsageError("Give --kb and --input, or --claim and --source.")
        if self.overwrite and self.output is None:
            raise click.UsageError("--overwrite needs --output.")
        config = self.citation_settings(*rule)
        claims = _read_claims(self.input)
        if self.output is None:
            flagged = self._print(_verdicts(config, self.kb, claims))
        else:
            flagged = self._write(config, self.kb, claims, self.output)
        return int(self.fail_on_flag and flagged)

    def _check_pair(self, config: CitationConfig) -> Iterator[CitationVerdict]:
        from admiral.citations.citer import check_source
        from admiral.sources.source_files import SourceFiles

        assert self.source is not None
        assert self.claim is not None
        source = next(iter(SourceFiles([self.source])))
        title = "" if self.source.suffix == ".txt" else source.title  # else its first line
        source = replace(source, url=self.source.resolve().as_uri(), title=title)
        yield check_source(self.claim, source, config, self.page)

    def _print(self, verdicts: Iterator[CitationVerdict]) -> bool:
        """Print verdicts as they come, and return whether any claim is flagged."""
        from admiral.citations.verdict_file import verdict_record

        flagged = False
        for number, verdict in enumerate(verdicts):
            flagged |= verdict.flagged
            if self.as_json:
                print_record(verdict_record(verdict))
            else:
                click.echo("\n" * bool(number) + verdict_text(verdict), nl=False)
        return flagged

    def _write(
        self, config: CitationConfig, kb: str, claims: list[CitedClaim], output: Path
    ) -> bool:
        """Write the verdicts that `output` does not hold yet; return whether any is flagged."""
        from admiral.citations.verdict_file import read_verdicts, write_verdicts

        def on_resume(done: int) -> None:
            if not self.quiet:
                total = len({one.id for one in claims})
                click.echo(f"{output}: has verdicts on {done} of {total} claims already", err=True)

        write_verdicts(
            *(output, kb, config, claims),
            overwrite=self.overwrite,
            quiet=self.quiet,
            on_resume=on_resume,
        )
        return any(record["flagged"] for record in read_verdicts(output).values())


def _verdicts(
    config: CitationConfig, kb: str, claims: list[CitedClaim]
) -> Iterator[CitationVerdict]:
    from admiral.citations.citer import Citer

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


_MOST_NAMED = 10  # templates that are not known


class ExtractCitations(options.Command):
    """Write the statements of pages that have references.

    Each statement is written with its context and its sources. A PAGE is wikitext, HTML of
    MediaWiki, or an XML dump, which may be compressed. The title of a page of wikitext is the name
    of its file. Rows of tables, values of infoboxes and captions that have references are
    statements, too; comments and hidden text are left out.

    Tags are kept: `--tagged failed-verification` on a dump gives the references that editors found
    to fail, as the data set WAFER has them.

    For example:
      admiral extract-citations Joe_Hipp.wiki --output citations.jsonl
      admiral extract-citations page.html other.html --lists --output citations.jsonl
      admiral extract-citations dump.xml.bz2 --tagged failed-verification --output failed.jsonl
    """

    pages: Annotated[tuple[Path, ...], argument("PAGE...")]
    output: Path
    """JSON Lines file of claims to write."""
    format: Literal["auto", "wikitext", "html", "dump"] = "auto"
    """Format of the pages; auto tells them by their beginning."""
    lists: bool = True
    """Also items of lists that are no sentences."""
    tagged: Annotated[str, option("--tagged", metavar="TAG")] = ""
    """Only claims with a maintenance tag, such as failed-verification or citation-needed."""
    quiet: bool = False
    """Print no summary."""

    def run(self) -> None:
        from admiral.citations.extract import pages_of_file
        from admiral.citations.extract.names import TAGS, tag_of
        from admiral.records import json_of
        from admiral.storage.atomic_files import encode_record, write_atomically

        wanted = tag_of(self.tagged.replace("-", " ")) or self.tagged
        if wanted and wanted not in TAGS:
            known = ", ".join(TAGS)
            raise AdmiralError(f"--tagged {wanted}: is not a known tag. Use one of {known}")
        counts: Counter[str] = Counter()
        ids, unknown = Counter[str](), Counter[str]()

        def record(claim: CitedClaim) -> bytes:
            counts["claims"] += 1
            counts["citations"] += len(claim.citations)
            counts["with a URL"] += sum(bool(each.url) for each in claim.citations)
            counts["not on the web"] += sum(not each.url for each in claim.citations)
            counts.update(claim.tags)
            ids[claim.id] += 1
            number = ids[claim.id]  # from 2 for a second page with one title
            unique = {"id": f"{claim.id}~{number}"} if number > 1 else {}
            return encode_record(json_of(claim) | unique)

        def lines() -> Iterator[bytes]:
            for path in self.pages:
                for page in pages_of_file(path, format=self.format, lists=self.lists):
                    unknown.update(page.unknown)
                    for each in page.claims:
                        if not wanted or wanted in each.claim.tags:
                            yield record(each.claim)

        write_atomically(self.output, lines())
        if self.quiet:
            return
        named = ", ".join(f"{count:,} {name}" for name, count in counts.items())
        click.echo(f"{self.output}: {named or 'no claims with references'}", err=True)
        if unknown:
            common = unknown.most_common(_MOST_NAMED)
            most = ", ".join(f"{n:,} {{{{{name}}}}}" for name, n in common)
            click.echo(
                f"{unknown.total():,} templates are not known; their arguments are kept: "
                f"{most}{', ...' if len(unknown) > _MOST_NAMED else ''}",
                err=True,
            )


audit_command, cite_command = command(Audit), command(Cite)
verify_citation_command = command(VerifyCitation)
extract_citations_command = command(ExtractCitations)
