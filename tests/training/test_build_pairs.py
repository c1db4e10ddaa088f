"""The command that builds pairs for the verifier."""

from __future__ import annotations

import gzip
import json
from functools import partial
from pathlib import Path

import pytest

from tests.training.demo_program import CLAIMS, run_program
from training.build_pairs import main
from training.data.held_out import is_held_out
from training.data.verification_pairs import read_pairs

run = partial(run_program, main)


def nli(folder: Path) -> Path:
    folder.mkdir()
    for source in ("snli", "sick"):
        records = [
            {"premise": "A.", "hypothesis": f"B {n}.", "label": "neutral", "source": source}
            for n in range(40)
        ]
        with gzip.open(folder / f"{source}.train.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)
    return folder


def test_pairs_are_reproducible_and_weighted(kb_path: str, tmp_path: Path) -> None:
    out = tmp_path / "pairs.jsonl"
    arguments = ("--nli", nli(tmp_path / "nli"), "--kb", kb_path, "--source", f"gold:{CLAIMS}")
    arguments += ("--twins", 30, "--weight", "twins=2", out)
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    pairs = list(read_pairs(out))
    assert {pair.source for pair in pairs} == {"snli", "demo-claims", "twins"}
    assert {pair.weight for pair in pairs if pair.source == "twins"} == {2.0}
    assert "twins: " in done.output
    assert f"{len(pairs)} pairs" in done.output
    first = out.read_bytes()
    assert run(*arguments).exit_code == 0
    assert out.read_bytes() == first


def test_held_out_claims_and_excluded_documents_are_left_out(kb_path: str, tmp_path: Path) -> None:
    out, folder = tmp_path / "pairs.jsonl", nli(tmp_path / "nli")
    assert run("--nli", folder, "--non-commercial", "--hold-out", 0.5, out).exit_code == 0
    pairs = list(read_pairs(out))
    assert {pair.source for pair in pairs} == {"snli", "sick"}
    assert not any(is_held_out(pair.claim, 0.5) for pair in pairs)
    source = ("--kb", kb_path, "--source", f"gold:{CLAIMS}")
    done = run(*source, "--exclude", CLAIMS, "--twins", 5, out)
    assert done.exit_code == 0, done.output
    assert {pair.source for pair in read_pairs(out)} == {"twins"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "nothing to build from"),
        (("--twins", 3, "--weight", "twins=much"), "is not SOURCE=WEIGHT"),
        (("--twins", 3, "--weight", "fever=1"), "there are no pairs of this source"),
        (("--twins", 3, "--weight", "twins=0"), "no pairs are left"),
        (("--source", "hover"), "is not FORMAT:FILE"),
    ],
)
def test_bad_input_is_an_error(
    kb_path: str, tmp_path: Path, arguments: tuple[object, ...], message: str
) -> None:
    done = run("--kb", kb_path, *arguments, tmp_path / "pairs.jsonl")
    assert done.exit_code != 0
    assert message in done.output
    assert not (tmp_path / "pairs.jsonl").exists()
