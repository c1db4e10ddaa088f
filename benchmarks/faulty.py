"""Processes with faults: a function is run in a child whose nth change of a folder goes wrong.

The changes are counted below Python, in calls of the C library (`benchmarks/faults.c`, preloaded),
so that those of Arrow, safetensors, torch and Lucene count, too.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError

KINDS = ("open", "write", "sync", "rename", "unlink")
ANY = len(KINDS)
_COUNT, _FAIL, _FULL, _KILL, _TEAR = range(5)
_ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES)
# What the program tells its user, as a status; what it does not is a traceback.
DONE, TOLD, TRACEBACK = 0, 1, 99
_SAID = 2**20
LIBRARY = "ADMIRAL_FAULTS_LIBRARY"


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong, and when.

    Attributes
    ----------
    name
        ``fail``, ``full`` (nothing can be written any more), ``kill`` (before a change), ``tear``
        (a write is done by half, then the process dies), ``limit`` (files have a greatest size)
        or ``late`` (killed after a time).
    kind
        Number of the kind of change, or `ANY`.
    number
        Which one of them; for ``limit`` bytes, for ``late`` microseconds.
    error
        The error number of ``fail``.
    """

    name: str
    kind: int = ANY
    number: int = 0
    error: int = 0

    def __str__(self) -> str:
        kind = (*KINDS, "change")[self.kind]
        what = f" with {errno.errorcode[self.error]}" if self.error else ""
        return f"{self.name} at {kind} {self.number}{what}"

    @property
    def codes(self) -> tuple[int, int, int, int]:
        """What the library is told: kind, number, action and error."""
        actions = {"fail": _FAIL, "full": _FULL, "kill": _KILL, "tear": _TEAR}
        return self.kind, self.number, actions.get(self.name, _COUNT), self.error


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a child ended: `status` is its exit status, or minus the signal that killed it.

    `value` is what its function returned, `said` what it wrote to standard error, `changes` how
    many changes it made by kind, and at all.
    """

    status: int
    value: Any
    said: str
    changes: tuple[int, ...]
    seconds: float


def preloaded() -> None:
    """Run this program in a process with the library, and end with it, unless this is that one."""
    if LIBRARY in os.environ:
        return
    source = Path(__file__).with_name("faults.c")
    with tempfile.TemporaryDirectory(prefix="admiral-faults-") as folder:
        library = f"{folder}/faults.so"
        compiler = ["cc", "-shared", "-fPIC", "-O1", "-o", library, str(source), "-ldl"]
        try:
            subprocess.run(compiler, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise AdmiralError(f"{source}: cannot be compiled ({error}). Install cc") from None
        others = os.environ.get("LD_PRELOAD", "")
        surroundings = {LIBRARY: library, "LD_PRELOAD": f"{library}:{others}".rstrip(":")}
        command = [sys.executable, *sys.orig_argv[1:]]
        sys.exit(subprocess.call(command, env={**os.environ, **surroundings}))


def run(
    function: Callable[[Path], Any], folder: Path, fault: Fault | None = None, seconds: int = 0
) -> Outcome:
    """Run a function with a folder in a child process, with a fault in that folder or without.

    After so many `seconds` it is killed; 0 stands for any time.
    """
    reading, writing = os.pipe()
    # A pipe, since a limit of the size of files would hold for a file; large enough not to block.
    hearing, saying = os.pipe()
    fcntl.fcntl(saying, fcntl.F_SETPIPE_SZ, _SAID)
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.close(hearing)
        signal.alarm(seconds)
        _in_child(function, folder, fault, writing, saying)
    os.close(writing)
    os.close(saying)
    with os.fdopen(reading, "rb") as pipe, os.fdopen(hearing, "rb") as voice:
        if fault is not None and fault.name == "late":
            time.sleep(fault.number / 1e6)
            os.kill(child, signal.SIGKILL)
        answer = pipe.read()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        took = time.monotonic() - began
        os.set_blocking(voice.fileno(), False)  # a process that the child started may hold it
        text = (voice.read() or b"").decode("utf-8", "replace")
    value, changes = json.loads(answer) if answer else (None, ())
    return Outcome(status, value, text, tuple(changes), took)


def _in_child(
    function: Callable[[Path], Any], folder: Path, fault: Fault | None, pipe: int, said: int
) -> None:
    status, value, changes = TRACEBACK, None, [0] * (ANY + 1)
    library = ctypes.CDLL(None)
    try:
        for stream in (1, 2):
            os.dup2(said, stream)
        if fault is not None and fault.name == "limit":
            resource.setrlimit(resource.RLIMIT_FSIZE, (fault.number, fault.number))
        if LIBRARY in os.environ:
            number, codes = ctypes.c_int, fault.codes if fault else (ANY, 0, _COUNT, 0)
            library.faults_arm.argtypes = [ctypes.c_char_p, number, ctypes.c_long, number, number]
            os.environ["ADMIRAL_FAULTS"] = " ".join(map(str, (*codes, folder)))
            library.faults_arm(os.fsencode(folder), *codes)
        value, status = function(folder), DONE
    except AdmiralError as error:
        print(f"error: {error}", file=sys.stderr)
        status = TOLD
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else TOLD
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
            if LIBRARY in os.environ:
                changes = [library.faults_seen(kind) for kind in range(ANY + 1)]
            os.write(pipe, json.dumps([value, changes]).encode())
        os._exit(status)


def faults_of(clean: Outcome, largest: int, count: int, rng: random.Random) -> list[Fault]:
    """Return about `count` different faults, of every sort and spread over what is changed.

    Parameters
    ----------
    clean
        How the function ended without a fault.
    largest
        The bytes of the largest file then.
    """
    found: dict[Fault, None] = {}
    sorts = ("kill", "fail", "fail", "tear", "full", "kill", "limit", "late")
    for turn in range(20 * count):
        if len(found) >= count:
            break
        name = sorts[turn % len(sorts)]
        if name == "limit":
            found[Fault(name, number=rng.randrange(max(largest, 1)))] = None
        elif name == "late":
            found[Fault(name, number=rng.randrange(int(clean.seconds * 1e6)))] = None
        else:
            kinds = [kind for kind in range(ANY) if clean.changes[kind]]
            kind = {"kill": ANY, "tear": 1, "full": ANY}.get(name, rng.choice(kinds))
            if clean.changes[kind]:
                number = rng.randrange(clean.changes[kind]) + 1
                error = rng.choice(_ERRORS) if name == "fail" else 0
                found[Fault(name, kind, number, error)] = None
    return list(found)
