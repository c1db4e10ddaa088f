"""``admiral add``, ``remove``, ``compact`` and ``embed`` change a knowledge base; ``join``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from admiral.cli.index import readable_size, report_option
from admiral.cli.options import (
    file_limit_options,
    overrides,
    print_report,
    progress_option,
    report_json_option,
    setting_options,
)

if TYPE_CHECKING:
    from admiral.io.limited_reading import FileLimits
    from admiral.kb import UpdateReport


Command = TypeVar("Command", bound=Callable[..., Any])


def _options(command: Command) -> Command:
    for option in (
        report_json_option,
        progress_option,
        click.option(
            "--wait",
            is_flag=True,
            help="Wait for another process that changes it, instead of failing.",
        ),
        click.option(
            "--kb", "kb", metavar="PATH", required=True, help="Directory of the knowledge base."
        ),
    ):
        command = option(command)
    return command


@click.command("add")
@click.argument("corpora", metavar="CORPUS...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--format",
    "format",
    default="auto",
    show_default=True,
    help="Format of the corpora, as for `admiral index`.",
)
@click.option(
    "--on-duplicate",
    default="error",
    show_default=True,
    help="Treatment of a document whose title exists already: error, replace or skip.",
)
@click.option("--skip-bad", is_flag=True, help="Skip and count bad records instead of failing.")
@click.option(
    "--strict", is_flag=True, help="Stop at the first damaged file of a folder of documents."
)
@report_option
@file_limit_options
@_options
def add_command(
    corpora: tuple[str, ...],
    kb: str,
    report_path: Path | None,
    limits: FileLimits,
    progress: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Add documents to a knowledge base.

    It is not rebuilt. Processes that have it open continue with their version; the change is
    visible to those that open it later.
    """
    from admiral.graph import keeping_graph
    from admiral.kb import add

    with keeping_graph(kb, progress=progress):
        report = add(corpora, kb, progress=progress, report=report_path, limits=limits, **options)
    _show(report, as_json)


@click.command("remove")
@click.argument("titles", metavar="TITLE...", nargs=-1)
@click.option(
    "--titles",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="File of titles, one per line, in UTF-8.",
)
@click.option("--ignore-missing", is_flag=True, help="Count missing titles instead of failing.")
@_options
def remove_command(
    titles: tuple[str, ...],
    kb: str,
    file: Path | None,
    ignore_missing: bool,
    wait: bool,
    progress: bool,
    as_json: bool,
) -> None:
    """Remove documents from a knowledge base."""
    from admiral.graph import keeping_graph
    from admiral.kb import read_titles, remove

    if not titles and file is None:
        raise click.UsageError("Name the documents to remove: TITLE... or --titles FILE.")
    wanted = [*titles, *(read_titles(file) if file else ())]
    with keeping_graph(kb, progress=progress):
        report = remove(wanted, kb, ignore_missing=ignore_missing, wait=wait, progress=progress)
    _show(report, as_json)


@click.command("compact")
@_options
def compact_command(kb: str, wait: bool, progress: bool, as_json: bool) -> None:
    """Merge the changes of a knowledge base.

    Afterwards it is as if newly built. This takes about as long as `admiral index`, and needs space
    for both versions.
    """
    from admiral.graph import keeping_graph
    from admiral.kb import compact

    with keeping_graph(kb, progress=progress):
        report = compact(kb, wait=wait, progress=progress)
    _show(report, as_json)


@click.command("embed")
@setting_options("device")
@_options
def embed_command(device: str | None, kb: str, wait: bool, progress: bool, as_json: bool) -> None:
    """Store embeddings of the sentences of a knowledge base.

    Claims are then answered faster, because the similarity reranker reads the embeddings instead of
    computing them. They take about 390 bytes a sentence. After `admiral add`, run it again: it
    embeds only the new documents.
    """
    from admiral.config import load_config
    from admiral.graph import keeping_graph
    from admiral.kb import embed
    from admiral.kb.store.manifest import read_manifest
    from admiral.retrieval.stage_assembly import build_sentence_encoder

    read_manifest(Path(kb))  # before a model is loaded
    encoder = build_sentence_encoder(load_config(None, overrides((), {"device": device})))
    with keeping_graph(kb, progress=progress):
        report = embed(kb, encoder, wait=wait, progress=progress)
    line = f"embeddings of {report.sentences:,} sentences by {report.encoder}"
    print_report(report, as_json, f"{line}, {readable_size(report.bytes)}", {})


def _show(report: UpdateReport, as_json: bool) -> None:
    changes = {
        "added": report.added,
        "replaced": report.replaced,
        "removed": report.removed,
        "skipped (title taken)": report.skipped,
        "bad records skipped": report.bad,
        "titles not found": report.missing,
        "waiting for `admiral compact`": report.pending,
    }
    print_report(report, as_json, f"{report.documents:,} documents", changes)


@click.command("join")
@click.argument("members", metavar="SHARD...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--kb", "kb", metavar="PATH", required=True, help="Directory of the joined knowledge base."
)
@click.option(
    "--on-duplicate",
    default="error",
    show_default=True,
    help="Treatment of a title that several members have: error, or skip (the first one counts).",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing knowledge base.")
@report_json_option
def join_command(
    members: tuple[str, ...], kb: str, on_duplicate: str, overwrite: bool, as_json: bool
) -> None:
    """Join knowledge bases, so that they are searched as one.

    Nothing is copied: the members stay where they are. Changes by `admiral add`, `remove` and
    `compact` to a member take effect when the joined knowledge base is next opened.
    """
    from admiral.kb import join

    report = join(members, kb, on_duplicate=on_duplicate, overwrite=overwrite)
    line = f"{report.documents:,} documents of {report.members:,} knowledge bases"
    print_report(report, as_json, line, {"duplicate titles (skip)": report.hidden})
