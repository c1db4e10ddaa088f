"""Progress on standard error."""

import re

from admiral.io.progress import track_claims


def test_progress_off_a_terminal_is_lines(capsys):
    assert list(track_claims(iter("abc"), done=2, total=5)) == ["a", "b", "c"]
    said = capsys.readouterr().err
    assert re.fullmatch(r"5 of 5 claims, ([\d,]+ per second|[\d.]+ s per claim)\n", said)
    assert list(track_claims("abc", done=2, total=5, quiet=True)) == ["a", "b", "c"]
    assert capsys.readouterr().err == ""
