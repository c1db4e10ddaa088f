"""The program that fits the judge `classifier`."""

import json
import shutil
from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner

from admiral.models.checkpoint import SUFFICIENCY_HEAD, locate_checkpoint, verify_checkpoint
from training import sufficiency

DEMO = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"


def fit(*arguments):
    return CliRunner().invoke(sufficiency.main, [str(argument) for argument in arguments])


@pytest.fixture()
def claims(tmp_path):
    path = tmp_path / "claims.jsonl"
    path.write_text("\n".join(DEMO.read_text(encoding="utf-8").splitlines()[:24]))
    return path


@pytest.mark.slow
def test_the_head_is_added_to_the_checkpoint(user_cache, tmp_path, claims):
    model = tmp_path / "model"
    shutil.copytree(locate_checkpoint("mini"), model)
    before = (model / SUFFICIENCY_HEAD).read_bytes()
    done = fit("--claims", claims, "--dev", claims, "--model", model)
    assert done.exit_code == 0, done.output
    assert (model / SUFFICIENCY_HEAD).read_bytes() != before
    assert verify_checkpoint(model) == []


def test_errors_name_the_option_or_the_file(user_cache, tmp_path, claims):
    both = ("--claims", claims, "--dev", claims)
    empty, foreign = tmp_path / "empty.jsonl", tmp_path / "foreign.jsonl"
    empty.write_text("")
    record = {"id": 1, "claim": "No.", "evidence": [["Nowhere", 0]]}
    foreign.write_text(json.dumps({**json.loads(claims.read_text().split("\n")[0]), **record}))
    model = ("--model", tmp_path / "none")
    for arguments, says in [
        (both, "Missing option '--model'"),
        ((*both, "--model", "mini"), "the bundled model cannot be changed"),
        ((*both, *model), "no such checkpoint"),
        ((*both, *model, "--kb", tmp_path / "no"), "no: "),
        ((*both, *model, "--limit", 0), "--limit"),
        (("--claims", empty, "--dev", claims, *model), "empty.jsonl"),
        (("--claims", claims, "--dev", foreign, *model), "foreign.jsonl: demo"),
    ]:
        done = fit(*arguments)
        assert done.exit_code != 0 and says in done.output, (arguments, done.output)
        assert isinstance(done.exception, SystemExit)
