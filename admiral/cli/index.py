"""``admiral index`` and the commands that check, describe and change knowledge bases."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from admiral.cli.options import (
    Command,
    config_options,
    file_limit_options,
    kb_option,
    print_report,
    progress_option,
    report_json_option,
    usable_cores,
)
from admiral.errors import AdmiralError

if TYPE_CHECKING:
    from admiral.io.limited_reading import FileLimits
    from admiral.kb import KbInfo, UpdateReport

_changed_kb_option = click.option(
    "--kb", metavar="PATH", required=True, help="Directory of the knowledge base."
)
_wait_option = click.option(
    "--wait", is_flag=True, help="Wait for another process that changes it, instead of failing."
)


def _reading_options(command: Command) -> Command:
    for option in (
        report_json_option,
        progress_option,
        file_limit_options,
        click.option(
            "--report",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Write what became of each input file, as JSON Lines: titles, sentences, what was "
            "left out and why.",
        ),
        click.option(
            "--strict",
            is_flag=True,
            help="Stop at the first damaged file of a folder of documents.",
        ),
        click.option(
            "--skip-bad", is_flag=True, help="Skip and count bad records instead of failing."
        ),
        click.option(
            "--base-url",
            default="",
            metavar="URL",
            help="With --sources: URL of the folder of files that do not name theirs; without it, "
            "they are named by their paths.",
        ),
        click.option(
            "--sources",
            is_flag=True,
            help="CORPUS is pages to cite: JSON Lines with url, title and text, sentences or html "
            "(or records of WiCE, WAFER or Sphere), web archives (WARC, WET), HTML pages, texts, "
            "PDF and other documents. Documents then have URLs, and pages with the same URL are "
            "one.",
        ),
        click.option(
            "--format",
            default="auto",
            show_default=True,
            help="Format of the corpora: auto, jsonl, wiki-jsonl, fever, hotpotqa, feverous, kilt, "
            "beir, hipporag or files.",
        ),
        _changed_kb_option,
        click.argument("corpora", metavar="CORPUS...", nargs=-1, required=True, type=click.Path()),
    ):
        command = option(command)
    return command


@click.command("index")
@_reading_options
@click.option("--words", default=100, help="With --sources: words of a passage.  [default: 100]")
@click.option(
    "--stride",
    default=50,
    help="With --sources: words from one passage to the next; as many as --words for no overlap.  "
    "[default: 50]",
)
@click.option(
    "--bm25",
    help="BM25 backend: lucene, bm25s (needs no Java) or none.  [default: lucene; bm25s with "
    "--sources]",
)
@click.option(
    "--passages/--no-passages",
    default=True,
    show_default=True,
    help="Score documents of more than 40 sentences by their best passage, or as a whole.",
)
@click.option(
    "--on-duplicate",
    default="auto",
    show_default=True,
    help="Treatment of a second document with the same title: error, merge (append its sentences), "
    "skip or rename. auto renames files by what differs in their paths; for records of other "
    "corpora it is an error.",
)
@click.option(
    "--include",
    multiple=True,
    metavar="PATTERN",
    help="In a folder of documents, read only the files that match, such as '*.md' or 'docs/'.",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="PATTERN",
    help="In a folder of documents, leave out what matches, as .gitignore does.",
)
@click.option(
    "--embeddings",
    is_flag=True,
    help="Store the embeddings of all sentences that have none, for faster reranking; about 390 "
    "bytes a sentence. With --sources, those of passages, for dense search.",
)
@click.option(
    "--encoder",
    metavar="NAME|DIR",
    help="Encoder of --embeddings.  [default: mini-encoder; all-MiniLM-L6-v2 with --sources]",
)
@click.option(
    "--graph/--no-graph",
    default=None,
    help="Build the graph of mentions, with which retrieval of several hops finds more; it "
    "takes most of the time. [default: from 750 documents on, without --sources]",
)
@click.option("--overwrite", is_flag=True, help="Build anew what is there already.")
def index_command(
    corpora: tuple[str, ...],
    kb: str,
    sources: bool,
    base_url: str,
    words: int,
    stride: int,
    bm25: str | None,
    on_duplicate: str,
    embeddings: bool,
    encoder: str | None,
    graph: bool | None,
    skip_bad: bool,
    limits: FileLimits,
    overwrite: bool,
    progress: bool,
    as_json: bool,
    **of_documents: Any,
) -> None:
    """Build a knowledge base from corpora, or bring it up to date.

    CORPUS is a file or a folder: JSON Lines, FEVER wiki-pages, a HotpotQA or HoVer dump, the
    FEVEROUS database, the KILT knowledge source, corpus.jsonl of BEIR, a corpus of HippoRAG (a JSON
    array), or a folder of documents: text, Markdown, reStructuredText, HTML, PDF, DOCX, ODT, RTF,
    EPUB, PPTX, XLSX, ODS, CSV, mails, notebooks. Files may be compressed (.gz, .bz2, .xz, .zst).
    CORPUS may also be a URL that fsspec opens, such as s3://bucket/folder.

    Run again, the same command reads the files of folders of documents that are new or have
    changed, and removes the documents of those that are gone.
    """
    from admiral.graph import build_graph, has_graph, update_graph
    from admiral.kb import KnowledgeBase, build

    _check_options(sources=sources, also=("on_duplicate",))
    if encoder and not embeddings:
        raise click.UsageError("--encoder needs --embeddings.")
    options: dict[str, Any] = {"overwrite": overwrite, "progress": progress, "also": [update_graph]}
    if embeddings:
        from admiral.config import RetrievalConfig
        from admiral.requirements import MINILM
        from admiral.retrieval.stage_assembly import build_sentence_encoder

        name = encoder or (MINILM if sources else "")
        options["encoder"] = build_sentence_encoder(RetrievalConfig(), name)
    if sources:
        from admiral.sources.source_files import SourceFiles
        from admiral.sources.source_indexing import build_sources

        files = SourceFiles(corpora, base_url=base_url, skip_bad=skip_bad, limits=limits)
        options |= {"words": words, "stride": stride, "bm25": bm25 or "bm25s"}
        report = build_sources(files, kb, graph=bool(graph), **options)
    else:
        options |= {"on_duplicate": on_duplicate, "skip_bad": skip_bad, "limits": limits}
        options |= {"bm25": bm25 or "lucene", "graph": graph, **of_documents}
        report = build(corpora, kb, **options)
    mentions = None
    if report.graph:
        with KnowledgeBase.open(kb) as opened:
            missing = not has_graph(opened)
        if missing:
            mentions = build_graph(kb, progress=progress, processes=usable_cores())
    if as_json:
        record = asdict(report)
        if mentions is not None:
            record["graph"] = asdict(mentions)
        click.echo(json.dumps(record, default=str))
        return
    grown = report.added != report.documents
    treatment = "told apart by their paths" if on_duplicate == "auto" else on_duplicate
    same = "left out, URL known" if sources else f"duplicate titles ({treatment})"
    counts = {
        "documents added": report.added if grown else 0,
        "documents removed": report.removed,
        same: report.duplicates,
        **(report.skipped if sources else {}),
        "bad records skipped": report.bad,
    }
    size = readable_size(report.bytes)
    line = f"{report.documents:,} documents, {report.sentences:,} sentences, {size}"
    print_report(report, as_json, line, counts)
    if mentions is not None:
        size = readable_size(mentions.bytes)
        click.echo(f"graph: {mentions.mentions:,} mentions, {size}, in {mentions.seconds:.1f} s")


_ONLY_SOURCES = ("base_url", "words", "stride")
_NOT_SOURCES = ("format", "passages", "include", "exclude", "strict", "report")


def _check_options(*, sources: bool, also: tuple[str, ...] = ()) -> None:
    """Raise an error of usage if an option was given that has no effect."""
    context = click.get_current_context()
    for name in (*_NOT_SOURCES, *also) if sources else _ONLY_SOURCES:
        if context.get_parameter_source(name) not in (None, ParameterSource.DEFAULT):
            what = "is not for" if sources else "needs"
            raise click.UsageError(f"--{name.replace('_', '-')} {what} --sources.")


@click.command("add")
@_reading_options
@_wait_option
@click.option(
    "--on-duplicate",
    help="Treatment of a document whose title exists already, or of a source whose URL does: "
    "error, replace or skip.  [default: error; replace for sources]",
)
def add_command(
    corpora: tuple[str, ...],
    kb: str,
    sources: bool,
    base_url: str,
    on_duplicate: str | None,
    skip_bad: bool,
    limits: FileLimits,
    wait: bool,
    progress: bool,
    as_json: bool,
    **of_documents: Any,
) -> None:
    """Add documents to a knowledge base; to one of sources, sources.

    It is not rebuilt. A running service answers from the new version as soon as it is there.
    """
    from admiral.graph import update_graph
    from admiral.kb import add, holds_sources

    sources = sources or holds_sources(kb)
    _check_options(sources=sources)
    options: dict[str, Any] = {"wait": wait, "progress": progress, "also": [update_graph]}
    if sources:
        from admiral.sources.source_files import SourceFiles
        from admiral.sources.source_indexing import add_sources

        files = SourceFiles(corpora, base_url=base_url, skip_bad=skip_bad, limits=limits)
        report = add_sources(files, kb, on_duplicate=on_duplicate or "replace", **options)
    else:
        options |= {"skip_bad": skip_bad, "limits": limits, **of_documents}
        report = add(corpora, kb, on_duplicate=on_duplicate or "error", **options)
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
@_changed_kb_option
@_wait_option
@progress_option
@report_json_option
def remove_command(
    titles: tuple[str, ...],
    kb: str,
    file: Path | None,
    ignore_missing: bool,
    wait: bool,
    progress: bool,
    as_json: bool,
) -> None:
    """Remove documents from a knowledge base, by titles; sources, by URLs in any form."""
    from admiral.graph import update_graph
    from admiral.kb import KnowledgeBase, read_titles, remove
    from admiral.sources.canonical_urls import canonical

    if not titles and file is None:
        raise click.UsageError("Name the documents to remove: TITLE... or --titles FILE.")
    wanted = [*titles, *(read_titles(file) if file else ())]
    with KnowledgeBase.open(kb) as opened:
        wanted = [each if opened.row(each) is not None else canonical(each) for each in wanted]
    report = remove(
        wanted,
        kb,
        ignore_missing=ignore_missing,
        wait=wait,
        progress=progress,
        also=[update_graph],
    )
    _show(report, as_json)


def _show(report: UpdateReport, as_json: bool) -> None:
    changes = {
        "added": report.added,
        "replaced": report.replaced,
        "removed": report.removed,
        "skipped (title or URL taken)": report.skipped,
        "bad records skipped": report.bad,
        "titles not found": report.missing,
    }
    print_report(report, as_json, f"{report.documents:,} documents", changes)


@click.command("info")
@kb_option
@report_json_option
@click.option(
    "--check", is_flag=True, help="Check the files as well; the exit status is 1 if any is damaged."
)
@config_options
def info_command(
    kb: str, as_json: bool, check: bool, config_path: Path | None, assignments: tuple[str, ...]
) -> None:
    """Show counts and sizes of a knowledge base.

    With --config or --set, also show the memory that the weights of the checkpoints take, in fp32.
    """
    from admiral.kb import info, locate

    facts = info(locate(kb))
    given = config_path is not None or assignments
    checkpoints = _checkpoints(config_path, assignments) if given else []
    if as_json:
        more = {"checkpoints": checkpoints} if given else {}
        click.echo(json.dumps(asdict(facts) | more, ensure_ascii=False))
    else:
        _print_facts(facts, checkpoints)
    if check:
        _check(Path(facts.path), [Path(each["path"]) for each in checkpoints])


def _check(kb: Path, checkpoints: list[Path]) -> None:
    from admiral.graph import check_graph
    from admiral.kb import check
    from admiral.models.checkpoint import verify_checkpoint

    found = {kb: check(kb) or check_graph(kb)} | {p: verify_checkpoint(p) for p in checkpoints}
    for path, problems in found.items():
        for problem in problems or [f"{path}: sound"]:
            click.echo(problem, err=True)
    damaged = [path for path, problems in found.items() if problems]
    if damaged:
        remedy = "Restore it, or build it again with `admiral index --overwrite`."
        raise AdmiralError(f"{damaged[0]}: is damaged. {remedy}")


def _print_facts(facts: KbInfo, checkpoints: list[dict[str, Any]]) -> None:
    sources = ", ".join(f"{s['name']} ({s['format']})" for s in facts.settings["sources"])
    rows = [("path", facts.path), ("format version", str(facts.version)), ("corpora", sources)]
    rows += [(name, f"{count:,}") for name, count in facts.counts.items()]
    rows += [("embeddings", f"{n:,} documents, {name}") for name, n in facts.embedded.items()]
    rows += [("BM25 backend", facts.bm25), ("token tries", ", ".join(facts.tries) or "none yet")]
    rows += [(f"size: {part}", readable_size(size)) for part, size in facts.sizes.items()]
    rows += [
        ("memory", f"{readable_size(one['memory'])}: {one['path']} ({', '.join(one['settings'])})")
        for one in checkpoints
    ]
    if len(checkpoints) > 1:
        rows += [("memory: total", readable_size(sum(one["memory"] for one in checkpoints)))]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        click.echo(f"{name:<{width}}  {value}")


def _checkpoints(config_path: Path | None, assignments: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return path, settings, weights and memory of each checkpoint that settings name."""
    from admiral.config import checkpoint_settings, load_config
    from admiral.models.checkpoint import count_weights, locate_checkpoint

    settings: dict[Path, list[str]] = {}
    for name, names in checkpoint_settings(load_config(config_path, assignments)).items():
        settings.setdefault(locate_checkpoint(name).resolve(), []).extend(names)
    weights = {path: count_weights(path) for path in settings}
    return [
        {
            "path": str(path),
            "settings": names,
            "weights": weights[path],
            "memory": 4 * weights[path],
        }
        for path, names in settings.items()
    ]


def readable_size(count: float) -> str:
    """Return a number of bytes as text with a unit."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.2f} GB"
