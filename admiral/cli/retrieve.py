"""``admiral retrieve``, for one claim, a file or standard input; ``prove`` and ``settings``."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from tqdm import tqdm

from admiral.cli.main import is_verbose
from admiral.cli.options import (
    checked_text,
    config_options,
    output_width,
    overrides,
    setting_options,
    use_colour,
)
from admiral.errors import AdmiralError, RecordError
from admiral.io.progress import track_claims
from admiral.requirements import check_extra
from admiral.storage.atomic_files import check_distinct_paths

if TYPE_CHECKING:
    from admiral.cluster import ClusterOptions
    from admiral.config import RetrievalConfig
    from admiral.protocols import OnStage
    from admiral.records import Claim, Record, RetrievalResult
    from proofs import Judgement


@click.command("retrieve")
@click.argument("claim", required=False)
@click.option(
    "--input",
    "input_path",
    type=click.Path(path_type=Path),
    help="File of claims: JSON Lines, or as data sets publish them; or - for standard input.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="JSON Lines file of results, or - for standard output. The same command resumes an "
    "interrupted run.",
)
@click.option("--overwrite", is_flag=True, help="Discard an existing --output and start again.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON records, not readable text.")
@click.option(
    "--trec", type=click.Path(path_type=Path), help="Also write the rankings as a TREC run."
)
@click.option(
    "--fast",
    is_flag=True,
    help="Leave out the generator and the cross-encoder and read fewer documents at each hop, "
    "which takes a fraction of the time. --set and the options below change single settings.",
)
@click.option("--skip-bad", is_flag=True, help="Skip and count bad claims instead of failing.")
@setting_options(
    *("kb", "hops", "max_hops", "top_k", "beam_size", "evidence", "bm25", "reranker", "judge"),
    *("stop_at", "verifier", "verifier_model", "base_url"),
)
@setting_options("model", "device", "threads")
@config_options
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Run in this process, or on Ray workers on one or more machines.",
)
@click.option(
    "--ray-address",
    metavar="HOST:PORT",
    help="With --engine ray: address of a running cluster, or auto for the one on this machine. "
    "[default: a local cluster that ends with the run]",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="With --engine ray: number of workers. [default: as many as fit]",
)
@click.option(
    "--cpus-per-worker",
    type=click.IntRange(min=1),
    help="With --engine ray: CPUs and threads per worker. [default: 1]",
)
@click.option(
    "--gpus-per-worker",
    type=click.FloatRange(min=0),
    help="With --engine ray: GPUs per worker, possibly a fraction. [default: 0]",
)
@click.option("--quiet", is_flag=True, help="Show no progress.")
def retrieve_command(
    claim: str | None,
    input_path: Path | None,
    output: Path | None,
    overwrite: bool,
    as_json: bool,
    trec: Path | None,
    fast: bool,
    skip_bad: bool,
    config_path: Path | None,
    assignments: tuple[str, ...],
    engine: str,
    ray_address: str | None,
    workers: int | None,
    cpus_per_worker: int | None,
    gpus_per_worker: float | None,
    quiet: bool,
    **flags: object,
) -> None:
    """Retrieve the documents and evidence that verify claims.

    Give a CLAIM, --input FILE, or - for standard input. A line of standard input is a claim as
    plain text, or a record as in --input: {"id": "7", "claim": "..."}.

    Without --output, results go to standard output: as readable text, or with --json or --input as
    one JSON record per line.
    """
    cluster = _cluster(
        engine,
        ray_address=ray_address,
        workers=workers,
        cpus_per_worker=cpus_per_worker,
        gpus_per_worker=gpus_per_worker,
    )
    from admiral.config import FAST_SETTINGS, load_config

    if str(output) == "-":
        output, as_json = None, True
    preset = [f"{key}={value}" for key, value in FAST_SETTINGS.items()] if fast else []
    config = load_config(config_path, [*preset, *overrides(assignments, flags)])
    inputs, folders = (input_path, config_path), (config.kb, config.model, config.verifier)
    if output is not None:
        for path in (output, Path(f"{output}.failed.jsonl")):
            check_distinct_paths(path, *inputs, folders=folders)
    if trec is not None:
        check_distinct_paths(trec, output, *inputs, folders=folders)
    if overwrite and output is None:
        raise click.UsageError("--overwrite needs --output.")
    if cluster is not None and output is None:
        raise click.UsageError("--engine ray needs --output.")
    skip = SkippedClaims() if skip_bad else None
    source = claim_source(claim, input_path, skip, reread=output is not None)
    if output is not None:
        _write_file(config, source, output, cluster, overwrite=overwrite, trec=trec, quiet=quiet)
    else:
        readable = input_path is None and not as_json
        _print_results(config, source, readable=readable, trec=trec, quiet=quiet)
    if skip is not None and skip.places:
        count = len(skip.places)
        click.echo(f"{count} bad {'claim was' if count == 1 else 'claims were'} skipped", err=True)


def _cluster(engine: str, **options: Any) -> ClusterOptions | None:
    """Return the options of a cluster; None without one."""
    given = {name: value for name, value in options.items() if value is not None}
    if engine == "local":
        for name in given:
            raise click.UsageError(f"--{name.replace('_', '-')} needs --engine ray.")
        return None
    check_extra("ray", "--engine ray, on every node,", "use --engine local")
    from admiral.cluster import ClusterOptions

    return ClusterOptions(**given)


def _results(
    config: RetrievalConfig, claims: Iterable[Claim], on_stage: OnStage | None = None
) -> Iterator[RetrievalResult]:
    from admiral.pipeline import Admiral

    with Admiral.from_pretrained(config.model, kb=config.kb, config=config) as system:
        yield from system.retrieve_many(claims, on_stage=on_stage)


def _print_results(
    config: RetrievalConfig, source: ClaimSource, *, readable: bool, trec: Path | None, quiet: bool
) -> None:
    """Print results as they come, and write them as a TREC run if asked for.

    On a terminal, a line shows the current stage until there is a result.
    """
    from admiral.io.rendering import render_result
    from admiral.io.result_writer import write_trec
    from admiral.storage.atomic_files import encode_record

    rankings: list[dict[str, Any]] = []
    hidden = True if quiet or is_verbose() or sys.stderr is None else None  # None: on a terminal
    with tqdm(bar_format="{desc}", leave=False, dynamic_ncols=True, disable=hidden) as status:
        status.set_description_str("Loading the model and the knowledge base")
        results = _results(config, source(), lambda stage, _: status.set_description_str(stage))
        for number, result in enumerate(results):
            status.clear()
            if readable:
                text = render_result(result, colour=use_colour(), width=output_width())
                click.echo(("\n" if number else "") + text, nl=False)
            else:
                sys.stdout.buffer.write(encode_record(result.to_json()))
            sys.stdout.flush()
            if trec is not None:
                record = result.to_json()
                rankings.append({"id": record["id"], "documents": record["documents"]})
    if trec is not None:
        write_trec(rankings, trec)


def _write_file(
    config: RetrievalConfig,
    source: ClaimSource,
    output: Path,
    cluster: ClusterOptions | None,
    *,
    overwrite: bool,
    trec: Path | None,
    quiet: bool,
) -> None:
    from admiral.io.result_writer import ResumableWriter, write_trec
    from admiral.retrieval.provenance import recorded_settings

    if cluster is not None:
        from admiral.cluster import worker_config

        config = worker_config(config, cluster)
    with ResumableWriter(output, recorded_settings(config), overwrite=overwrite) as writer:
        # Counted before the model is loaded, so that changed claims are reported at once.
        pending = sum(1 for _ in writer.pending(source()))
        done = len(writer.finished)
        total = done + pending
        if done and not quiet:
            click.echo(f"{output}: has results for {done} of {total} claims already", err=True)
        try:
            if pending:
                outcomes = _outcomes(config, writer.pending(source()), cluster)
                for outcome in track_claims(outcomes, done=done, total=total, quiet=quiet):
                    if "error" in outcome:
                        writer.write_failed(outcome)
                    else:
                        writer.write(outcome)
                        done += 1
            writer.finish()
        except KeyboardInterrupt:
            click.echo(
                f"\n{done} of {total} claims have results. Run the same command to resume.",
                err=True,
            )
            raise
    if trec is not None:
        with output.open("rb") as file:
            write_trec((json.loads(line) for line in file), trec)


def _outcomes(
    config: RetrievalConfig, claims: Iterable[Claim], cluster: ClusterOptions | None
) -> Iterator[Record]:
    """Yield the record of each claim; on a cluster, a failed one has the field ``error``."""
    if cluster is None:
        return (result.to_json() for result in _results(config, claims))
    from admiral.cluster import retrieve_on_cluster

    return retrieve_on_cluster(config, claims, cluster)


ClaimSource = Callable[[], Iterable["Claim"]]
_BAD_CLAIMS_SHOWN = 20


class SkippedClaims:
    """Report bad claims, each place once, though a file is read more than once."""

    def __init__(self) -> None:
        self.places: set[str] = set()

    def __call__(self, error: RecordError) -> None:
        """Report the error of a claim that is left out."""
        from admiral.io.rendering import printable

        if error.where not in self.places and len(self.places) < _BAD_CLAIMS_SHOWN:
            click.echo(f"skipped: {printable(str(error))}", err=True)
        self.places.add(error.where)


def claim_source(
    claim: str | None, input_path: Path | None, skip: SkippedClaims | None, *, reread: bool
) -> ClaimSource:
    """Return a function that returns the claims.

    `claim`, `input_path`: the claim, or ``-`` for standard input; or the file, for which ``-``
    means the same. `skip`: receives the errors of bad claims; None raises the first. `reread`:
    whether the function may be called more than once. Claims that can be read only once are then
    kept in memory.
    """
    from admiral.io.claims import prefetch_claims, read_claims, stream_claims
    from admiral.records import Claim

    if (claim is None) == (input_path is None):
        raise click.UsageError("Give either a claim, '-' for standard input, or --input FILE.")
    if "-" in (claim, str(input_path)):
        if sys.stdin is None:
            raise AdmiralError("standard input: is closed. Give the claims by --input FILE")
        if reread:
            claims = list(stream_claims(sys.stdin.buffer, skip=skip))
            return lambda: claims
        return lambda: prefetch_claims(sys.stdin.fileno(), skip=skip)
    if claim is not None:
        single = Claim("1", checked_text(claim, "the claim"))
        return lambda: [single]
    path = input_path
    assert path is not None
    if path.exists() and not path.is_file():  # a pipe, which can be read only once
        claims = list(read_claims(path, skip))
        return lambda: claims
    for _ in read_claims(path, skip):  # reports a bad line now instead of hours later
        pass
    return lambda: read_claims(path, skip)


_YAML_HEADING = """\
The settings of `admiral retrieve` with their defaults; written by `admiral settings`.
Copy the lines that you change into a file of your own, or use --set for single settings:
    admiral retrieve --config my.yaml --set judge=lexical "A claim."
