"""Settings and failed claims beside a results file."""

import json

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.io.result_writer import (
    ResumableWriter,
    check_settings,
    escape_title,
    trec_lines,
    unescape_title,
    write_settings,
    write_trec,
)
from admiral.records import Claim
from tests.admiral.results import result

CLAIMS = [Claim(str(i), f"Claim {i} with \u2028 and {chr(0xD800)}.") for i in range(6)]
BAD = {"1", "4"}
SETTINGS = {"beam_size": 25}


def test_failed_claims_are_reported_and_tried_again(tmp_path):
    path, failed = tmp_path / "results.jsonl", tmp_path / "results.jsonl.failed.jsonl"
    with ResumableWriter(path, SETTINGS) as writer:
        for claim in writer.pending(CLAIMS):
            if claim.id in BAD:
                writer.write_failed({"id": claim.id, "claim": claim.text, "error": "no"})
            else:
                writer.write(result(claim).to_json())
        with pytest.raises(AdmiralError, match=r"failed\.jsonl: 2 claims failed .* same command"):
            writer.finish()
    assert [json.loads(line)["id"] for line in path.read_bytes().splitlines()] == [
        "0",
        "2",
        "3",
        "5",
    ]
    assert [json.loads(line)["id"] for line in failed.read_bytes().splitlines()] == ["1", "4"]
    with ResumableWriter(path, SETTINGS) as writer:
        for claim in writer.pending(CLAIMS):
            writer.write(result(claim).to_json())
        writer.finish()
    ids = [json.loads(line)["id"] for line in path.read_bytes().splitlines()]
    assert ids == ["0", "2", "3", "5", "1", "4"]
    assert not failed.exists()


def test_settings_are_compared(tmp_path):
    results, path = tmp_path / "results.jsonl", tmp_path / "settings.json"
    write_settings(path, {"precision": "fp32", "hops": "2"})
    check_settings(results, path, {"precision": "fp32", "hops": "2"})
    with pytest.raises(AdmiralError, match=r"now bf16\).* or resume with --set precision=fp32$"):
        check_settings(results, path, {"precision": "bf16", "hops": "2"})
    with pytest.raises(
        AdmiralError, match=r"was 2, now 3; precision .* --overwrite to start again$"
    ):
        check_settings(results, path, {"precision": "bf16", "hops": "3"})


ANY_TEXT = st.text(st.characters(), max_size=20)  # lone surrogates and NUL among them


@given(ANY_TEXT)
def test_escaped_titles_are_one_column_and_unescape(title):
    column = escape_title(title)
    assert column.split() == [column]
    column.encode("utf-8")
    assert unescape_title(column) == title


def test_lines_count_down_and_ids_keep_their_underscores():
    documents = [{"title": "B c", "score": -9.0}, {"title": "A", "score": 2.0}]
    record = {"id": "q_1 x", "documents": documents}
    assert list(trec_lines([record])) == [
        "q_1%20x Q0 B_c 1 2 admiral\n",
        "q_1%20x Q0 A 2 1 admiral\n",
    ]


def test_documents_with_ids_are_named_by_them():
    ids = ["4983", "d_1%", "with space_", ""]
    documents = [{"title": "A b", "id": id, "score": 0.0} for id in ids]
    columns = [line.split()[2] for line in trec_lines([{"id": "q", "documents": documents}])]
    assert columns == ["4983", "d_1%", "with_space%5F", "A_b"]


def test_a_scorer_reads_the_ranking(tmp_path):
    documents = [{"title": title, "score": 0.0} for title in ("C d", "B", "A")]
    write_trec([{"id": "q", "documents": documents}], tmp_path / "run.trec")
    run = list(ir_measures.read_trec_run(str(tmp_path / "run.trec")))
    assert [entry.doc_id for entry in sorted(run, key=lambda e: -e.score)] == ["C_d", "B", "A"]
    qrels = [ir_measures.Qrel("q", "B", 1)]
    assert ir_measures.calc_aggregate([ir_measures.RR], qrels, run)[ir_measures.RR] == 0.5


def test_a_path_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(AdmiralError, match="cannot be written"):
        write_trec([], tmp_path / "absent" / "run")
    assert list(tmp_path.iterdir()) == []
