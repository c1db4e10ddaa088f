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
from admiral.storage.atomic_files import encode_record
from tests.admiral.results import result

CLAIMS = [Claim(str(i), f"Claim {i} with \u2028 and {chr(0xD800)}.") for i in range(6)]
COUNT = len(CLAIMS)
BAD = {"1", "4"}
SETTINGS = {"beam_size": 25}


def failure(claim):
    return {"id": claim.id, "claim": claim.text, "error": "ValueError: no"}


def run(path, stop_after=COUNT, *, overwrite=False):
    """Write results, and failures of the bad claims; return the ids of pending claims."""
    asked = []
    with ResumableWriter(path, SETTINGS, overwrite=overwrite) as writer:
        for claim in writer.pending(CLAIMS):
            if len(asked) == stop_after:
                return asked
            asked.append(claim.id)
            if claim.id in BAD:
                writer.failed_claims.add(failure(claim))
            else:
                writer.write(result(claim).to_json())
        writer.finish()
    return asked


@given(data=st.data())
def test_a_resumed_run_skips_failed_claims(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("run") / "results.jsonl"
    asked = []
    while not path.exists():
        asked += run(path, data.draw(st.integers(1, 7)))
    assert asked == [claim.id for claim in CLAIMS], "no claim is asked for twice"
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [record["id"] for record in records] == ["0", "2", "3", "5"]
    side = path.with_name("results.jsonl.failed.jsonl")
    assert [json.loads(line)["id"] for line in side.read_bytes().splitlines()] == ["1", "4"]
    assert run(path) == []


def test_overwrite_forgets_failed_claims(tmp_path):
    path = tmp_path / "results.jsonl"
    run(path)
    assert run(path, overwrite=True) == [claim.id for claim in CLAIMS]


def test_failed_claims_are_matched_by_id_and_text(tmp_path):
    path = tmp_path / "results.jsonl"
    run(path)
    changed = [Claim(c.id, "Another.") if c.id == "4" else c for c in CLAIMS]
    with ResumableWriter(path, SETTINGS) as writer, pytest.raises(AdmiralError) as caught:
        list(writer.pending(changed))
    assert "record 4 is of claim '5', not '4'" in str(caught.value)


def test_other_settings_are_refused_even_if_all_claims_failed(tmp_path):
    path = tmp_path / "results.jsonl"
    with ResumableWriter(path, SETTINGS) as writer:
        writer.failed_claims.add(failure(CLAIMS[0]))
    with pytest.raises(AdmiralError) as caught, ResumableWriter(path, {"beam_size": 5}):
        pass
    assert "beam_size was 25, now 5" in str(caught.value)


def test_an_incomplete_last_line_is_removed_and_a_broken_one_reported(tmp_path):
    path = tmp_path / "results.jsonl"
    run(path)
    side = tmp_path / "results.jsonl.failed.jsonl"
    whole = side.read_bytes()
    side.write_bytes(whole + encode_record(failure(CLAIMS[5]))[:-1])
    assert run(path) == []
    assert side.read_bytes() == whole
    side.write_bytes(b"{}\n" + whole)
    with pytest.raises(AdmiralError) as caught:
        run(path)
    assert f"{side}:1: is not a record of a claim" in str(caught.value)
    assert side.read_bytes() == b"{}\n" + whole


def test_failed_claims_are_reported_at_the_end(tmp_path):
    path = tmp_path / "results.jsonl"
    run(path)
    with ResumableWriter(path, SETTINGS) as writer:
        with pytest.raises(AdmiralError) as caught:
            writer.failed_claims.raise_if_any(6)
        for part in ("results.jsonl.failed.jsonl", "2 of 6 claims", "--input"):
            assert part in str(caught.value)
        writer.failed_claims.clear()
        writer.failed_claims.raise_if_any(6)
    assert not (tmp_path / "results.jsonl.failed.jsonl").exists()


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
    assert list(trec_lines([record], "tag")) == [
        "q_1%20x Q0 B_c 1 2 tag\n",
        "q_1%20x Q0 A 2 1 tag\n",
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


def test_bad_tags_and_paths_are_errors(tmp_path):
    with pytest.raises(AdmiralError, match="must be one word"):
        write_trec([], tmp_path / "run", tag="two words")
    with pytest.raises(AdmiralError, match="cannot be written"):
        write_trec([], tmp_path / "absent" / "run")
    assert list(tmp_path.iterdir()) == []
