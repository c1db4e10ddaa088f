"""``admiral index`` and the commands that check, describe and change knowledge bases."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click
from pydantic import Field

from admiral.cli import options
from admiral.cli.options import Json, argument, command, option, print_record
from admiral.errors import AdmiralError

if TYPE_CHECKING:
    from admiral.kb import UpdateReport

_ONLY_SOURCES = {"base_url", "words", "stride"}
_NOT_SOURCES = {"format", "passages", "include", "exclude", "strict", "report"}


class _Changing(options.Progress):
    kb: Annotated[str, option(metavar="PATH")]
    """Directory of the knowledge base."""
    as_json: Json = False
    """Print one JSON object."""


class _Waiting(_Changing):
    wait: bool = False
    """Wait for another process that changes it, instead of failing."""

    def show(self, report: UpdateReport) -> None:
        changes = {
            "added": report.added,
            "replaced": report.replaced,
            "removed": report.removed,
            "skipped (title or URL taken)": report.skipped,
            "bad records skipped": report.bad,
            "titles not found": report.missing,
        }
        options.print_report(report, self.as_json, f"{report.documents:,} documents", changes)


class _Reading(_Changing, options.FileLimitations):
    corpora: Annotated[tuple[str, ...], argument("CORPUS...")]
    format: str = "auto"
    """Format of the corpora: auto, jsonl, wiki-jsonl, fever, hotpotqa, feverous, kilt, beir,
    hipporag or files."""
    sources: bool = False
    """CORPUS is pages to cite: JSON Lines with url, title and text, sentences or html (or records
    of WiCE, WAFER or Sphere), web archives (WARC, WET), HTML pages, texts, PDF and the like."""
    base_url: Annotated[str, option(metavar="URL")] = ""
    """With --sources: URL of the folder of files that name none. [default: their paths]"""
    skip_bad: bool = False
    """Skip and count bad records instead of failing."""
    strict: bool = False
    """Stop at the first damaged file of a folder of documents."""
    report: Annotated[Path, option("--report", metavar="FILE")] | None = None
    """Write what became of each input file, as JSON Lines: titles, sentences, what was left out and
    why."""

    def check(self, sources: bool, *not_sources: str) -> None:
        """Raise an error of usage if an option was given that has no effect."""
        without_effect = _NOT_SOURCES.union(not_sources) if sources else _ONLY_SOURCES
        for name in sorted(without_effect & self.model_fields_set):
            what = "is not for" if sources else "needs"
            raise click.UsageError(f"--{name.replace('_', '-')} {what} --sources.")

    def files(self) -> Any:
        """Return the files of pages to cite."""
        from admiral.sources.source_files import SourceFiles

        return SourceFiles(
            self.corpora, base_url=self.base_url, skip_bad=self.skip_bad, limits=self.limits
        )

    def reading(self, *more: str) -> dict[str, Any]:
        """Return how documents are read; `more` names further options."""
        names = ("format", "strict", "report", "skip_bad", "limits", *more)
        return {name: getattr(self, name) for name in names}


class Index(_Reading):
    """Build a knowledge base from corpora, or bring it up to date.

    CORPUS is a file or a folder: JSON Lines, FEVER wiki-pages, a HotpotQA or HoVer dump, the
    FEVEROUS database, the KILT knowledge source, corpus.jsonl of BEIR, a corpus of HippoRAG (a JSON
    array), or a folder of documents: text, Markdown, reStructuredText, HTML, PDF, DOCX, ODT, RTF,
    EPUB, PPTX, XLSX, ODS, CSV, mails, notebooks. Files may be compressed (.gz, .bz2, .xz, .zst).
    CORPUS may also be a URL that fsspec opens, such as s3://bucket/folder.

    Run again, the same command reads the files of folders of documents that are new or have
    changed, and removes the documents of those that are gone.

    For example:
      admiral index corpus.jsonl --kb my-kb
      admiral index notes/ wiki.jsonl --kb my-kb --embeddings
      admiral index --sources pages/ crawl.warc.gz --kb my-sources --base-url https://example.org
    """

    overwrite: bool = False
    """Build anew what is there already."""
    graph: bool | None = None
    """Build the graph of mentions, with which retrieval of several hops finds more; it takes most
    of the time. [default: from 750 documents on, without --sources]"""
    embeddings: bool = False
    """Store the embeddings of all sentences that have none, for faster reranking; about 390 bytes a
    sentence. With --sources, those of passages, for dense search."""
    encoder: Annotated[str, option("--encoder", metavar="NAME|DIR")] = ""
    """Encoder of --embeddings. [default: mini-encoder; all-MiniLM-L6-v2 with --sources]"""
    include: Annotated[tuple[str, ...], option("--include", metavar="PATTERN")] = ()
    """In a folder of documents, read only the files that match, such as '*.md' or 'docs/'."""
    exclude: Annotated[tuple[str, ...], option("--exclude", metavar="PATTERN")] = ()
    """In a folder of documents, leave out what matches, as .gitignore does."""
    on_duplicate: Literal["auto", "error", "merge", "skip", "rename"] = "auto"
    """Treatment of a second document with the same title; merge appends its sentences. auto renames
    files by what differs in their paths, and is an error for records."""
    passages: bool = True
    """Score documents of more than 40 sentences by their best passage, or as a whole."""
    bm25: Literal["lucene", "bm25s", "none"] | None = None
    """BM25 backend; bm25s needs no Java. [default: lucene; bm25s with --sources]"""
    words: Annotated[int, Field(ge=1)] = 100
    """With --sources: words of a passage."""
    stride: Annotated[int, Field(ge=1)] = 50
    """With --sources: words from one passage to the next; as many as --words for no overlap."""

    def run(self) -> None:
        from admiral.graph import build_graph, has_graph, update_graph
        from admiral.kb import KnowledgeBase, build

        self.check(self.sources, "on_duplicate")
        if self.encoder and not self.embeddings:
            raise click.UsageError("--encoder needs --embeddings.")
        more: dict[str, Any] = {"overwrite": self.overwrite, "progress": self.progress}
        more["also"] = [update_graph]
        if self.embeddings:
            from admiral.config import RetrievalConfig
            from admiral.requirements import MINILM
            from admiral.retrieval.stage_assembly import build_sentence_encoder

            name = self.encoder or (MINILM if self.sources else "")
            more["encoder"] = build_sentence_encoder(RetrievalConfig(), name)
        if self.sources:
            from admiral.sources.source_indexing import build_sources

            more |= {"words": self.words, "stride": self.stride, "graph": bool(self.graph)}
            report = build_sources(self.files(), self.kb, bm25=self.bm25 or "bm25s", **more)
        else:
            more |= self.reading("include", "exclude", "on_duplicate", "passages", "graph")
            report = build(self.corpora, self.kb, bm25=self.bm25 or "lucene", **more)
        mentions = None
        if report.graph:
            with KnowledgeBase.open(self.kb) as opened:
                missing = not has_graph(opened)
            if missing:
                cores = options.usable_cores()
                mentions = build_graph(self.kb, progress=self.progress, processes=cores)
        if self.as_json:
            record = asdict(report) | ({} if mentions is None else {"graph": asdict(mentions)})
            print_record(json.loads(json.dumps(record, default=str)))
            return
        auto = self.on_duplicate == "auto"
        treatment = "told apart by their paths" if auto else self.on_duplicate
        same = "left out, URL known" if self.sources else f"duplicate titles ({treatment})"
        counts = {
            "documents added": report.added if report.added != report.documents else 0,
            "documents removed": report.removed,
            same: report.duplicates,
            **(report.skipped if self.sources else {}),
            "bad records skipped": report.bad,
        }
        size = readable_size(report.bytes)
        line = f"{report.documents:,} documents, {report.sentences:,} sentences, {size}"
        options.print_report(report, False, line, counts)
        if mentions is not None:
            size = readable_size(mentions.bytes)
            seconds = f"{mentions.seconds:.1f} s"
            click.echo(f"graph: {mentions.mentions:,} mentions, {size}, in {seconds}")


class Add(_Reading, _Waiting):
    """Add documents, or sources, to a knowledge base.

    It is not rebuilt. A running service answers from the new version as soon as it is there.

    For example:
      admiral add new.jsonl --kb my-kb
      admiral add corrected.jsonl --kb my-kb --on-duplicate replace
    """

    on_duplicate: Literal["error", "replace", "skip"] | None = None
    """Treatment of a title or URL that is there already. [default: error; replace for sources]"""

    def run(self) -> None:
        from admiral.graph import update_graph
        from admiral.kb import add, holds_sources

        sources = self.sources or holds_sources(self.kb)
        self.check(sources)
        more: dict[str, Any] = {"wait": self.wait, "progress": self.progress}
        more |= {"also": [update_graph], "on_duplicate": self.on_duplicate or "error"}
        if sources:
            from admiral.sources.source_indexing import add_sources

            more["on_duplicate"] = self.on_duplicate or "replace"
            self.show(add_sources(self.files(), self.kb, **more))
        else:
            self.show(add(self.corpora, self.kb, **self.reading(), **more))


class Remove(_Waiting):
    """Remove documents by titles, or sources by URLs in any form.

    For example:
      admiral remove "Late Night" --kb my-kb
      admiral remove --titles titles.txt --kb my-kb
    """

    given: Annotated[tuple[str, ...], argument("[TITLE]...")] = ()
    titles: Annotated[Path, option("--titles", metavar="FILE")] | None = None
    """File of titles, one per line, in UTF-8."""
    ignore_missing: bool = False
    """Count missing titles instead of failing."""

    def run(self) -> None:
        from admiral.graph import update_graph
        from admiral.kb import KnowledgeBase, read_titles, remove
        from admiral.sources.canonical_urls import canonical

        if not self.given and self.titles is None:
            raise click.UsageError("Name the documents to remove: TITLE... or --titles FILE.")
        wanted = [*self.given, *(read_titles(self.titles) if self.titles else ())]
        with KnowledgeBase.open(self.kb) as opened:
            wanted = [each if opened.row(each) is not None else canonical(each) for each in wanted]
        report = remove(
            wanted,
            self.kb,
            ignore_missing=self.ignore_missing,
            wait=self.wait,
            progress=self.progress,
            also=[update_graph],
        )
        self.show(report)


class Info(options.Configured, options.Kb):
    """Show counts and sizes of a knowledge base.

    With --config or --set, also show the memory that the weights of the checkpoints take, in fp32.

    For example:
      admiral info --kb my-kb
      admiral info --kb my-kb --check
    """

    as_json: Json = False
    """Print one JSON object."""
    check: bool = False
    """Check the files as well; the exit status is 1 if any is damaged."""

    def run(self) -> None:
        from admiral.graph import check_graph
        from admiral.kb import check, info, locate
        from admiral.models.checkpoint import verify_checkpoint

        facts = info(locate(self.kb))
        given = self.config is not None or self.assignments
        checkpoints = self._checkpoints() if given else []
        if self.as_json:
            print_record(asdict(facts) | ({"checkpoints": checkpoints} if given else {}))
        else:
            sources = ", ".join(f"{s['name']} ({s['format']})" for s in facts.settings["sources"])
            memory = [
                (each["memory"], f": {each['path']} ({', '.join(each['settings'])})")
                for each in checkpoints
            ]
            total = sum(size for size, _ in memory)
            options.print_rows(
                [
                    ("path", facts.path),
                    ("format version", str(facts.version)),
                    ("corpora", sources),
                    *((name, f"{count:,}") for name, count in facts.counts.items()),
                    *(("embeddings", f"{n:,} documents, {e}") for e, n in facts.embedded.items()),
                    ("BM25 backend", facts.bm25),
                    ("token tries", ", ".join(facts.tries) or "none yet"),
                    *((f"size: {part}", readable_size(n)) for part, n in facts.sizes.items()),
                    *(("memory", readable_size(size) + place) for size, place in memory),
                    *([("memory: total", readable_size(total))] if len(memory) > 1 else []),
                ]
            )
        if self.check:
            kb = Path(facts.path)
            found = {kb: check(kb) or check_graph(kb)}
            found |= {
                Path(one["path"]): verify_checkpoint(Path(one["path"])) for one in checkpoints
            }
            for path, problems in found.items():
                for problem in problems or [f"{path}: sound"]:
                    click.echo(problem, err=True)
            for path in (path for path, problems in found.items() if problems):
                remedy = "Restore it, or build it again with `admiral index --overwrite`."
                raise AdmiralError(f"{path}: is damaged. {remedy}")

    def _checkpoints(self) -> list[dict[str, Any]]:
        """Return path, settings, weights and memory of each checkpoint that settings name."""
        from admiral.config import checkpoint_settings
        from admiral.models.checkpoint import count_weights, locate_checkpoint

        settings: dict[Path, list[str]] = {}
        for name, names in checkpoint_settings(self.retrieval()).items():
            settings.setdefault(locate_checkpoint(name).resolve(), []).extend(names)
        weights = {path: count_weights(path) for path in settings}
        return [
            {"path": str(path), "settings": names, "weights": n, "memory": 4 * n}
            for (path, names), n in zip(settings.items(), weights.values(), strict=True)
        ]


def readable_size(count: float) -> str:
    """Return a number of bytes as text with a unit."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.2f} GB"


index_command, add_command = command(Index), command(Add)
remove_command, info_command = command(Remove), command(Info)
