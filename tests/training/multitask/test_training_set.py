"""Selection of a run's samples, and files without usable samples."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from admiral.errors import AdmiralError
from admiral.retrieval.hop_grammar import TitlesConstraint
from tests.training.tiny import prepare
from training.data.samples import RetrieveSample, read_samples
from training.multitask.initial_checkpoint import open_initial_checkpoint
from training.multitask.multitask_settings import TrainConfig
from training.multitask.sample_encoding import (
    GenerationExample,
    encode_all,
    read_training_set,
    subsample,
    task_of,
)
from trie import SafeTokenizer, TokenTrie
from trie.model.safe_tokenizer import TASKS


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> TrainConfig:
    return prepare(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def tokens(config: TrainConfig) -> SafeTokenizer:
    return open_initial_checkpoint(config, TASKS).tokens


def test_samples_are_selected_by_task_and_counted(
    config: TrainConfig, tokens: SafeTokenizer
) -> None:
    training_set = read_training_set("train", config.samples, config, ("rerank", "prove"), tokens)
    assert training_set.source.samples == {"prove": 8, "rerank": 4}
    assert {task_of(sample) for sample in training_set.samples} == {"rerank", "prove"}
    assert len(training_set.items) == len(training_set.samples)
    assert training_set.source.name == "samples.jsonl"
    assert (
        training_set.source.sha256 == hashlib.sha256(Path(config.samples).read_bytes()).hexdigest()
    )


@pytest.mark.parametrize(("hops", "count"), [("all", 20), ("0", 16), ("1", 4), ("0,1", 20)])
def test_retrieval_samples_are_selected_by_hop(
    config: TrainConfig, tokens: SafeTokenizer, hops: str, count: int
) -> None:
    training_set = read_training_set(
        "train", config.samples, replace(config, hops=hops), TASKS, tokens
    )
    assert training_set.source.samples == {"prove": 8, "rerank": 4, "retrieve": count}
    known = {s.hop for s in training_set.samples if isinstance(s, RetrieveSample)}
    assert hops == "all" or known == set(map(int, hops.split(",")))


def test_titles_replace_identifiers_for_joint_docs(
    config: TrainConfig, tokens: SafeTokenizer
) -> None:
    joint = replace(config, target="titles")
    training_set = read_training_set("train", config.samples, joint, ("retrieve",), tokens)
    hops = set()
    for sample, item in zip(training_set.samples, training_set.items, strict=True):
        assert isinstance(sample, RetrieveSample) and isinstance(item, GenerationExample)
        for target, ids in zip(sample.targets(), item.targets, strict=True):
            titles = [*(sample.evidence[i][0] for i in target.identifiers), target.title]
            trie = TokenTrie.build(tokens.encode_batch(titles))
            constraint = TitlesConstraint(trie, tokens, len(titles))
            rows = constraint.parse(ids)
            assert [titles[same[0]] for same in rows] == titles
            hops.add(len(titles))
    assert hops == {1, 2}


def test_long_samples_are_left_out_and_counted(config: TrainConfig, tokens: SafeTokenizer) -> None:
    short = replace(config, max_source=24)
    training_set = read_training_set("train", config.samples, short, ("retrieve",), tokens)
    assert 0 < training_set.left_out == 20 - len(training_set.samples)


def test_a_subsample_is_reproducible_and_balanced(
    config: TrainConfig, tokens: SafeTokenizer
) -> None:
    whole = read_training_set("evaluate", config.samples, config, TASKS, tokens)
    part = subsample(whole, 5, seed=1)
    assert Counter(map(task_of, part.samples)) == {"retrieve": 5, "rerank": 4, "prove": 5}
    assert [whole.items[whole.samples.index(s)] for s in part.samples] == part.items
    assert subsample(whole, 5, seed=1) == part
    assert subsample(whole, 5, seed=2) != part


def test_files_without_samples_are_errors(
    config: TrainConfig, tokens: SafeTokenizer, tmp_path: Path
) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    with pytest.raises(AdmiralError, match=r"empty\.jsonl: holds no sample to train on"):
        read_training_set("train", str(empty), config, TASKS, tokens)
    with pytest.raises(AdmiralError, match=r"32 of other tasks or hops than retrieve and 7"):
        read_training_set("train", config.samples, replace(config, hops="7"), ("retrieve",), tokens)
    with pytest.raises(AdmiralError, match=r"absent\.jsonl: the samples cannot be read"):
        read_training_set("train", str(tmp_path / "absent.jsonl"), config, TASKS, tokens)
    empty.write_bytes(b"\xff\xfe")
    with pytest.raises(AdmiralError, match=r"empty\.jsonl"):
        read_training_set("train", str(empty), config, TASKS, tokens)


@pytest.mark.slow
def test_encoding_in_several_processes_has_the_same_result(
    config: TrainConfig, tokens: SafeTokenizer
) -> None:
    samples = list(read_samples(Path(config.samples)))
    assert encode_all(tokens, samples, 40, 40, workers=2) == encode_all(tokens, samples, 40, 40)
