"""The program that fits probabilities of verdicts, with a tiny classifier of the hub's layout."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from admiral.records import Claim
from proofs import CalibratedJudge, Verdict
from proofs.judges.calibrated import WEIGHTS, Weights
from proofs.judges.verified import VerifiedJudge
from proofs.judges.verified_fits import VERDICT_FEATURES
from proofs.verifier.pair_verifier import Verifier
from tests.admiral.results import result
from tests.proofs.verifier.tiny_classifier import write_classifier_directory
from training.verdicts import main

DEMO = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"


def fit(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def verifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_classifier_directory(tmp_path_factory.mktemp("hub") / "model")


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "weights.json"
    path.write_bytes(WEIGHTS.read_bytes())
    return path


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    path = tmp_path / "claims.jsonl"
    path.write_text("\n".join(DEMO.read_text(encoding="utf-8").splitlines()[:24]))
    return path


@pytest.fixture
def results(tmp_path: Path, claims: Path) -> Path:
    """Results of six of the claims, and of one that is not among them."""
    known = [json.loads(line) for line in claims.read_text().splitlines()[:6]]
    found = [Claim(record["id"], record["claim"]) for record in known]
    path = tmp_path / "results.jsonl"
    lines = [json.dumps(result(claim).to_json()) for claim in [*found, Claim("other", "No.")]]
    path.write_text("\n".join(lines))
    return path


def test_the_fit_is_added_to_the_weights(
    user_cache: None, verifier: Path, weights: Path, claims: Path, results: Path
) -> None:
    before = Weights.read(weights)
    given = ("--weights", weights, "--verifier", verifier, "--claims", claims)
    done = fit(*given, "--kb", "demo", "--results", results)
    assert done.exit_code == 0, done.output
    fitted = Weights.read(weights)
    assert (fitted.units, fitted.threshold) == (before.units, before.threshold)
    assert fitted.verdicts is not None
    assert all(set(s.weights) == set(VERDICT_FEATURES) for s in fitted.verdicts.scores.values())
    # 24 with gold evidence, and half as many without the sentences of a document.
    assert "| gold evidence | 36 | " in done.output
    assert "| results.jsonl | 6 | " in done.output
    assert "fitted on 42 examples" in done.output
    # Gold evidence and nothing similar: what training shows most clearly.
    judge = VerifiedJudge(CalibratedJudge(fitted), Verifier.open(verifier), fitted)
    texts = [("Ada", "Ada was a woman of letters.")]
    supported, open_ = judge.judge(
        ["Ada was a woman of letters."] * 2, [texts, [("Rain", "It falls.")]]
    )
    assert supported.verdicts is not None and open_.verdicts is not None
    assert supported.verdicts[Verdict.SUPPORTS] > open_.verdicts[Verdict.SUPPORTS]
    neither = Verdict.NOT_ENOUGH_INFO
    assert open_.verdicts[neither] > supported.verdicts[neither]


def test_errors_name_the_option_or_the_file(
    user_cache: None, verifier: Path, weights: Path, claims: Path, results: Path, tmp_path: Path
) -> None:
    before = weights.read_bytes()
    bad, silent = tmp_path / "bad.json", tmp_path / "silent.jsonl"
    bad.write_text("{}")
    record = json.loads(results.read_text().splitlines()[0])
    del record["evidence"][0]["text"]
    silent.write_text(json.dumps(record))
    base = ("--verifier", verifier, "--claims", claims)
    for given, says in [
        (("--weights", weights, *base), "Give --kb for gold evidence"),
        (("--weights", bad, *base, "--kb", "demo"), "--weights: "),
        (("--weights", bad, *base, "--kb", "demo"), "fit it anew with training.judges"),
        (
            ("--weights", weights, "--verifier", tmp_path, "--claims", claims, "--kb", "demo"),
            "--verifier: ",
        ),
        (("--weights", weights, *base, "--results", claims), "'documents': is not a list"),
        (("--weights", weights, *base, "--results", silent), "has a sentence without text"),
        (("--weights", weights, *base, "--results", results), "has the label NOT ENOUGH INFO"),
        (("--weights", weights, *base, "--kb", tmp_path / "none"), "none"),
        (("--weights", weights, *base, "--kb", "demo", "--held-out", 1e-9), "fewer than two"),
    ]:
        done = fit(*given)
        assert done.exit_code != 0 and isinstance(done.exception, SystemExit)
        assert says in done.output, (given, done.output)
    assert weights.read_bytes() == before


def test_results_of_other_claims_are_too_few(
    verifier: Path, weights: Path, results: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps({"id": 1, "claim": "No.", "label": "REFUTED", "evidence": []}))
    done = fit(
        *("--weights", weights, "--verifier", verifier, "--claims", other, "--results", results)
    )
    assert done.exit_code == 1
    assert "other.jsonl: fewer than two claims have a label and evidence" in done.output
