"""Read files with parsers in a process of its own, which ends if a file takes it too long.

A parser that hangs or crashes cannot be stopped from within its own process. One worker process
reads one file after the other, as long as it lives; the next file starts another one. The system
itself ends a worker at the limit (timers with signals that nobody handles), so that none is left
over if this process is killed. Requests and answers are JSON, beside the bytes of the file.
"""

from __future__ import annotations

import atexit
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import IO, Any

from admiral.errors import AdmiralError

_MIB = 2**20
# By the clock, in multiples of the limit of processor time: for a worker that waits without end.
_PATIENCE = 10
_MEMORY = 4 * 2**30  # address space of the worker, in bytes
_LENGTHS = struct.Struct("<QQ")  # of the JSON and of the bytes after it
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from admiral.io.limited_reading import serve; serve()"
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
    Raises AdmiralError if the function raises it.

    - `function`: of this project, such as ``admiral.io.x:read``. It is given the bytes and the
      arguments.
    """
    if not limits.seconds:
        return _resolved(function)(data, **arguments)
    return _worker().call(function, data, arguments, limits.seconds)


class _Worker:
    """A process that runs `serve`, started when it is needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0  # a fork has no worker of its own

    def call(self, function: str, data: bytes, arguments: Mapping[str, str], seconds: float) -> Any:
        request = {"function": function, "arguments": arguments, "seconds": seconds}
        with self._lock:
            process = self._started()
            try:
                _send(process.stdin, request, data)
                answer, _ = _receive(process.stdout)
            except (BrokenPipeError, EOFError):
                raise self._ended(process) from None
            except BaseException:  # interrupted, with an answer on the way
                process.kill()
                self.close()
                raise
        if "error" in answer:
            raise AdmiralError(answer["error"])
        return answer["result"]

    def close(self) -> None:
        if self._process is None or self._owner != os.getpid():
            return
        with self._process as process:  # closes the pipes, at which the worker ends
            self._process = None
            process.poll()

    def _started(self) -> subprocess.Popen[bytes]:
        process = self._process
        if process is None or self._owner != os.getpid() or process.poll() is not None:
            self.close()
            self._owner = os.getpid()
            self._process = process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, json.dumps(sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        return process

    def _ended(self, process: subprocess.Popen[bytes]) -> Exception:
        code = process.wait()
        self.close()
        if -code in (signal.SIGPROF, signal.SIGALRM):
            return OverTimeError()
        return ReaderEndedError(signal.Signals(-code).name if code < 0 else f"with status {code}")


@cache
def _worker() -> _Worker:
    worker = _Worker()
    atexit.register(worker.close)
    return worker


def serve() -> None:
    """Answer the requests on standard input until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one decides
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = _MEMORY if most == resource.RLIM_INFINITY else min(_MEMORY, most)
    resource.setrlimit(resource.RLIMIT_AS, (limit, most))
    # What a parser prints must not come among the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            request, data = _receive(sys.stdin.buffer)
        except EOFError:
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
        _send(answers, answer, b"")


def _resolved(function: str) -> Any:
    module, _, name = function.partition(":")
    return getattr(import_module(module), name)


def _send(pipe: IO[bytes] | None, message: object, data: bytes) -> None:
    assert pipe is not None
    text = json.dumps(message).encode("ascii")
    pipe.write(_LENGTHS.pack(len(text), len(data)))
    pipe.write(text)
    pipe.write(data)
    pipe.flush()


def _receive(pipe: IO[bytes] | None) -> tuple[dict[str, Any], bytes]:
    assert pipe is not None
    header = pipe.read(_LENGTHS.size)
    if len(header) < _LENGTHS.size:
        raise EOFError
    lengths = _LENGTHS.unpack(header)
    text, data = (pipe.read(length) for length in lengths)
    if (len(text), len(data)) != lengths:
        raise EOFError
    message: dict[str, Any] = json.loads(text)
    return message, data