Options such as --judge override --set, and both override the file. Unknown keys are errors."""

_CITATIONS_HEADING = """\
The settings of `admiral verify-citation` and `admiral cite` with their defaults; written by
`admiral settings --citations`. Copy the lines that you change into a file of your own, or use --set
for single settings:
    admiral cite --set verifier=coverage --kb my-sources "A statement."
Unknown keys are errors."""

_PAGE_HEADING = """\
# Settings

<!-- Written by `make settings` from the declarations in admiral/config.py; do not edit. -->

`admiral settings` prints every setting with its default and a comment; the same file is
`configs/retrieval.yaml`. A file of your own contains the settings that you change; `--set` changes
single ones. Options of the command line override `--set`, and both override the file. Unknown
settings are errors. In Python, the settings are the attributes of `admiral.RetrievalConfig`.

```sh
admiral retrieve --config my.yaml --set title_beams=0 --judge generated --max-hops 3 "A claim."
```

Below each setting is its option of the command line, if it has one. [Proofs and judges](proofs.md)
explains the judges and their word lists, [Training](training.md) how weights are fitted, and
[Scale and speed](scale.md) what sizes and precision cost.
"""


@click.command("settings")
@click.option("--markdown", is_flag=True, help="Print tables of Markdown instead of YAML.")
@click.option("--citations", is_flag=True, help="The settings of the verification of citations.")
def settings_command(markdown: bool, citations: bool) -> None:
    """Print all settings and their meaning.

    Defaults and allowed values are shown. The output is a YAML file for --config: redirect it to a
    file and delete what you do not change.
    """
    from admiral.config import RetrievalConfig
    from admiral.io.settings_docs import settings_tables, settings_yaml

    if citations:
        if markdown:
            raise click.UsageError("--citations prints YAML only; leave out --markdown.")
        from admiral.citations.citation_settings import CitationConfig

        page = settings_yaml(CitationConfig, _CITATIONS_HEADING)
    elif markdown:
        options = {option.name: option.opts[0] for option in retrieve_command.params}
        page = _PAGE_HEADING + settings_tables(RetrievalConfig, options.get)
    else:
        page = settings_yaml(RetrievalConfig, _YAML_HEADING)
    click.echo(page, nl=False)


_BRACKET = re.compile(r"[\[\]]")


@click.command("prove")
@click.argument("claim")
@click.option(
    "--evidence",
    "sentences",
    multiple=True,
    metavar="SENTENCE",
    help='Evidence sentence, or "[Title] sentence"; repeatable.',
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON record, not readable text.")
@click.option(
    "--proof",
    "proof_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Check the proof in FILE, or - for standard input, instead of generating one.",
)
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write the proof as an HTML page.",
)
@setting_options("judge", "stop_at", "verifier", "verifier_model", "base_url")
@setting_options("model", "device", "threads")
@config_options
def prove_command(
    claim: str,
    sentences: tuple[str, ...],
    as_json: bool,
    proof_path: Path | None,
    page: Path | None,
    config_path: Path | None,
    assignments: tuple[str, ...],
    **flags: object,
) -> None:
    """Prove CLAIM from given sentences.

    The proof shows whether the sentences are sufficient. Its verdict follows from its steps,
    whether these are right or wrong.
    """
    from admiral.config import load_config

    claim = checked_text(claim, "the claim")
    evidence = [
        split_title(checked_text(sentence, f"--evidence number {number}"))
        for number, sentence in enumerate(sentences, 1)
    ]
    config = load_config(config_path, overrides(assignments, flags))
    if page is not None:
        folders = (config.kb, config.model, config.verifier)
        check_distinct_paths(page, proof_path, config_path, folders=folders)

    from admiral.io.rendering import judgement_page, judgement_record, render_judgement
    from admiral.storage.atomic_files import write_atomically

    if proof_path is not None:
        judgement = _check_proof(proof_path, claim, evidence)
    else:
        from admiral.retrieval.stage_assembly import judge_evidence, open_judge

        judgement = judge_evidence(open_judge(config), claim, evidence)
    if page is not None:
        write_atomically(page, [judgement_page(claim, evidence, judgement).encode("utf-8")])
    if as_json:
        record = judgement_record(claim, evidence, judgement)
        click.echo(json.dumps(record, ensure_ascii=False))
    else:
        text = render_judgement(
            claim, evidence, judgement, colour=use_colour(), width=output_width()
        )
        click.echo(text, nl=False)


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
