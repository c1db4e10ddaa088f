"""Selection of a run's samples, and files without usable samples."""

import hashlib
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from admiral.errors import AdmiralError
from admiral.retrieval.hop_retriever import TitlesConstraint
from tests.training.tiny import prepare
from training.data.samples import RetrieveSample, read_samples
from training.loop.batch_loading import Loader
from training.multitask.initial_checkpoint import open_initial_checkpoint
from training.multitask.sample_batches import batches_of, collate
from training.multitask.sample_encoding import (
    GenerationExample,
    encode_all,
    read_training_set,
    subsample,
    task_of,
)
from trie import TokenTrie
from trie.model.safe_tokenizer import TASKS


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def tokens(config):
    return open_initial_checkpoint(config, TASKS).tokens


def test_samples_are_selected_by_task_and_counted(config, tokens):
    training_set = read_training_set("train", config.samples, config, ("rerank", "prove"), tokens)
    assert training_set.source.samples == {"prove": 8, "rerank": 4}
    assert {task_of(sample) for sample in training_set.samples} == {"rerank", "prove"}
    assert len(training_set.items) == len(training_set.samples)
    assert training_set.source.name == "samples.jsonl"
    assert (
        training_set.source.sha256 == hashlib.sha256(Path(config.samples).read_bytes()).hexdigest()
    )


@pytest.mark.parametrize(("hops", "count"), [("all", 20), ("0", 16), ("1", 4), ("0,1", 20)])
def test_retrieval_samples_are_selected_by_hop(config, tokens, hops, count):
    training_set = read_training_set(
        "train", config.samples, replace(config, hops=hops), TASKS, tokens
    )
    assert training_set.source.samples == {"prove": 8, "rerank": 4, "retrieve": count}
    known = {s.hop for s in training_set.samples if isinstance(s, RetrieveSample)}
    assert hops == "all" or known == set(map(int, hops.split(",")))


def test_titles_replace_identifiers_for_joint_docs(config, tokens):
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


def test_long_samples_are_left_out_and_counted(config, tokens):
    short = replace(config, max_source=24)
    training_set = read_training_set("train", config.samples, short, ("retrieve",), tokens)
    assert 0 < training_set.left_out == 20 - len(training_set.samples)


def test_a_subsample_is_reproducible_and_balanced(config, tokens):
    whole = read_training_set("evaluate", config.samples, config, TASKS, tokens)
    part = subsample(whole, 5, seed=1)
    assert Counter(map(task_of, part.samples)) == {"retrieve": 5, "rerank": 4, "prove": 5}
    assert [whole.items[whole.samples.index(s)] for s in part.samples] == part.items
    assert subsample(whole, 5, seed=1) == part
    assert subsample(whole, 5, seed=2) != part


def test_files_without_samples_are_errors(config, tokens, tmp_path):
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
def test_encoding_in_several_processes_has_the_same_result(config, tokens):
    samples = list(read_samples(Path(config.samples)))
    assert encode_all(tokens, samples, 40, 40, workers=2) == encode_all(tokens, samples, 40, 40)


PAIRS = [GenerationExample([3] * (1 + n % 5), [[4, 2]], []) for n in range(20)]


def padded(items):
    return collate(items, 1, 2)


def stream(seed=3):
    return batches_of(PAIRS, 24, 24, seed)


def test_each_epoch_has_every_item_once_in_a_new_order():
    first = []
    batches = stream()
    while len(first) < len(PAIRS):
        first += map(id, next(batches))
    assert sorted(first) == sorted(map(id, PAIRS))
    second = []
    while len(second) < len(PAIRS):
        second += map(id, next(batches))
    assert sorted(second) == sorted(first) and second != first
    assert list(islice(stream(), 30)) == list(islice(stream(), 30))
    assert list(islice(stream(), 30)) != list(islice(stream(4), 30))


def test_processes_share_the_batches_after_a_position():
    whole = list(islice(stream(), 20))
    taken = {}
    for number in range(3):
        with Loader(stream(), padded, position=5, share=(number, 3)) as loader:
            for micro_batch in loader.take(4):
                taken[micro_batch.position] = micro_batch.items
    assert taken == {at: whole[at] for at in range(5, 17)}


def test_exceptions_of_the_thread_are_raised_by_take():
    def broken():
        yield PAIRS[:1]
        raise ValueError("no more")

    with Loader(broken(), padded) as loader:
        assert len(loader.take(1)) == 1
        with pytest.raises(ValueError, match="no more"):
            loader.take(1)
