"""The process that reads files: it lives on, is ended at the limits, and leaves nothing behind."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from admiral.io.limited_reading import FileLimits, OverTimeError, ReaderEndedError, read_limited

FUNCTIONS = "tests.admiral.io.slow_readers"
SHORT = FileLimits(seconds=0.2)
ROOT = Path(__file__).parents[3]


def read(data, name="a.md", limits=SHORT):
    answer = read_limited(f"{FUNCTIONS}:length", data, limits, name=name)
    return answer


def test_one_process_reads_all_files():
    first, second = read(b"abc"), read(bytes(5_000_000), "ö\ud800")
    assert (first["length"], second["length"], second["name"]) == (3, 5_000_000, "ö\ud800")
    assert first["process"] == second["process"] != os.getpid()
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda n: read(bytes(n), str(n)), range(100)))
    assert [(a["length"], a["name"]) for a in answers] == [(n, str(n)) for n in range(100)]
    assert {a["process"] for a in answers} == {first["process"]}


@pytest.mark.parametrize("function", ["spin", "wait"])
def test_a_file_that_takes_too_long_is_given_up_and_the_next_is_read(function):
    before = read(b"")["process"]
    began = time.monotonic()
    with pytest.raises(OverTimeError):
        read_limited(f"{FUNCTIONS}:{function}", b"", SHORT)
    assert time.monotonic() - began < 30
    assert not psutil.pid_exists(int(str(before)))
    assert read(b"abc")["length"] == 3


def test_a_crash_is_an_error_and_the_next_file_is_read():
    with pytest.raises(ReaderEndedError, match="SIGSEGV"):
        read_limited(f"{FUNCTIONS}:crash", b"", SHORT)
    assert read(b"abc")["length"] == 3


def test_memory_is_limited():
    assert read_limited(f"{FUNCTIONS}:fill_memory", b"", SHORT) == "refused"


def test_without_a_limit_files_are_read_in_this_process():
    assert read(b"", limits=FileLimits(seconds=0))["process"] == os.getpid()


def test_a_killed_process_leaves_no_reader_behind():
    program = (
        "from admiral.io.limited_reading import FileLimits, read_limited;"
        f"print(read_limited('{FUNCTIONS}:length', b'', name='a')['process'], flush=True);"
        f"read_limited('{FUNCTIONS}:spin', b'', FileLimits(seconds=1))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    reader = psutil.Process(int(process.stdout.readline()))
    process.kill()
    process.wait()
    process.stdout.close()
    reader.wait(timeout=30)
