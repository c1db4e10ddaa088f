"""Qrels in the formats of BEIR and TREC."""

from __future__ import annotations

import pytest

from admiral.errors import AdmiralError
from admiral.gold.qrels import read_qrels


def _read(tmp_path, content):
    path = tmp_path / "qrels"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return {claim.id: dict(claim.grades) for claim in read_qrels(path)}


def test_beir_and_trec_formats(tmp_path):
    grades = {"q 1": {"d1": 2, "d_2%": 0}, "2": {"with_space": -1}}
    tsv = "q 1\td1\t2\nq 1\td_2%\t0\n\n2\twith space\t-1\r\n"
    assert _read(tmp_path, tsv) == grades
    assert _read(tmp_path, "\ufeffquery-id\tcorpus-id\tscore\n" + tsv) == grades
    trec = "q%201 0 d1 2\nq%201\tQ0\td_2%\t0\n2  0 with_space -1\n"
    assert _read(tmp_path, trec) == grades
    assert _read(tmp_path, tsv + "q 1\td1\t2\n") == grades  # judged twice, alike


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "holds no judgements"),
        ("query-id\tcorpus-id\tscore\n", "holds no judgements"),
        ("q d 1\n", "qrels:1: is neither three columns"),
        ("q\td\t1\nq\td\tx\n", "qrels:2: field 'grade': 'x' is not an integer"),
        ("q 0 d 1.5\n", "qrels:1: field 'grade': '1.5' is not an integer"),
        ("q\td\t1\nq\td\t2\n", "qrels:2: field 'grade': 'd' also has the grade 1"),
        (b"q\td\xe9\t1\n", "qrels:1: is not UTF-8"),
    ],
)
def test_bad_files_are_errors(tmp_path, content, message):
    with pytest.raises(AdmiralError, match=message):
        _read(tmp_path, content)
