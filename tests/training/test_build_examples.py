"""The command that builds training examples of the verifier."""

import gzip
import json
from collections import Counter
from functools import partial

import pytest

from tests.training.demo_program import CLAIMS, run_program
from training.build_examples import main
from training.data.claim_sources import is_held_out
from training.data.examples import read_examples

run = partial(run_program, main)


def nli(folder):
    folder.mkdir()
    for source in ("snli", "sick"):
        records = [
            {"premise": "A.", "hypothesis": f"B {n}.", "label": "neutral", "source": source}
            for n in range(40)
        ]
        with gzip.open(folder / f"{source}.train.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)
    return folder


def test_examples_are_reproducible(kb_path, tmp_path):
    out = tmp_path / "examples.jsonl"
    arguments = ("--nli", nli(tmp_path / "nli"), "--kb", kb_path, "--source", f"gold:{CLAIMS}")
    arguments += ("--worlds", 30, out)
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    examples = list(read_examples([out]))
    assert {one.source for one in examples} == {"snli", "demo-claims", "worlds"}
    assert "worlds: " in done.output
    assert f"{len(examples)} examples" in done.output
    first = out.read_bytes()
    assert run(*arguments).exit_code == 0
    assert out.read_bytes() == first


def test_held_out_claims_and_excluded_documents_are_left_out(kb_path, tmp_path):
    out, folder = tmp_path / "examples.jsonl", nli(tmp_path / "nli")
    assert run("--nli", folder, "--non-commercial", "--hold-out", 0.5, out).exit_code == 0
    examples = list(read_examples([out]))
    assert {one.source for one in examples} == {"snli", "sick"}
    assert not any(is_held_out(one.claim, 0.5) for one in examples)
    source = ("--kb", kb_path, "--source", f"gold:{CLAIMS}")
    done = run(*source, "--exclude", CLAIMS, "--worlds", 5, out)
    assert done.exit_code == 0, done.output
    assert {one.source for one in read_examples([out])} == {"worlds"}
    select = ("--kb", kb_path, "--select", f"gold:{CLAIMS}")
    assert run(*select, out).exit_code == 0
    selection = list(read_examples([out]))
    assert {(one.source, one.label) for one in selection} == {
        ("demo-claims-selection", "unlabelled")
    }
    assert run(*select, "--hold-out", 0.5, out).exit_code == 0
    kept = {one.claim for one in read_examples([out])}
    assert kept == {one.claim for one in selection if not is_held_out(one.claim, 0.5)}
    done = run(*select, "--exclude", CLAIMS, out)
    assert done.exit_code == 1
    assert "no examples are left" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "nothing to build from"),
        (("--worlds", 3, "--limit", "worlds=much"), "is not SOURCE=COUNT"),
        (("--source", "hover"), "is not FORMAT:FILE"),
    ],
)
def test_bad_input_is_an_error(kb_path, tmp_path, arguments, message):
    done = run("--kb", kb_path, *arguments, tmp_path / "examples.jsonl")
    assert done.exit_code != 0
    assert message in done.output
    assert not (tmp_path / "examples.jsonl").exists()


def test_examples_that_name_an_excluded_document_are_left_out(tmp_path):
    folder, out = nli(tmp_path / "nli"), tmp_path / "examples.jsonl"
    record = {"premise": "A.", "hypothesis": "He met Seth Meyers.", "label": "neutral"}
    with gzip.open(folder / "met.train.jsonl.gz", "wt") as file:
        file.writelines(json.dumps({**record, "source": "met"}) + "\n" for _ in range(3))
    assert run("--nli", folder, out).exit_code == 0
    assert {one.source for one in read_examples([out])} == {"snli", "met"}
    done = run("--nli", folder, "--exclude", CLAIMS, out)
    assert done.exit_code == 0, done.output
    assert "3 of 3 left out: excluded" in done.output
    assert {one.source for one in read_examples([out])} == {"snli"}


def test_at_most_the_limit_of_a_source_is_drawn(tmp_path):
    out = tmp_path / "examples.jsonl"
    arguments = ("--nli", nli(tmp_path / "nli"), "--non-commercial", "--limit", "snli=7", out)
    assert run(*arguments).exit_code == 0
    counts = Counter(one.source for one in read_examples([out]))
    assert counts == {"snli": 7, "sick": 40}
