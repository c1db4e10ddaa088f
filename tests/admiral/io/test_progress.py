"""Progress on standard error."""

import os
import pty
import re
import select
import sys
import termios
from contextlib import contextmanager, redirect_stderr

from admiral.io.progress import StatusLine, track_claims


@contextmanager
def _terminal():
    """Make standard error a terminal; yield a function that returns its visible line."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    written = bytearray()

    def visible():
        while select.select([master], [], [], 0.1)[0]:
            written.extend(os.read(master, 65536))
        line = ""
        for part in written.decode().split("\r"):
            line = part + line[len(part) :]
        return line.rstrip()

    with os.fdopen(slave, "w", buffering=1) as terminal, redirect_stderr(terminal):
        yield visible
    os.close(master)


def test_progress_off_a_terminal_is_lines(capsys):
    assert list(track_claims(iter("abc"), done=2, total=5)) == ["a", "b", "c"]
    said = capsys.readouterr().err
    assert re.fullmatch(r"5 of 5 claims, ([\d,]+ per second|[\d.]+ s per claim)\n", said)
    assert list(track_claims("abc", done=2, total=5, quiet=True)) == ["a", "b", "c"]
    assert capsys.readouterr().err == ""


def test_a_status_line_is_replaced_and_erased():
    with _terminal() as visible:
        with StatusLine() as status:
            status.show("Hop 1: searching for candidates")
            assert visible() == "Hop 1: searching for candidates"
            status.show("Hop 2")
            assert visible() == "Hop 2"
            status.clear()
            assert visible() == ""
            status.show("Hop 3")
            assert visible() == "Hop 3"
        assert visible() == ""


def test_no_status_line_off_a_terminal_or_disabled(capsys):
    with StatusLine() as status:
        status.show("Hop 1")
        status.clear()
    assert capsys.readouterr().err == ""
    with _terminal() as visible, StatusLine(enabled=False) as status:
        status.show("Hop 1")
        print("end", end="", file=sys.stderr, flush=True)
        assert visible() == "end"
