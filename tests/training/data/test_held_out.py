"""The held-out share of claims: fixed, of the right size, and never trained on."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from training.build_data import main as build_data
from training.data.claim_sources import Source, is_held_out
from training.data.samples import read_samples


@given(st.text())
def test_a_larger_share_contains_a_smaller_one(claim: str) -> None:
    assert not is_held_out(claim, 0.0)
    assert is_held_out(claim, 1.0)
    shares = [is_held_out(claim, share) for share in (0.1, 0.5, 0.9)]
    assert shares == sorted(shares)


def test_the_share_is_about_right() -> None:
    assert 0.13 < sum(is_held_out(f"claim {n}", 0.15) for n in range(4000)) / 4000 < 0.17


def write_claims(path: Path, count: int = 40) -> Path:
    records = [
        {"id": n, "claim": f"Seth Meyers has {n} shows.", "gold": ["Seth Meyers"]}
        for n in range(count)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_both_parts_together_are_all_claims(tmp_path: Path) -> None:
    source = Source.parse(f"pages:{write_claims(tmp_path / 'claims.jsonl')}")
    texts = [item.claim.claim for item in source.claims()]
    kept = [item.claim.claim for item in source.without_held_out(0.3).claims()]
    held_out = [item.claim.claim for item in source.only_held_out(0.3).claims()]
    assert sorted(kept + held_out) == sorted(texts)
    assert kept
    assert held_out
    assert [item.claim.claim for item in source.only_held_out(None).claims()] == texts


def test_training_samples_contain_no_held_out_claims(tmp_path: Path) -> None:
    claims, out = write_claims(tmp_path / "claims.jsonl"), tmp_path / "samples.jsonl"
    arguments = ["--source", f"pages:{claims}", "--hold-out", "0.3", str(out)]
    result = CliRunner().invoke(build_data, arguments)
    assert result.exit_code == 0, result.output
    used = {sample.claim for sample in read_samples(out)}
    assert used
    assert not any(is_held_out(claim, 0.3) for claim in used)
