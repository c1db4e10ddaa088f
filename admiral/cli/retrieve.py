"""`admiral retrieve`: answer one claim, a file of claims, or claims from standard input."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from admiral.cli.cluster import cluster_options
from admiral.cli.options import checked_text, colour, engine_options, keep_out, overrides
from admiral.errors import AdmiralError
from admiral.io.claim_progress import track
from admiral.storage.output_paths import check_place, keep_apart

if TYPE_CHECKING:
    from admiral.cluster.chunks import Failure
    from admiral.cluster.ray_session import ClusterOptions
    from admiral.config import RetrievalConfig
    from admiral.records import Claim, RetrievalResult

Source = Callable[[], Iterable["Claim"]]


@click.command("retrieve")
@click.argument("claim", required=False)
@click.option(
    "--input", "input_path", type=click.Path(path_type=Path), help="JSON Lines of claims."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="JSON Lines of results; an interrupted run goes on where it stopped.",
)
@click.option("--overwrite", is_flag=True, help="Start --output anew whatever is there.")
@click.option("--json", "as_json", is_flag=True, help="Print records instead of readable text.")
@click.option("--trec", type=click.Path(path_type=Path), help="Write a TREC run besides.")
@click.option("--kb", metavar="DIR", help="Knowledge base (default: the bundled demo).")
@click.option("--hops", metavar="dynamic|N", help="Until the proof is complete, or always N.")
@click.option("--max-hops", type=int, help="Bound of dynamic (default 4).")
@click.option("--top-k", type=int, help="Documents in the final ranking (default 100).")
@click.option("--beam-size", type=int, help="Beams of the hop retriever (default 25).")
@click.option("--evidence", type=int, help="Sentences kept per hop (default 5).")
@click.option("--bm25", metavar="NAME", help="lucene or bm25s, if the knowledge base has it.")
@click.option("--reranker", metavar="NAME", help="cross-encoder, similarity, bm25 or combined.")
@engine_options
@cluster_options
@click.option(
    "--attempts",
    type=int,
    help="With --engine ray: how often a claim fails before it is passed over (default 3).",
)
@click.option(
    "--claim-seconds",
    type=float,
    help="With --engine ray: a claim alone that takes longer has failed (default 300).",
)
@click.option("--quiet", is_flag=True, help="No progress.")
def retrieve_command(
    claim: str | None,
    input_path: Path | None,
    output: Path | None,
    overwrite: bool,
    as_json: bool,
    trec: Path | None,
    config_path: Path | None,
    assignments: tuple[str, ...],
    cluster: ClusterOptions | None,
    quiet: bool,
    **flags: object,
) -> None:
    """Find the documents and evidence that verify claims.

    Give one CLAIM, --input FILE, or - for standard input, whose lines are claims as plain text or
    records like those of --input: {"id": "7", "claim": "..."}. Without --output, results go to
    standard output: as readable text, or with --json (and always with --input) as one JSON record
    a line.
    """
    from admiral.config import load_config

    config = load_config(config_path, overrides(assignments, flags))
    _keep_files_apart(output, trec, (input_path, config_path), (config.kb, config.model))
    if trec is not None:
        check_place(trec)
    if overwrite and output is None:
        raise click.UsageError("--overwrite goes with --output.")
    if cluster is not None and output is None:
        raise click.UsageError("--engine ray goes with --output.")
    source = _source(claim, input_path, keep=output is not None)
    if output is not None:
        _to_file(config, source, output, cluster, overwrite=overwrite, trec=trec, quiet=quiet)
    else:
        readable = input_path is None and not as_json
        _to_stdout(config, source, readable=readable, trec=trec)


def _keep_files_apart(
    output: Path | None,
    trec: Path | None,
    inputs: Sequence[Path | None],
    folders: Sequence[str],
) -> None:
    """Refuse to write over an input, into a folder that is read, or over the results."""
    from admiral.io.result_writer import companions

    written = [output, *companions(output)] if output is not None else []
    for path in written:
        keep_apart(path, *inputs)
        keep_out(path, *folders)
    if trec is not None:
        keep_apart(trec, *inputs, *written)
        keep_out(trec, *folders)


def _source(claim: str | None, input_path: Path | None, *, keep: bool) -> Source:
    """Return a function that gives the claims; more than once if they are to be kept."""
    from admiral.io.claims import arriving_claims, read_claims, stream_claims
    from admiral.records import Claim

    if (claim is None) == (input_path is None):
        raise click.UsageError("Give either a claim, '-' for standard input, or --input FILE.")
    if "-" in (claim, str(input_path)):
        if sys.stdin is None:
            raise AdmiralError("standard input: is closed. Give the claims by --input FILE")
        if keep:
            claims = list(stream_claims(sys.stdin.buffer))
            return lambda: claims
        return lambda: arriving_claims(sys.stdin.fileno())
    if claim is not None:
        one = Claim("1", checked_text(claim, "the claim"))
        return lambda: [one]
    path = input_path
    assert path is not None
    if path.exists() and not path.is_file():  # a pipe can be read once only
        claims = list(read_claims(path))
        return lambda: claims
    for _ in read_claims(path):  # a bad line is told now, not hours later
        pass
    return lambda: read_claims(path)


def _results(config: RetrievalConfig, claims: Iterable[Claim]) -> Iterator[RetrievalResult]:
    from admiral.pipeline import Admiral

    with Admiral.from_pretrained(config.model, kb=config.kb, config=config) as system:
        yield from system.retrieve_many(claims)


def _to_stdout(
    config: RetrievalConfig, source: Source, *, readable: bool, trec: Path | None
) -> None:
    from admiral.io.text_rendering import render_result
    from admiral.io.trec import write_trec
    from admiral.storage.atomic_files import encode_record

    out = sys.stdout.buffer
    kept: list[dict[str, Any]] = []
    for number, result in enumerate(_results(config, source())):
        if readable:
            width = min(shutil.get_terminal_size((100, 24)).columns, 120)
            text = render_result(result, colour=colour(), width=width)
            click.echo(("\n" if number else "") + text, nl=False)
        else:
            out.write(encode_record(result.to_json()))
        sys.stdout.flush()
        if trec is not None:
            record = result.to_json()
            kept.append({"id": record["id"], "documents": record["documents"]})
    if trec is not None:
        write_trec(kept, trec)


def _to_file(
    config: RetrievalConfig,
    source: Source,
    output: Path,
    cluster: ClusterOptions | None,
    *,
    overwrite: bool,
    trec: Path | None,
    quiet: bool,
) -> None:
    from admiral.io.result_writer import ResumableWriter
    from admiral.io.trec import write_trec
    from admiral.retrieval.provenance import recorded_settings

    if cluster is not None:
        from admiral.cluster.worker import worker_config

        config = worker_config(config, cluster.cpus, cluster.gpus)
    with ResumableWriter(output, recorded_settings(config), overwrite=overwrite) as writer:
        # Changed claims are told before the model is loaded.
        todo = sum(1 for _ in writer.pending(source()))
        done = len(writer.finished)
        total = done + todo
        if done and not quiet:
            click.echo(f"{output}: {done} of {total} claims were answered before", err=True)
        try:
            if todo:
                outcomes = _outcomes(config, writer.pending(source()), cluster, todo)
                for outcome in track(outcomes, done=done, total=total, quiet=quiet):
                    if isinstance(outcome, dict):
                        writer.write(outcome)
                        done += 1
                    else:
                        writer.passed_over.add(outcome.to_json())
            writer.finish()
        except KeyboardInterrupt:
            click.echo(
                f"\n{done} of {total} claims are answered. The same command goes on from there.",
                err=True,
            )
            raise
    if trec is not None:
        with output.open("rb") as file:
            write_trec((json.loads(line) for line in file), trec)
    writer.passed_over.complain(done + len(writer.passed_over))


def _outcomes(
    config: RetrievalConfig, claims: Iterable[Claim], cluster: ClusterOptions | None, total: int
) -> Iterator[dict[str, Any] | Failure]:
    """Yield the records of claims, here or on a cluster, or why one was passed over."""
    if cluster is None:
        return (result.to_json() for result in _results(config, claims))
    from admiral.cluster.distributed_retrieval import retrieve_on_cluster

    return retrieve_on_cluster(config, claims, cluster, total=total)
