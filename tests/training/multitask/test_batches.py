"""Batches: their samples, order, and collation."""

import hashlib
from pathlib import Path

import pytest

from admiral.errors import AdmiralError
from admiral.io.settings_docs import settings_tables
from admiral.retrieval.hop_retriever import TitlesConstraint
from tests.training.tiny import check_named, prepare
from training.data.samples import RetrieveSample
from training.multitask.multitask_model import open_initial_checkpoint
from training.multitask.multitask_settings import TrainConfig
from training.multitask.sample_batches import (
    IGNORED,
    GenerationExample,
    SequenceBatch,
    collate,
    one_epoch,
    read_training_set,
)
from trie import TokenTrie
from trie.safe_tokenizer import TASKS


def test_each_target_has_a_row_and_the_number_of_its_input():
    pair = GenerationExample([5], [[6, 2], [7, 8, 2]], [[], [(1, 0)]])
    batch = collate([pair, GenerationExample([5], [[9, 2]], [[]])], 1, 0)
    assert isinstance(batch, SequenceBatch)
    assert batch.owners.tolist() == [0, 0, 1]
    assert batch.labels.tolist() == [[6, 2, IGNORED], [7, 8, 2], [9, 2, IGNORED]]
    assert batch.decoder_ids.tolist() == [[0, 6, 1], [0, 7, 8], [0, 9, 1]]
    assert batch.copies.nonzero().tolist() == [[1, 1, 0]]


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def tokens(config):
    return open_initial_checkpoint(config, TASKS).tokens


def test_samples_are_selected_by_task_and_counted(config, tokens):
    training_set = read_training_set("train", config.samples, config, ("rerank", "prove"), tokens)
    assert training_set.source.holds == {"prove": 8, "rerank": 4}
    assert {sample.task for sample in training_set.samples} == {"rerank", "prove"}
    assert training_set.source.name == "samples.jsonl"
    assert (
        training_set.source.sha256 == hashlib.sha256(Path(config.samples).read_bytes()).hexdigest()
    )


@pytest.mark.parametrize(("hops", "count"), [("all", 20), ("0", 16), ("1", 4), ("0,1", 20)])
def test_retrieval_samples_are_selected_by_hop(config, tokens, hops, count):
    training_set = read_training_set(
        "train", config.samples, config.changed(hops=hops), TASKS, tokens
    )
    assert training_set.source.holds == {"prove": 8, "rerank": 4, "retrieve": count}
    known = {s.hop for s in training_set.samples if isinstance(s, RetrieveSample)}
    assert hops == "all" or known == set(map(int, hops.split(",")))


def test_titles_replace_identifiers_for_joint_docs(config, tokens):
    joint = config.changed(target="titles")
    training_set = read_training_set("train", config.samples, joint, ("retrieve",), tokens)
    hops = set()
    for sample, item in zip(training_set.samples, training_set.examples, strict=True):
        assert isinstance(sample, RetrieveSample) and isinstance(item, GenerationExample)
        for target, ids in zip(sample.targets(), item.targets, strict=True):
            titles = [*(sample.evidence[i][0] for i in target.identifiers), target.title]
            trie = TokenTrie.build(tokens.encode_batch(titles))
            constraint = TitlesConstraint(trie, tokens, len(titles))
            rows = constraint.parse(ids)
            assert [titles[same[0]] for same in rows] == titles
            hops.add(len(titles))
    assert hops == {1, 2}


def test_long_samples_are_left_out_and_counted(config, tokens):
    short = config.changed(max_source=24)
    training_set = read_training_set("train", config.samples, short, ("retrieve",), tokens)
    assert 0 < training_set.left_out == 20 - len(training_set.samples)


def test_files_without_samples_are_errors(config, tokens, tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    with pytest.raises(AdmiralError, match=r"empty\.jsonl: holds no sample to train on"):
        read_training_set("train", str(empty), config, TASKS, tokens)
    with pytest.raises(AdmiralError, match=r"32 of other tasks or hops than retrieve and 7"):
        read_training_set("train", config.samples, config.changed(hops="7"), ("retrieve",), tokens)
    with pytest.raises(AdmiralError, match=r"absent\.jsonl: cannot be read"):
        read_training_set("train", str(tmp_path / "absent.jsonl"), config, TASKS, tokens)
    empty.write_bytes(b"\xff\xfe")
    with pytest.raises(AdmiralError, match=r"empty\.jsonl"):
        read_training_set("train", str(empty), config, TASKS, tokens)


WORD_PAIRS = [GenerationExample([3] * (1 + n % 5), [[4, 2]], [[]]) for n in range(20)]


def test_each_epoch_has_every_item_once_in_a_new_order():
    first, again, second = (one_epoch(WORD_PAIRS, 24, 24, epoch) for epoch in (3, 3, 4))
    items = [[id(item) for batch in epoch for item in batch] for epoch in (first, second)]
    assert sorted(items[0]) == sorted(items[1]) == sorted(map(id, WORD_PAIRS))
    assert items[0] != items[1] and first == again


ROOT = Path(__file__).parents[3]
FILES = (
    *("mini-copy", "mini-joint", "mini", "mini-gpu"),
    *("paper-retriever", "paper-reranker", "paper-prover", "paper-side-expander"),
)


@pytest.mark.parametrize("name", FILES)
def test_the_shipped_files_are_valid(name):
    config = TrainConfig.read(ROOT / "configs" / f"{name}.yaml")
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
        ("minutes: -1", "minutes"),
        ("seed: 4294967296", "seed"),
        ("dropout: 1", "dropout"),
        ("lr_schedule: fast", "lr_schedule"),
        ("hops: 1-2", "hops"),
        ("best_metric: bleu", "best_metric"),
        ("keep: best", "keep"),
    ],
)
def test_bad_values_name_file_and_key(tmp_path, text, key):
    check_named(TrainConfig.read, tmp_path, text, key)
