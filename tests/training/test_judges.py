"""The program that fits judges."""

import json
import shutil
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner

from admiral import Admiral
from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.gold import read_gold
from admiral.kb import KnowledgeBase, locate
from admiral.models.checkpoint import (
    SUFFICIENCY_HEAD,
    load_checkpoint,
    locate_checkpoint,
    verify_checkpoint,
)
from admiral.retrieval.document_ranking import NetworkDocumentScorer
from admiral.retrieval.stage_assembly import build_judge
from proofs.judges.generated import STEP_DECISION
from training import judges, ranking
from training.data.evidence_corpora import sufficiency_examples

DEMO = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"


def fit(*arguments):
    return CliRunner().invoke(judges.main, [str(argument) for argument in arguments])


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
    done = fit("--judge", "classifier", "--claims", claims, "--dev", claims, "--model", model)
    assert done.exit_code == 0, done.output
    assert (model / SUFFICIENCY_HEAD).read_bytes() != before
    assert verify_checkpoint(model) == []


@pytest.mark.slow
def test_the_decision_by_steps_is_added_to_the_checkpoint(user_cache, tmp_path, claims):
    """The threshold has the recall on the dev claims, and `best-proof` decides without it."""
    model = tmp_path / "model"
    shutil.copytree(locate_checkpoint("mini"), model)
    (model / STEP_DECISION).unlink(missing_ok=True)
    few = tmp_path / "few.jsonl"
    few.write_text("\n".join(claims.read_text().splitlines()[:6]))
    given = ("--judge", "generated", "--claims", few, "--dev", few, "--model", model)
    done = fit(*given, "--recall", 1.0)
    assert done.exit_code == 0, done.output
    assert verify_checkpoint(model) == []
    with KnowledgeBase.open(locate("demo")) as kb:
        examples = list(sufficiency_examples(kb, read_gold(few)))
    lacking = [one for one in examples if not one.sufficient]
    texts, evidence = [one.claim for one in lacking], [one.evidence for one in lacking]
    config = RetrievalConfig(judge="generated")
    decided = build_judge(load_checkpoint(model), config).judge(texts, evidence)
    assert not any(one.sufficient for one in decided)
    assert all(one.probability is not None and one.proof is not None for one in decided)
    best = build_judge(load_checkpoint(model), replace(config, proof_decision="best-proof"))
    assert best.judge(texts[:1], evidence[:1])[0].probability is None
    (model / STEP_DECISION).write_text("{}")
    with pytest.raises(AdmiralError, match=STEP_DECISION):
        build_judge(load_checkpoint(model), config)


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
        ((*both, *model, "--held-out", 0.5), "works only with --judge gen"),
        ((*both, *model, "--limit", 0), "--limit"),
        (("--claims", empty, "--dev", claims, *model), "empty.jsonl"),
        (("--claims", claims, "--dev", foreign, *model), "foreign.jsonl: demo"),
    ]:
        done = fit("--judge", "classifier", *arguments)
        assert done.exit_code != 0 and says in done.output, (arguments, done.output)
        assert isinstance(done.exception, SystemExit)


# Stages that take little time.
RANKING_SETTINGS = {
    "reranker": "bm25",
    "judge": "never",
    "title_beams": 0,
    "beam_size": 4,
    "max_hops": 2,
}


def run(*arguments):
    settings = [
        part for key, value in RANKING_SETTINGS.items() for part in ("--set", f"{key}={value}")
    ]
    return CliRunner().invoke(ranking.main, [*map(str, arguments), *settings])


def test_the_weights_can_be_used(tmp_path, user_cache):
    out = tmp_path / "ranking.json"
    done = run("--source", f"gold:{DEMO}", "--limit", 3, "--out", out)
    assert done.exit_code == 0 and f"{out}: fitted on " in done.output, done.output
    assert len(NetworkDocumentScorer.read(out).units) == 8
    config = RetrievalConfig(**RANKING_SETTINGS, ranking_weights=str(out))
    with Admiral.from_pretrained(config=config) as system:
        documents = system.retrieve("The Eiffel Tower is in Paris.").documents
    scores = [one.score for one in documents]
    assert len(documents) > 10 and scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--source", "gold"), "is not FORMAT:FILE"),
        (("--source", "gold:{tmp}/none.jsonl"), "none.jsonl"),
        (("--source", "gold:{demo}", "--kb", "{tmp}/no"), "no: "),
        (("--source", "gold:{demo}", "--limit", "0"), "--limit"),
        (("--source", "gold:{tmp}/foreign.jsonl"), "no gold document was found in demo"),
    ],
)
def test_errors_name_the_file_or_the_option(tmp_path, user_cache, arguments, says):
    foreign = {"id": 1, "claim": "No.", "label": "SUPPORTS", "evidence": [["Nowhere", 0]]}
    (tmp_path / "foreign.jsonl").write_text(json.dumps(foreign) + "\n")
    done = run(
        *(one.format(tmp=tmp_path, demo=DEMO) for one in arguments),
        "--out",
        tmp_path / "w.json",
    )
    assert done.exit_code != 0 and says in done.output, done.output
    assert isinstance(done.exception, SystemExit)
    assert not (tmp_path / "w.json").exists()


def test_the_input_is_not_overwritten(tmp_path, user_cache):
    claims = tmp_path / "claims.jsonl"
    claims.write_bytes(DEMO.read_bytes())
    done = run("--source", f"gold:{claims}", "--out", claims)
    assert done.exit_code != 0 and "is the input as well" in done.output
    assert claims.read_bytes() == DEMO.read_bytes()
