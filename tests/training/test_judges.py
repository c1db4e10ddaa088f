"""Fitting judges: known rules are found again, thresholds keep their promise, pairs are fair."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from admiral.gold import GoldClaim, read_gold
from admiral.kb import KnowledgeBase, demo_kb
from proofs.calibrated import Weights
from proofs.drafting import Draft
from proofs.operators import NatOp
from proofs.support import CLAIM_FEATURES, STEP_FEATURES, Support
from training.judges import fit_head, fit_weights, main, threshold_of_recall
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


@pytest.mark.slow
def test_the_command_writes_both_judges(user_cache: None, tmp_path: Path) -> None:
    claims = tmp_path / "claims.jsonl"
    lines = DEMO.read_text(encoding="utf-8").splitlines()[:24]
    claims.write_text("\n".join(lines))
    files = {
        "--claims": claims,
        "--dev": claims,
        "--weights": tmp_path / "w.json",
        "--head": tmp_path / "head.safetensors",
    }
    done = CliRunner().invoke(main, [str(part) for pair in files.items() for part in pair])
    assert done.exit_code == 0, done.output
    assert set(Weights.read(tmp_path / "w.json").steps) == set(STEP_FEATURES)
    assert (tmp_path / "head.safetensors").is_file()
