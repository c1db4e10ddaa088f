"""Output files of a run: the log is truncated, the checkpoint replaced as a whole."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
import torch

from admiral.errors import AdmiralError
from admiral.models.checkpoint import save_checkpoint
from tests.training.tiny import write_hub_directory
from training.loop.run_files import RunOutput
from training.multitask.initial_checkpoint import open_initial_checkpoint
from training.multitask.multitask_settings import TrainConfig
from trie.model.safe_tokenizer import TASKS


def test_a_log_is_truncated_after_a_step(tmp_path: Path) -> None:
    output = RunOutput(tmp_path / "out")
    output.truncate_log(0)
    for step in (1, 2, 3):
        output.append_log({"step": step, "generation": 0.5})
    with output.log.open("a") as file:
        file.write('{"step": 4, "gen')  # killed in mid-line
    whole = output.log.read_bytes().split(b"\n")
    damaged = (b"garbage", b"\xff", b"[]", b'{"x": 1}', b'{"step": "2"', b"[" * 20_000)
    output.log.write_bytes(b"\n".join([*whole[:1], *damaged, *whole[1:]]))
    output.truncate_log(2)
    assert (
        output.log.read_text() == '{"step": 1, "generation": 0.5}\n{"step": 2, "generation": 0.5}\n'
    )


def test_a_checkpoint_is_replaced_as_a_whole_and_readable_by_others(tmp_path: Path) -> None:
    config = TrainConfig(start=str(write_hub_directory(tmp_path / "start")), max_source=64)
    start = open_initial_checkpoint(TrainConfig(**{**vars(config), "max_target": 64}), TASKS)
    output = RunOutput(tmp_path / "out")

    def save(folder: Path) -> None:
        save_checkpoint(folder, start.model, start.head, start.tokenizer, torch.float16)

    output.publish(save, "first")
    (output.checkpoint / "sufficiency_head.safetensors").write_bytes(b"of the old weights")
    output.publish(save, "second")
    names = {path.name for path in output.checkpoint.iterdir()}
    assert "sufficiency_head.safetensors" not in names and "rerank_head.safetensors" in names
    assert (output.checkpoint / "README.md").read_text() == "second"
    modes = {stat.S_IMODE(path.stat().st_mode) for path in output.checkpoint.iterdir()}
    assert len(modes) == 1
    with pytest.raises(AdmiralError, match="does not belong to a run"):
        output.check(overwrite=False)
    output.check(overwrite=True)
