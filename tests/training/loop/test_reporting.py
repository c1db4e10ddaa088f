"""Reports of a run: plain lines, or a progress bar on a terminal."""

from __future__ import annotations

import io
import sys
from dataclasses import replace

import pytest

from tests.training.tiny import elsewhere, prepare
from training.multitask.multitask_program import train
from training.multitask.multitask_settings import TrainConfig
from trie.model.safe_tokenizer import TASKS


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> TrainConfig:
    return prepare(tmp_path_factory.mktemp("shown"))


@pytest.mark.parametrize("shown", [io.StringIO(), Terminal()])
def test_losses_are_reported_as_lines_or_in_a_progress_bar(
    settings: TrainConfig, shown: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", shown)
    config = replace(elsewhere(settings, type(shown).__name__), steps=4, eval_every=2)
    train(config, TASKS)
    text = shown.getvalue()
    assert ("4/4" in text) == shown.isatty()
    assert ("step 4 of 4: generation" in text) != shown.isatty()
    assert text.count("evaluated: score") == 2
    assert "8 prove, 4 rerank, 20 retrieve samples; 1 process on cpu" in text
    assert f"finished; the checkpoint is {config.out}" in text
