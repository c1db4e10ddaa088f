"""Reading of results and TREC runs, and errors for invalid files."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral import AdmiralError, RecordError
from admiral.evaluation import Prediction, normalise_title, read_predictions, read_results
from admiral.io.result_writer import write_trec
from admiral.records import Claim
from proofs import Verdict
from tests.admiral.evaluation.small_runs import record, written
from tests.admiral.results import result, verified_result


def test_results_round_trip(tmp_path):
    found = [result(Claim("a b", "One."), title="Zoe\u0308"), result(Claim("2", "Two."))]
    path = written(tmp_path / "r.jsonl", (one.to_json() for one in found))
    read = read_predictions(path)
    assert list(read) == ["a b", "2"]
    first = read["a b"]
    assert first.claim == "One."
    assert first.verdict is Verdict.SUPPORTS
    # Titles are in normal form NFC.
    assert first.documents == ("Zo\u00eb", "Analytical Engine", "")
    assert first.sentences == (("Zo\u00eb", 1), ("Analytical Engine", 0))
    assert first.evidence_documents == ("Zo\u00eb", "Analytical Engine")


def test_verdict_is_that_of_the_last_proof(tmp_path):
    expected = {
        "=": Verdict.SUPPORTS,
        "|": Verdict.REFUTES,
        "#": Verdict.NOT_ENOUGH_INFO,
        None: None,
    }
    records = [record(str(n), operator=operator) for n, operator in enumerate(expected)]
    read = read_predictions(written(tmp_path / "r.jsonl", records))
    assert [one.verdict for one in read.values()] == list(expected.values())
    records[0]["hops"] = []
    assert read_predictions(written(tmp_path / "r.jsonl", records))["0"].verdict is None


def test_verdict_is_the_most_probable_one(tmp_path):
    found = [verified_result(Claim("1", "One.")), result(Claim("2", "Two."))]
    records = [one.to_json() for one in found]
    assert records[0]["verdict"] == {
        "label": "REFUTES",
        "confidence": 0.625,
        "probabilities": {"SUPPORTS": 0.25, "REFUTES": 0.625, "NOT ENOUGH INFO": 0.125},
        "stop_at": 0.75,
        "words": "refuted, 62%",
    }
    first = records[0]["hops"][0]["verdict"]
    assert (first["label"], first["outweighed"]) == ("NOT ENOUGH INFO", "SUPPORTS")
    assert [hop["probability"] for hop in records[0]["hops"]] == [0.625, 0.875]
    assert records[1]["verdict"] == {"label": "SUPPORTS", "words": "supported"}
    assert "probability" not in records[1]["hops"][0]
    read = read_predictions(written(tmp_path / "r.jsonl", records))
    assert [one.verdict for one in read.values()] == [Verdict.REFUTES, Verdict.SUPPORTS]
    assert [one.probability for one in read.values()] == [0.625, None]


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
            lambda t: t == t.strip()
        ),
        st.lists(st.text(st.characters(exclude_categories=["Cs", "Mn"])), unique=True, min_size=1),
        min_size=1,
    ).filter(lambda found: not next(iter(found)).startswith("{"))
)
def test_trec_runs_round_trip(tmp_path_factory, rankings):
    path = tmp_path_factory.mktemp("run") / "run.trec"
    write_trec(
        ({"id": id, "documents": [{"title": t} for t in found]} for id, found in rankings.items()),
        path,
    )
    spelled = {id: tuple(map(normalise_title, found)) for id, found in rankings.items()}
    if any(len(set(found)) < len(found) for found in spelled.values()):
        return  # two spellings of one title: refused, see below
    assert read_predictions(path) == {id: Prediction(id, found) for id, found in spelled.items()}


def test_trec_run_is_sorted_by_score_with_stable_ties(tmp_path):
    path = tmp_path / "run.trec"
    path.write_text("1 Q0 A 1 0.5 x\n2 Q0 A 1 1 x\n1 Q0 B_b 2 7 x\n1 Q0 C%20c 3 0.5 x\n")
    read = read_predictions(path)
    assert read["1"].documents == ("B b", "A", "C c")
    assert read["2"].sentences is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"documents": [3]}, r"field 'documents\[0\]': 3 should be an object"),
        ({"evidence": [{"title": "A"}]}, r"'evidence\[0\]\.sentence_id': is missing"),
        (
            {"evidence": [{"title": "A", "sentence_id": -1}]},
            r"sentence_id': -1 should be greater than or equal to 0",
        ),
        ({"hops": [{"sufficient": True, "proof": [{}]}]}, r"field 'hops\[0\]\.proof\.steps\[0\]"),
        (
            {"verdict": {"label": "TRUE", "probabilities": {}}},
            r"field 'verdict\.label': 'TRUE' should be 'SUPPORTS'",
        ),
        ({"id": [1]}, r"field 'id': is \[1\], not a text"),
        (
            {"id": "0"},
            r":2: field 'id': '0' is also the id at .*:1\. Keep one result for each claim",
        ),
    ],
)
def test_invalid_results_name_line_and_field(tmp_path, change, message):
    path = written(tmp_path / "r.jsonl", [record("0"), {**record("1"), **change}])
    with pytest.raises(RecordError, match=message):
        read_predictions(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no predictions"),
        ("1 Q0 A 1 0.5\n", r":1: is neither JSON nor six columns"),
        ("1 Q0 A 1 nan x\n", r":1: field 'score': nan is not finite"),
        ("1 Q0 A 1 2 x\n1 Q0 A 2 1 x\n", r":2: field 'document': 'A' occurs twice for query '1'"),
        (json.dumps(record("1")) + "\n3\n", r":2: .*instead of an object"),
    ],
)
def test_invalid_files_are_rejected(tmp_path, text, message):
    path = tmp_path / "p"
    path.write_text(text)
    with pytest.raises(AdmiralError, match=message):
        read_predictions(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "holds no results"), ("1 Q0 A 1 0.5 x\n", "does not begin with a JSON record")],
)
def test_files_without_results_are_rejected(tmp_path, text, message):
    path = tmp_path / "run.trec"
    path.write_text(text)
    with pytest.raises(AdmiralError, match=rf"^{path}: {message}.*`admiral retrieve` wrote"):
        list(read_results(path))
