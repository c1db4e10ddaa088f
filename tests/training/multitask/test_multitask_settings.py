"""Training settings: the files in configs/, the table in docs/training.md, and bad values."""

from pathlib import Path

import pytest

from admiral.storage.declared_settings import settings_tables
from tests.training.tiny import check_named
from training.multitask.multitask_settings import TrainConfig, load_config
from trie.model.safe_tokenizer import TASKS

ROOT = Path(__file__).parents[3]
FILES = {
    "mini-copy": TASKS,
    "mini-joint": TASKS,
    "mini": TASKS,
    "mini-decoder": TASKS,
    "paper-retriever": ("retrieve",),
    "paper-reranker": ("rerank",),
    "paper-prover": ("prove",),
    "paper-side-expander": ("retrieve",),
    "side-expander": ("retrieve",),
}


@pytest.mark.parametrize("name", FILES)
def test_the_shipped_files_are_valid(name):
    config = load_config(ROOT / "configs" / f"{name}.yaml", (), FILES[name])
    assert config.out.startswith("runs/")
    if name.startswith("paper"):
        assert config.start == "facebook/bart-large" and not config.markers


def test_the_documented_settings_are_those_declared():
    """To update the page, paste the expected text."""
    _, _, documented = (ROOT / "docs" / "training.md").read_text().partition("\n## Settings\n")
    tables = settings_tables(TrainConfig, lambda name: None)
    assert documented == tables.replace("\n## ", "\n### ")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("step: 3", "step"),
        ("steps: 0", "steps"),
        ("steps: true", "steps"),
        ("steps: 1.5", "steps"),
        ("minutes: -1", "minutes"),
        ("minutes: .inf", "minutes"),
        ("seed: 4294967296", "seed"),
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
def test_bad_values_name_file_and_key(tmp_path, text, key):
    tasks = ("retrieve", "rerank")
    check_named(lambda path: load_config(path, (), tasks), tmp_path, text, key)


def test_hop_numbers_are_parsed(tmp_path):
    path = tmp_path / "some.yaml"
    path.write_text("hops: 2\n")
    assert load_config(path, (), TASKS).hop_numbers == {2}
    assert load_config(path, ("hops=0,3",), TASKS).hop_numbers == {0, 3}
    assert load_config(path, ("hops=all",), TASKS).hop_numbers is None
