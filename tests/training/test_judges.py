"""Fitting judges: known rules are found again, thresholds keep their promise, pairs are fair."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from admiral.checkpoint import locate_checkpoint
from admiral.checkpoint_sums import verify_checkpoint
from admiral.gold import GoldClaim, read_gold
from admiral.heads import SUFFICIENCY_HEAD
from admiral.kb import KnowledgeBase, demo_kb
from proofs.calibrated import Weights
from proofs.drafting import Draft
from proofs.operators import NatOp
from proofs.support import CLAIM_FEATURES, STEP_FEATURES, Support
from training.fitting import fit_head, fit_weights, threshold_of_recall
from training.judges import main
from training.sufficiency import labelled_evidence, own_sentences

DEMO = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"


@pytest.fixture(scope="module")
def kb(user_cache: None) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(demo_kb()) as opened:
        yield opened


def test_pairs_differ_in_one_gold_document(kb: KnowledgeBase) -> None:
    claims = list(read_gold(DEMO))[:30]
    found = list(labelled_evidence(kb, claims, seed=3))
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
    assert list(labelled_evidence(kb, claims[7:8], seed=3)) == found[14:16]
    assert list(labelled_evidence(kb, claims, seed=4)) != found
    unknown = GoldClaim("1", "No.", None, ((("No such title", 0),),))
    assert list(labelled_evidence(kb, [unknown])) == []


def test_sentences_as_claims_have_their_document_or_not(kb: KnowledgeBase) -> None:
    labelled = list(labelled_evidence(kb, list(read_gold(DEMO))[:30]))
    found = list(own_sentences(labelled))
    assert len(found) > 20 and {one.sufficient for one in found} == {True, False}
    for one in found:
        titles = [title for title, sentence in one.evidence if sentence == one.claim]
        assert len(titles) == one.sufficient
        assert all(title in one.claim for title in titles)
    assert list(own_sentences(labelled)) == found


def test_a_rule_on_the_worst_step_is_found_again() -> None:
    rng = torch.Generator().manual_seed(0)
    supports, lacking = [], []
    for _ in range(300):
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
    fitted = fit_weights(supports, torch.tensor(lacking))
    said = [max(fitted.scores(s)) > fitted.threshold for s in supports]
    right = sum(a == bool(b) for a, b in zip(said, lacking, strict=True)) / len(said)
    assert right > 0.93
    largest = max(STEP_FEATURES, key=lambda name: abs(fitted.steps[name]))
    assert largest == STEP_FEATURES[3] and fitted.steps[largest] > 0
    largest = max(CLAIM_FEATURES, key=lambda name: abs(fitted.claim[name]))
    assert largest == CLAIM_FEATURES[4] and fitted.claim[largest] < 0


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


@pytest.fixture()
def claims(tmp_path: Path) -> Path:
    path = tmp_path / "claims.jsonl"
    path.write_text("\n".join(DEMO.read_text(encoding="utf-8").splitlines()[:24]))
    return path


def test_weights_are_fitted_and_kept(user_cache: None, tmp_path: Path, claims: Path) -> None:
    out = tmp_path / "weights.json"
    done = fit("--judge", "calibrated", "--claims", claims, "--dev", claims, "--out", out)
    assert done.exit_code == 0, done.output
    assert done.output == f"{out}: fitted on 48 cases, threshold of 48\n"
    fitted = Weights.read(out)
    assert set(fitted.steps) == set(STEP_FEATURES) and set(fitted.claim) == set(CLAIM_FEATURES)


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
        ((judge, "calibrated", "--claims", empty, "--dev", claims, *out), "empty.jsonl"),
        ((judge, "calibrated", "--claims", claims, "--dev", foreign, *out), "foreign.jsonl: demo"),
    ]:
        done = fit(*arguments)
        assert done.exit_code != 0 and says in done.output, (arguments, done.output)
        assert isinstance(done.exception, SystemExit)
    assert not (tmp_path / "w.json").exists()
