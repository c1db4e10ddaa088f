"""Fitting judges: known rules are found again, thresholds keep their promise, pairs are fair."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from admiral import Admiral, Claim
from admiral.config import load_config
from admiral.gold import GoldClaim, read_gold
from admiral.kb import KnowledgeBase, demo_kb
from admiral.models.checkpoint import locate_checkpoint
from admiral.models.checkpoint_sums import verify_checkpoint
from admiral.models.heads import SUFFICIENCY_HEAD
from proofs.drafting.drafts import Draft
from proofs.judges.calibrated import FEATURES, CalibratedJudge, Weights
from proofs.judges.claim_features import CLAIM_FEATURES
from proofs.judges.support import STEP_FEATURES, Support
from proofs.logic.operators import NatOp
from training.fitting.judge_fits import fit_head, fit_step_scorer, threshold_of_recall
from training.fitting.retrieved_examples import retrieved_examples
from training.fitting.sufficiency_examples import sentence_claims, sufficiency_examples
from training.judges import main

DEMO = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"
# Stages that take little time.
QUICK = ("reranker=bm25", "judge=never", "title_beams=0", "beam_size=4", "hops=2")


@pytest.fixture(scope="module")
def kb(user_cache: None) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(demo_kb()) as opened:
        yield opened


def test_pairs_differ_in_one_gold_document(kb: KnowledgeBase) -> None:
    claims = list(read_gold(DEMO))[:30]
    found = list(sufficiency_examples(kb, claims, seed=3))
    assert len(found) == 60
    for claim, full, part in zip(claims, found[::2], found[1::2], strict=True):
        gold = {(t, kb.document(t).sentences[i]) for t, i in claim.sentences}
        assert full.claim == part.claim == claim.claim
        assert full.sufficient and not part.sufficient
        assert gold <= set(full.evidence)
        lost = gold - set(part.evidence)
        assert len({title for title, _ in lost}) == 1
        (title,) = {title for title, _ in lost}
        assert title not in {t for t, _ in part.evidence}
        assert len(full.evidence) == max(5, len(gold)) and len(part.evidence) >= 5 - len(lost)
    # A claim's draw depends on no other claim, only on the seed.
    assert list(sufficiency_examples(kb, claims[7:8], seed=3)) == found[14:16]
    assert list(sufficiency_examples(kb, claims, seed=4)) != found
    unknown = GoldClaim("1", "No.", None, ((("No such title", 0),),))
    assert list(sufficiency_examples(kb, [unknown])) == []


def test_what_the_hops_chose_is_labelled_by_its_documents(user_cache: None) -> None:
    claims = [replace(one, id=str(at)) for at, one in enumerate(list(read_gold(DEMO))[:8])]
    with Admiral.from_pretrained(config=load_config(None, QUICK)) as system:
        found = list(retrieved_examples(system, claims, seed=1))
        assert found == list(retrieved_examples(system, claims, seed=1))
        results = list(system.retrieve_many([Claim(one.id, one.claim) for one in claims]))
    withheld = 0
    for claim, result, cases in zip(claims, results, found, strict=True):
        chosen = [tuple((s.title, s.text) for s in hop.evidence) for hop in result.hops]
        extra = [one for one in cases if one.evidence not in chosen]
        assert [one.evidence for one in cases if one not in extra] == [c for c in chosen if c]
        gold = set(claim.titles)
        for one in cases:
            assert one.claim == claim.claim and one.documents == len(gold)
            assert one.sufficient == (gold <= {title for title, _ in one.evidence})
        for one in extra:
            withheld += 1
            assert len(gold - {title for title, _ in one.evidence}) == 1 and len(extra) == 1
            first = next(c for c in chosen if gold <= {title for title, _ in c})
            assert set(one.evidence) < set(first)
    assert withheld > 2
    assert {one.sufficient for cases in found for one in cases} == {True, False}


def test_sentences_as_claims_have_their_document_or_not(kb: KnowledgeBase) -> None:
    labelled = list(sufficiency_examples(kb, list(read_gold(DEMO))[:30]))
    found = list(sentence_claims(labelled))
    assert len(found) > 20 and {one.sufficient for one in found} == {True, False}
    for one in found:
        titles = [title for title, sentence in one.evidence if sentence == one.claim]
        assert len(titles) == one.sufficient
        assert all(title in one.claim for title in titles)
    assert list(sentence_claims(labelled)) == found


def test_a_rule_on_the_worst_step_is_found_again() -> None:
    rng = torch.Generator().manual_seed(0)
    supports, lacking = [], []
    for _ in range(400):
        count = int(torch.randint(1, 6, (1,), generator=rng))
        steps = torch.rand(count, len(STEP_FEATURES), generator=rng)
        claim = torch.rand(len(CLAIM_FEATURES), generator=rng)
        supports.append(
            Support(
                (Draft("x", None, NatOp.INDEPENDENCE),) * count,
                tuple(claim.tolist()),
                tuple(tuple(row.tolist()) for row in steps),
            )
        )
        lacking.append(float(2 * steps[:, 3].max() - claim[4] > 1))
    fitted = fit_step_scorer(supports[:300], torch.tensor(lacking[:300]))
    said = [max(fitted.scores(s)) > fitted.threshold for s in supports]
    right = [a == bool(b) for a, b in zip(said, lacking, strict=True)]
    assert sum(right[:300]) / 300 > 0.93 and sum(right[300:]) / 100 > 0.85


def test_a_linear_rule_is_found_again() -> None:
    states = torch.randn(200, 4, generator=torch.Generator().manual_seed(1)) * 3 + 1
    truth = (states[:, 2] > 1.5).float()
    weight, bias = fit_head(states, truth)
    assert ((states @ weight + bias > 0) == truth.bool()).float().mean() > 0.95


@given(
    st.lists(st.tuples(st.integers(-5, 5).map(float), st.booleans()), min_size=1).filter(
        lambda rows: any(positive for _, positive in rows)
    ),
    st.floats(0.05, 1.0),
)
def test_the_threshold_is_the_highest_that_keeps_the_recall(
    rows: list[tuple[float, bool]], recall: float
) -> None:
    scores, positive = [s for s, _ in rows], [p for _, p in rows]

    def reached(threshold: float) -> float:
        hits = sum(p and s > threshold for s, p in rows)
        return hits / sum(positive)

    chosen = threshold_of_recall(scores, positive, recall)
    assert reached(chosen) >= recall - 1e-9
    assert all(reached(s) < recall for s in scores if s > chosen)
    assert chosen not in scores


def fit(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def cases_of(done: Result) -> int:
    assert done.exit_code == 0, done.output
    (cases,) = re.findall(r"fitted on (\d+) cases, threshold of 48\n", done.output)
    return int(cases)


@pytest.fixture()
def claims(tmp_path: Path) -> Path:
    path = tmp_path / "claims.jsonl"
    path.write_text("\n".join(DEMO.read_text(encoding="utf-8").splitlines()[:24]))
    return path


def test_weights_are_fitted_and_kept(user_cache: None, tmp_path: Path, claims: Path) -> None:
    out = tmp_path / "weights.json"
    done = fit("--judge", "calibrated", "--claims", claims, "--dev", claims, "--out", out)
    assert done.exit_code == 0, done.output
    # With other sentences and without, where the withheld document leaves any.
    assert 72 < cases_of(done) <= 96
    fitted = Weights.read(out)
    assert all(set(unit.weights) == set(FEATURES) for unit in fitted.units)


def test_retrieved_evidence_is_learnt_from_too(
    user_cache: None, tmp_path: Path, claims: Path
) -> None:
    out = tmp_path / "weights.json"
    settings = [part for one in QUICK for part in ("--set", one)]
    gold = ("--judge", "calibrated", "--claims", claims, "--dev", claims, "--out", out)
    before = cases_of(fit(*gold))
    first = out.read_bytes()
    done = fit(*gold, "--retrieved", f"gold:{claims}", "--retrieved-limit", 6, *settings)
    assert done.exit_code == 0, done.output
    assert 6 < cases_of(done) - before <= 6 * 3 and out.read_bytes() != first
    CalibratedJudge(Weights.read(out)).judge(["Ada sang."], [[("Ada", "Ada sang.")]])


@pytest.mark.slow
def test_the_head_is_put_into_the_checkpoint(
    user_cache: None, tmp_path: Path, claims: Path
) -> None:
    model = tmp_path / "model"
    shutil.copytree(locate_checkpoint("mini"), model)
    before = (model / SUFFICIENCY_HEAD).read_bytes()
    done = fit("--judge", "classifier", "--claims", claims, "--dev", claims, "--model", model)
    assert done.exit_code == 0, done.output
    assert (model / SUFFICIENCY_HEAD).read_bytes() != before
    assert verify_checkpoint(model) == []


def test_what_cannot_be_fitted_is_told(user_cache: None, tmp_path: Path, claims: Path) -> None:
    judge, both = "--judge", ("--claims", claims, "--dev", claims)
    empty, foreign = tmp_path / "empty.jsonl", tmp_path / "foreign.jsonl"
    empty.write_text("")
    record = {"id": 1, "claim": "No.", "evidence": [["Nowhere", 0]]}
    foreign.write_text(json.dumps({**json.loads(claims.read_text().split("\n")[0]), **record}))
    out = ("--out", tmp_path / "w.json")
    for arguments, says in [
        ((judge, "calibrated", *both), "--judge calibrated takes --out"),
        ((judge, "classifier", *both, *out), "--judge classifier takes --model"),
        ((judge, "classifier", *both, "--model", "mini"), "the bundled model is not written to"),
        ((judge, "classifier", *both, "--model", tmp_path / "no"), "no such checkpoint"),
        ((judge, "calibrated", *both, *out, "--kb", tmp_path / "no"), "no: "),
        ((judge, "calibrated", *both, *out, "--limit", 0), "--limit"),
        ((judge, "calibrated", *both, "--out", tmp_path / "no" / "w.json"), "does not exist"),
        ((judge, "calibrated", *both, "--out", claims), "is the input as well"),
        ((judge, "calibrated", *both, *out, "--set", "hops=1"), "--set is of use with --retrieved"),
        ((judge, "calibrated", *both, *out, "--retrieved", "gold"), "is not FORMAT:FILE"),
        (
            (judge, "calibrated", *both, *out, "--retrieved", f"gold:{claims}", "--set", "hops=x"),
            "'hops'",
        ),
        (
            (judge, "calibrated", *both, *out, "--retrieved", f"gold:{foreign}"),
            "foreign.jsonl: demo",
        ),
        (
            (judge, "classifier", *both, "--model", tmp_path, "--retrieved", f"gold:{claims}"),
            "--retrieved is of use with --judge calibrated only",
        ),
        (
            (judge, "calibrated", *both, "--out", foreign, "--retrieved", f"gold:{foreign}"),
            "is the input as well",
        ),
        ((judge, "calibrated", "--claims", empty, "--dev", claims, *out), "empty.jsonl"),
        ((judge, "calibrated", "--claims", claims, "--dev", foreign, *out), "foreign.jsonl: demo"),
    ]:
        done = fit(*arguments)
        assert done.exit_code != 0 and says in done.output, (arguments, done.output)
        assert isinstance(done.exception, SystemExit)
    assert not (tmp_path / "w.json").exists()
