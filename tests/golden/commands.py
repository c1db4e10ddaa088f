"""Run what users run: `admiral`, its service, and the programs of `training`.

Nothing is imported from the packages, so that their modules can move.
"""

import io
import json
import re
import runpy
import subprocess
import sys
import urllib.request
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib.metadata import entry_points
from pathlib import Path

_STOP_SECONDS = 30.0


class FailedCommandError(Exception):
    """A command whose exit status is not 0."""


def admiral(*arguments):
    """Run the console script `admiral`, and return its standard output and standard error."""
    script = next(iter(entry_points(group="console_scripts", name="admiral")))
    return _run(script.load(), ["admiral", *map(str, arguments)])


def admiral_records(*arguments):
    """Run `admiral`, and return the JSON records of its standard output, one in each line."""
    return [json.loads(line) for line in admiral(*arguments)[0].splitlines()]


def program(module, *arguments):
    """Run ``python -m module``, and return its standard output and standard error."""

    def start():
        runpy.run_module(module, run_name="__main__", alter_sys=True)

    return _run(start, [module, *map(str, arguments)])


def _run(start, argv):
    """Run a command in this process, which saves the seconds that imports take."""
    output, errors = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    before, sys.argv = sys.argv, argv
    status = 0
    try:
        with redirect_stdout(output), redirect_stderr(errors):
            start()
    except SystemExit as exit_:
        status = exit_.code
    finally:
        sys.argv = before
    texts = []
    for stream in (output, errors):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())
    if status:
        raise FailedCommandError(f"{' '.join(argv)}: status {status}\n{texts[1]}")
    return texts[0], texts[1]


@contextmanager
def service(*arguments):
    """Run `admiral serve` in a process of its own during the block, and yield its address."""
    script = Path(sys.executable).with_name("admiral")
    command = [str(script), "serve", "--port", "0", *map(str, arguments)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            log = ""
            for line in process.stderr:
                log += line
                if address := re.search(r"running on (http://\S+)", line):
                    yield address[1]
                    break
            else:
                raise FailedCommandError(f"{' '.join(command)}: ended\n{log}")
        finally:
            process.terminate()
            process.communicate(timeout=_STOP_SECONDS)


def post(url, body):
    """Send a JSON request, and return the JSON of the answer."""
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as response:
        return json.loads(response.read())
