"""Settings of training: the files in configs/ and docs/training.md, and bad values."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from admiral.errors import AdmiralError
from training.loop.run_config import TrainConfig, load_config
from trie.model.safe_tokenizer import TASKS

ROOT = Path(__file__).parents[2]
FILES = {
    "mini-copy": TASKS,
    "mini": TASKS,
    "paper-retriever": ("retrieve",),
    "paper-reranker": ("rerank",),
    "paper-prover": ("prove",),
}


@pytest.mark.parametrize("name", FILES)
def test_the_shipped_files_are_valid(name: str) -> None:
    config = load_config(ROOT / "configs" / f"{name}.yaml", (), FILES[name])
    assert config.out.startswith("runs/")
    if name.startswith("paper"):
        assert config.start == "facebook/bart-large" and not config.markers


def test_every_setting_is_documented_with_its_default() -> None:
    _, _, text = (ROOT / "docs" / "training.md").read_text().partition("\n## Settings\n")
    rows = dict(re.findall(r"^\| `(\w+)` \| `?([^|`]*)`? \|", text, re.MULTILINE))
    assert list(rows) == [field.name for field in fields(TrainConfig)]
    for field in fields(TrainConfig):
        said = rows[field.name].strip()
        assert said == (str(field.default) if field.default != "" else "none"), field.name


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("step: 3", "step"),
        ("steps: 0", "steps"),
        ("steps: true", "steps"),
        ("steps: 1.5", "steps"),
        ("minutes: -1", "minutes"),
        ("minutes: .inf", "minutes"),
        ("encoder_lr: .nan", "encoder_lr"),
        ("dropout: 1", "dropout"),
        ("lr_schedule: fast", "lr_schedule"),
        ("precision: fp8", "precision"),
        ("hops: 1-2", "hops"),
        ("hops: ''", "hops"),
        ("best_metric: prove_f1", "best_metric"),
        ("best_metric: bleu", "best_metric"),
        ("keep: best", "keep"),
        ("keep: all\ndev: d", "keep"),
        ("start: ''", "start"),
        ("export: bf16", "export"),
    ],
)
def test_bad_values_name_file_and_key(tmp_path: Path, text: str, key: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(AdmiralError) as caught:
        load_config(path, (), ("retrieve", "rerank"))
    assert str(caught.value).startswith(f"{path}: key {key!r}: ")


def test_numbers_of_hops(tmp_path: Path) -> None:
    path = tmp_path / "some.yaml"
    path.write_text("hops: 2\n")
    assert load_config(path, (), TASKS).hop_numbers == {2}
    assert load_config(path, ("hops=0,3",), TASKS).hop_numbers == {0, 3}
    assert load_config(path, ("hops=all",), TASKS).hop_numbers is None
