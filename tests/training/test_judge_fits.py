"""Fits of judges: known rules are recovered, and thresholds keep their recall."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from proofs.drafting.drafts import DraftStep
from proofs.judges.calibrated import STEP_FEATURES, ProofFeatures
from proofs.judges.claim_features import CLAIM_FEATURES
from proofs.logic.operators import NatOp
from training.feature_fits import fit_linear_head
from training.judges import fit_step_scorer, threshold_at_recall


def test_a_rule_on_the_highest_step_is_recovered():
    rng = torch.Generator().manual_seed(0)
    supports, insufficient = [], []
    for _ in range(400):
        count = int(torch.randint(1, 6, (1,), generator=rng))
        steps = torch.rand(count, len(STEP_FEATURES), generator=rng)
        claim = torch.rand(len(CLAIM_FEATURES), generator=rng)
        supports.append(
            ProofFeatures(
                (DraftStep("x", None, NatOp.INDEPENDENCE),) * count,
                tuple(claim.tolist()),
                tuple(tuple(row.tolist()) for row in steps),
            )
        )
        insufficient.append(float(2 * steps[:, 3].max() - claim[4] > 1))
    fitted = fit_step_scorer(supports[:300], torch.tensor(insufficient[:300]))
    predicted = [max(fitted.scores(s)) > fitted.threshold for s in supports]
    right = [a == bool(b) for a, b in zip(predicted, insufficient, strict=True)]
    assert sum(right[:300]) / 300 > 0.93 and sum(right[300:]) / 100 > 0.85


def test_a_linear_rule_is_recovered():
    states = torch.randn(200, 4, generator=torch.Generator().manual_seed(1)) * 3 + 1
    truth = states[:, 2] > 1.5
    weight, bias = fit_linear_head(states, truth.tolist())
    assert ((states @ weight + bias > 0) == truth).float().mean() > 0.95


@given(
    st.lists(st.tuples(st.integers(-5, 5).map(float), st.booleans()), min_size=1).filter(
        lambda rows: any(positive for _, positive in rows)
    ),
    st.floats(0.05, 1.0),
)
def test_the_threshold_is_the_highest_with_the_recall(rows, recall):
    scores, positive = [s for s, _ in rows], [p for _, p in rows]

    def reached(threshold):
        hits = sum(p and s > threshold for s, p in rows)
        return hits / sum(positive)

    chosen = threshold_at_recall(scores, positive, recall)
    assert reached(chosen) >= recall - 1e-9
    assert all(reached(s) < recall for s in scores if s > chosen)
    assert chosen not in scores
