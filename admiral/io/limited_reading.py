"""Read files with parsers in a process of its own, which ends if a file takes it too long.

A parser that hangs or crashes cannot be stopped from within its own process. One worker process
reads one file after the other, as long as it lives; the next file starts another one. The system
itself ends a worker at the limit (timers with signals that nobody handles), so that none is left
over if this process is killed.
"""

from __future__ import annotations

import atexit
import json
import os
import resource
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from admiral.errors import AdmiralError

_MIB = 2**20
# By the clock, in multiples of the limit of processor time: for a worker that waits without end.
_PATIENCE = 10
_MEMORY = 4 * 2**30  # address space of the worker, in bytes
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from admiral.io.limited_reading import serve; serve(int(sys.argv[2]))"
)


@dataclass(frozen=True, slots=True)
class FileLimits:
    """Limits of reading one file."""

    # Processor time; ten times as long by the clock. With 0, there is no limit, and files are read
    # in this process.
    seconds: float = 60.0
    megabytes: int = 128  # size after decompression, in MiB. Formats have limits of their own.

    def largest(self, of_format: int) -> int:
        """Return the size of the largest file, in bytes, given the limit of its format."""
        return min(self.megabytes * _MIB, of_format)

    def too_large(self, of_format: int) -> str:
        """Return why a file that is larger than `largest` is not read."""
        return "too long" if self.megabytes * _MIB > of_format else OVER_SIZE


DEFAULT_LIMITS = FileLimits()
OVER_SIZE = "larger than --file-megabytes"
OVER_TIME = "took longer than --file-seconds"


class OverTimeError(Exception):
    """A file took too long."""


class ReaderEndedError(Exception):
    """The worker ended within a file; the message says by what."""


def read_limited(
    function: str, data: bytes, limits: FileLimits = DEFAULT_LIMITS, **arguments: str
) -> Any:
    """Return what a function makes of the bytes of a file, in JSON.

    Raises OverTimeError, ReaderEndedError if the file was over the limit, or ended its reader.

    - `function`: of this project, such as ``admiral.io.x:read``. It is given the bytes and the
      arguments.
    """
    if not limits.seconds:
        return _resolved(function)(data, **arguments)
    request = {"function": function, "arguments": arguments, "seconds": limits.seconds}
    with _worker.lock:
        connection = _worker.started()
        try:
            connection.send_bytes(json.dumps(request).encode())
            connection.send_bytes(data)
            answer = json.loads(connection.recv_bytes())
        except (OSError, EOFError):
            raise _worker.ended() from None
        except BaseException:  # interrupted, with an answer on the way
            _worker.kill()
            raise
    if "error" in answer:
        raise AdmiralError(answer["error"])
    return answer["result"]


class _Worker:
    """A process that runs `serve`, started when it is needed."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._running: tuple[subprocess.Popen[bytes], Connection] | None = None
        self._owner = 0  # a fork has no worker of its own

    def started(self) -> Connection:
        if (
            self._running is None
            or self._owner != os.getpid()
            or self._running[0].poll() is not None
        ):
            connection, other = Pipe()
            with other:
                process = subprocess.Popen(
                    [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), str(other.fileno())],
                    pass_fds=[other.fileno()],
                    stdout=2,  # of what a parser prints
                )
            self._owner, self._running = os.getpid(), (process, connection)
        return self._running[1]

    def ended(self) -> Exception:
        code = self.close()
        if -code in (signal.SIGPROF, signal.SIGALRM):
            return OverTimeError()
        return ReaderEndedError(signal.Signals(-code).name if code < 0 else f"with status {code}")

    def kill(self) -> None:
        if self._running is not None:
            self._running[0].kill()
        self.close()

    def close(self) -> int:
        """Close the connection, at which the worker ends, and return its status."""
        if self._running is None or self._owner != os.getpid():
            return 0
        process, connection = self._running
        self._running = None
        connection.close()
        return process.wait()


_worker = _Worker()
atexit.register(_worker.close)


def serve(descriptor: int) -> None:
    """Answer requests until the connection is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one decides
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = _MEMORY if most == resource.RLIM_INFINITY else min(_MEMORY, most)
    resource.setrlimit(resource.RLIMIT_AS, (limit, most))
    connection = Connection(descriptor)
    while True:
        try:
            request, data = json.loads(connection.recv_bytes()), connection.recv_bytes()
        except (OSError, EOFError):
            return
        function = _resolved(request["function"])  # its import takes none of the file's time
        signal.setitimer(signal.ITIMER_PROF, request["seconds"])
        signal.setitimer(signal.ITIMER_REAL, request["seconds"] * _PATIENCE)
        try:
            answer = {"result": function(data, **request["arguments"])}
        except AdmiralError as error:
            answer = {"error": str(error)}
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        connection.send_bytes(json.dumps(answer).encode())


def _resolved(function: str) -> Any:
    module, _, name = function.partition(":")
    return getattr(import_module(module), name)
