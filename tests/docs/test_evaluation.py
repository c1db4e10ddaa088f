"""docs/evaluation.md names every figure, format and stage that there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from admiral.evaluation.tasks import EVALUATION_TASKS
from admiral.evaluation.traces import Outcome
from admiral.gold import GoldClaim, Label
from tests.admiral.evaluation.small_runs import answer, pairs

PAGE = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text(encoding="utf-8")
TOLD = {"no answer", "no gold evidence"}  # what there is nothing to say of


@pytest.mark.parametrize("task", EVALUATION_TASKS.values(), ids=EVALUATION_TASKS)
def test_figures_and_formats(task):
    claim = GoldClaim("1", "c", Label.SUPPORTS, ((("A", 0),),))
    names = {m.name for m in task.measures(pairs((claim, answer())), [5])}
    assert {name for name in names if name.partition("@")[0] not in PAGE} == set()
    assert {name for name in task.formats if f"| {name} |" not in PAGE.replace("`", "")} == set()


def test_stages():
    assert {s.value for s in Outcome if f"| {s.value} |" not in PAGE} == TOLD
