"""Run the jobs of an experiment in processes of their own.

The module is also the program of these processes. It reads a job from a line of standard input, and
exits when standard input ends, because then the parent was killed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread

from admiral.errors import AdmiralError
from admiral.experiments.jobs import Job, Record, run_job
from admiral.io.terminal import EXIT_INTERRUPTED


def run_in_process(job: Job, measurements: Path) -> Record:
    """Do a job in a new process and return its measurements.

    Parameters
    ----------
    job
        The job.
    measurements
        File for the measurements.

    Raises
    ------
    AdmiralError
        If the job fails, with the message of the process.
    """
    measurements.unlink(missing_ok=True)
    command = [sys.executable, "-m", __name__, str(measurements)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        try:
            # The pipe stays open until the job is done: if this process is killed, it ends, and so
            # does the job.
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(job).encode() + b"\n")
                process.stdin.flush()
            process.wait()
        except KeyboardInterrupt:
            process.wait()  # it was interrupted, too, and keeps its results
            raise
    if process.returncode or not measurements.exists():
        problem = f"a process of the experiment ended with status {process.returncode}"
        error_file = measurements.with_name(measurements.name + ".error")
        if error_file.exists():
            problem = error_file.read_text(encoding="utf-8")
            error_file.unlink()
        raise AdmiralError(problem)
    return read_measurements(measurements)


def read_measurements(path: Path) -> Record:
    """Return the measurements of an earlier job, empty if there is no such file."""
    try:
        return dict(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise AdmiralError(f"{path}: damaged ({error}). Delete this file") from error


def _exit_with_parent() -> None:
    os.read(0, 1)  # not through sys.stdin, whose lock would be held when Python shuts down
    os._exit(1)


if __name__ == "__main__":
    try:
        given_job = json.loads(sys.stdin.readline())
        Thread(target=_exit_with_parent, daemon=True).start()
        run_job(given_job, Path(sys.argv[1]))
    except AdmiralError:
        sys.exit(1)  # the parent reports the message
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
