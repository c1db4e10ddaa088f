"""``admiral retrieve``, for one claim, a file or standard input; ``prove`` and ``settings``."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import click
from tqdm import tqdm

from admiral.cli import options
from admiral.cli.main import is_verbose
from admiral.cli.options import Json, Text, argument, checked_text, command, option, shown
from admiral.config import FAST_SETTINGS, ClusterOptions, RetrievalConfig
from admiral.errors import AdmiralError, RecordError
from admiral.io.progress import track_claims
from admiral.requirements import check_extra
from admiral.storage.atomic_files import check_distinct_paths

if TYPE_CHECKING:
    from admiral.protocols import OnStage
    from admiral.records import Claim, Record, RetrievalResult
    from proofs import Judgement

_BAD_CLAIMS_SHOWN = 20


class Retrieve(options.Configured, ClusterOptions):
    """Retrieve the documents and evidence that verify claims.

    Give a CLAIM, --input FILE, or - for standard input. A line of standard input is a claim as
    plain text, or a record as in --input: {"id": "7", "claim": "..."}.

    Without --output, results go to standard output: as readable text, or with --json or --input as
    one JSON record per line.

    For example:
      admiral retrieve "Paris is the capital of France."
      admiral retrieve --kb my-kb --input claims.jsonl --output results.jsonl
      admiral retrieve --fast --kb my-kb --input claims.jsonl --output results.jsonl
      cat claims.txt | admiral retrieve --kb my-kb --json -
    """

    own: ClassVar[tuple[str, ...]] = (
        *("kb", "hops", "max_hops", "top_k", "beam_size", "evidence", "bm25", "reranker", "judge"),
        *("stop_at", "verifier", "verifier_model", "base_url", "model", "device", "threads"),
    )

    claim: Annotated[Text, argument()] | None = None
    input: Path | None = None
    """File of claims: JSON Lines, or as data sets publish them; or - for standard input."""
    output: Path | None = None
    """JSON Lines file of results, or - for standard output. The same command resumes an interrupted
    run."""
    overwrite: bool = False
    """Discard an existing --output and start again."""
    as_json: Json = False
    """Print JSON records, not readable text."""
    trec: Path | None = None
    """Also write the rankings as a TREC run."""
    fast: bool = False
    """Leave out the generator and the cross-encoder and read fewer documents at each hop, which
    takes a fraction of the time. --set and the options below change single settings."""
    skip_bad: bool = False
    """Skip and count bad claims instead of failing."""
    quiet: bool = False
    """Show no progress."""
    engine: Literal["local", "ray"] = "local"
    """Run in this process, or on Ray workers on one or more machines."""

    def run(self) -> None:
        if self.engine == "local":
            for name in sorted(self.model_fields_set & ClusterOptions.model_fields.keys()):
                raise click.UsageError(f"--{name.replace('_', '-')} needs --engine ray.")
        else:
            check_extra("ray", "--engine ray, on every node,", "use --engine local")
        output = None if str(self.output) == "-" else self.output
        if output is None and (self.overwrite or self.engine == "ray"):
            what = "--overwrite" if self.overwrite else "--engine ray"
            raise click.UsageError(f"{what} needs --output.")
        if self.trec is not None:
            check_distinct_paths(self.trec, output)
        config = self.retrieval(FAST_SETTINGS if self.fast else {})
        skipped: list[RecordError] = []
        claims = self._claims(skipped)
        records: Iterable[Record]
        if output is None:
            records = self._print(config, claims)
        else:
            self._write(config, list(claims), output)
            records = map(json.loads, output.read_bytes().splitlines() if self.trec else ())
        if self.trec is not None:
            from admiral.io.result_writer import write_trec

            write_trec(records, self.trec)
        if skipped:
            were = "claim was" if len(skipped) == 1 else "claims were"
            click.echo(f"{len(skipped)} bad {were} skipped", err=True)

    def _claims(self, skipped: list[RecordError]) -> Iterable[Claim]:
        """Return the claims; of a file, only if all can be read, now instead of hours later."""
        from admiral.io.claims import prefetch_claims, read_claims
        from admiral.io.rendering import printable
        from admiral.records import Claim

        def skip(error: RecordError) -> None:
            skipped.append(error)
            if len(skipped) <= _BAD_CLAIMS_SHOWN:
                click.echo(f"skipped: {printable(str(error))}", err=True)

        if (self.claim is None) == (self.input is None):
            raise click.UsageError("Give either a claim, '-' for standard input, or --input FILE.")
        on_error = skip if self.skip_bad else None
        if "-" in (self.claim, str(self.input)):
            if sys.stdin is None:
                raise AdmiralError("standard input: is closed. Give the claims by --input FILE")
            return prefetch_claims(sys.stdin.fileno(), skip=on_error)
        if self.input is not None:
            return list(read_claims(self.input, on_error))
        assert self.claim is not None
        return [Claim("1", self.claim)]

    def _print(self, config: RetrievalConfig, claims: Iterable[Claim]) -> list[Record]:
        """Print results as they come, and return what a TREC run of them needs.

        On a terminal, a line shows the current stage until there is a result.
        """
        from admiral.io.rendering import render_result

        rankings: list[Record] = []
        hidden = True if self.quiet or is_verbose() or sys.stderr is None else None
        with tqdm(bar_format="{desc}", leave=False, dynamic_ncols=True, disable=hidden) as status:
            status.set_description_str("Loading the model and the knowledge base")
            results = _results(config, claims, lambda stage, _: status.set_description_str(stage))
            for number, result in enumerate(results):
                status.clear()
                record = result.to_json()
                if self.as_json or self.input is not None or self.output is not None:
                    options.print_record(record)
                else:
                    click.echo("\n" * bool(number) + render_result(result, **shown()), nl=False)
                sys.stdout.flush()
                if self.trec is not None:
                    rankings.append({"id": record["id"], "documents": record["documents"]})
        return rankings

    def _write(self, config: RetrievalConfig, claims: Sequence[Claim], output: Path) -> None:
        from admiral.io.result_writer import ResumableWriter
        from admiral.retrieval.provenance import recorded_settings

        cluster = None
        if self.engine == "ray":
            from admiral.cluster import retrieve_on_cluster, worker_config

            names = ClusterOptions.model_fields
            cluster = ClusterOptions(**{name: getattr(self, name) for name in names})
            config = worker_config(config, cluster)
        settings = recorded_settings(config)
        with ResumableWriter(output, settings, overwrite=self.overwrite) as writer:
            pending, done = writer.pending(claims), len(writer.finished)
            if done and not self.quiet:
                said = f"has results for {done} of {len(claims)} claims already"
                click.echo(f"{output}: {said}", err=True)
            outcomes: Iterator[Record] = iter(())
            if cluster is not None and pending:
                outcomes = retrieve_on_cluster(config, pending, cluster)
            elif pending:
                outcomes = (result.to_json() for result in _results(config, pending))
            tracked = track_claims(outcomes, done=done, total=len(claims), quiet=self.quiet)
            try:
                for outcome in tracked:
                    if "error" in outcome:
                        writer.write_failed(outcome)
                    else:
                        writer.write(outcome)
                        done += 1
                writer.finish()
            except KeyboardInterrupt:
                said = f"{done} of {len(claims)} claims have results"
                click.echo(f"\n{said}. Run the same command to resume.", err=True)
                raise


def _results(
    config: RetrievalConfig, claims: Iterable[Claim], on_stage: OnStage | None = None
) -> Iterator[RetrievalResult]:
    from admiral.pipeline import Admiral

    with Admiral.from_pretrained(config.model, kb=config.kb, config=config) as system:
        yield from system.retrieve_many(claims, on_stage=on_stage)


class Settings(options.Command):
    """Print all settings and their meaning.

    Defaults and allowed values are shown. The output is a YAML file for --config: redirect it to a
    file and delete what you do not change.

    For example:
      admiral settings > my.yaml
    """

    markdown: bool = False
    """Print tables of Markdown instead of YAML."""
    citations: bool = False
    """The settings of the verification of citations."""

    def run(self) -> None:
        from admiral.io.rendering import page_file
        from admiral.io.settings_docs import settings_tables, settings_yaml

        if self.citations:
            if self.markdown:
                raise click.UsageError("--citations prints YAML only; leave out --markdown.")
            from admiral.citations.citation_settings import CitationConfig

            page = settings_yaml(CitationConfig, page_file("settings-citations.txt").strip())
        elif self.markdown:
            names = {name: f"--{name.replace('_', '-')}" for name in Retrieve.own}
            page = page_file("settings.md").lstrip() + settings_tables(RetrievalConfig, names.get)
        else:
            page = settings_yaml(RetrievalConfig, page_file("settings-retrieval.txt").strip())
        click.echo(page, nl=False)


_BRACKET = re.compile(r"[\[\]]")


class Prove(options.Configured):
    """Prove CLAIM from given sentences.

    The proof shows whether the sentences are sufficient. Its verdict follows from its steps,
    whether these are right or wrong.

    For example:
      admiral prove "Paris is in France." --evidence "[Paris] Paris is a city in France."
    """

    own: ClassVar[tuple[str, ...]] = (
        *("judge", "stop_at", "verifier", "verifier_model", "base_url"),
        *("model", "device", "threads"),
    )

    claim: Annotated[Text, argument()]
    sentences: Annotated[tuple[str, ...], option("--evidence", metavar="SENTENCE")] = ()
    """Evidence sentence, or "[Title] sentence"; repeatable."""
    as_json: Json = False
    """Print a JSON record, not readable text."""
    proof: Annotated[Path, option("--proof", metavar="FILE")] | None = None
    """Check the proof in FILE, or - for standard input, instead of generating one."""
    html: Annotated[Path, option("--html", metavar="FILE")] | None = None
    """Also write the proof as an HTML page."""

    def run(self) -> None:
        from admiral.io.rendering import judgement_page, judgement_record, render_judgement
        from admiral.storage.atomic_files import write_atomically

        evidence = [
            split_title(checked_text(sentence, f"--evidence number {number}"))
            for number, sentence in enumerate(self.sentences, 1)
        ]
        config = self.retrieval()
        if self.proof is not None:
            judgement = _check_proof(self.proof, self.claim, evidence)
        else:
            from admiral.retrieval.stage_assembly import judge_evidence, open_judge

            judgement = judge_evidence(open_judge(config), self.claim, evidence)
        if self.html is not None:
            page = judgement_page(self.claim, evidence, judgement)
            write_atomically(self.html, [page.encode("utf-8")])
        if self.as_json:
            options.print_record(judgement_record(self.claim, evidence, judgement))
        else:
            click.echo(render_judgement(self.claim, evidence, judgement, **shown()), nl=False)


def _check_proof(path: Path, claim: str, evidence: Sequence[tuple[str, str]]) -> Judgement:
    """Return the judgement of the proof in a file, which must fit the claim and the evidence."""
    from proofs import Judgement, ProofError, read_proofs

    if str(path) == "-":
        path = Path("/dev/stdin")
    try:
        proofs = list(read_proofs(path))
    except OSError as error:
        raise AdmiralError(f"{path}: the proof cannot be read: {error.strerror}") from error
    except ProofError as error:
        form = "{ claim span } [ evidence span ] OP, repeated"
        raise AdmiralError(f"{error}. A proof has the form: {form}") from error
    if len(proofs) != 1:
        raise AdmiralError(f"{path}: expected one proof on one line, found {len(proofs)}")
    try:
        proofs[0].validate(claim, evidence)
    except ProofError as error:
        remedy = "Correct the proof, or give the claim and evidence that it belongs to"
        raise AdmiralError(f"{path}: the proof does not fit: {error}. {remedy}") from error
    return Judgement(proofs[0].sufficient, proofs[0]).located(claim, evidence)


def split_title(sentence: str) -> tuple[str, str]:
    """Return (title, text) of ``[Title] sentence``; the title of a plain sentence is empty.

    The title ends at the matching bracket, and may contain pairs of brackets.
    """
    depth = 0
    for bracket in _BRACKET.finditer(sentence) if sentence.startswith("[") else ():
        depth += 1 if bracket[0] == "[" else -1
        end = bracket.end()
        if depth <= 0 and sentence[end : end + 1].isspace():
            title, text = sentence[1 : end - 1].strip(), sentence[end:].strip()
            return (title, text) if title and text else ("", sentence)
    return "", sentence


retrieve_command, prove_command = command(Retrieve), command(Prove)
settings_command = command(Settings)
