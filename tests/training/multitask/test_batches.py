"""Batches: their samples, order, and collation."""

import hashlib
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.retrieval.hop_retriever import TitlesConstraint
from admiral.retrieval.rerankers import RerankerInput
from admiral.settings import settings_tables
from tests.training.tiny import check_named, prepare
from training.data.samples import RetrieveSample, read_samples
from training.loop.batch_loading import Loader
from training.multitask.multitask_model import open_initial_checkpoint
from training.multitask.multitask_settings import TrainConfig, load_config
from training.multitask.sample_batches import (
    IGNORED,
    GenerationExample,
    RerankingExample,
    SequenceBatch,
    batches_of,
    collate,
    encode_all,
    one_epoch,
    read_training_set,
    subsample,
    task_of,
)
from trie import TokenTrie
from trie.safe_tokenizer import TASKS

PAIRS = st.lists(
    st.builds(
        GenerationExample,
        st.lists(st.integers(3, 9), min_size=1, max_size=9),
        st.lists(st.lists(st.integers(3, 9), min_size=1, max_size=5), min_size=1, max_size=3),
        st.just([]),
    ),
    min_size=1,
    max_size=12,
)


@given(PAIRS)
def test_labels_are_padded(pairs):
    batch = collate(pairs, 1, 2)
    assert isinstance(batch, SequenceBatch)
    assert sum(pair.length for pair in pairs) == int((batch.labels != IGNORED).sum())
    assert torch.equal(batch.segments >= 0, batch.labels != IGNORED)


def test_a_batch_holds_examples_of_one_kind():
    mixed = [
        GenerationExample([5], [[2]], []),
        RerankingExample([RerankerInput([5, 6], [(0, 0, 1), (1, 1, 2)])], [[True, False]]),
    ]
    for items in one_epoch(mixed, 1000, 1000, 0):
        collate(items, 1, 2)
    with pytest.raises(ValueError, match="mixes generation and reranking"):
        collate(mixed, 1, 2)


def test_decoder_inputs_are_the_labels_shifted_by_one():
    batch = collate(
        [GenerationExample([5], [[6, 7, 2]], []), GenerationExample([5, 5], [[8, 2]], [(0, 1)])],
        1,
        2,
    )
    assert isinstance(batch, SequenceBatch)
    assert batch.decoder_ids.tolist() == [[2, 6, 7], [2, 8, 1]]
    assert batch.labels.tolist() == [[6, 7, 2], [8, 2, IGNORED]]
    assert batch.copies.nonzero().tolist() == [[1, 0, 1]]


def test_all_targets_of_an_input_are_packed_into_one_row():
    pair = GenerationExample([5], [[6, 2], [7, 8, 2]], [])
    batch = collate([pair, GenerationExample([5], [[9, 2]], [])], 1, 0)
    assert isinstance(batch, SequenceBatch)
    assert batch.labels.tolist() == [[6, 2, 7, 8, 2], [9, 2, *[IGNORED] * 3]]
    assert batch.decoder_ids.tolist() == [[0, 6, 0, 7, 8], [0, 9, 1, 1, 1]]
    assert batch.positions.tolist() == [[0, 1, 0, 1, 2], [0, 1, 0, 0, 0]]
    assert batch.segments.tolist() == [[0, 0, 1, 1, 1], [0, 0, -1, -1, -1]]


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
        "train", config.samples, config.changed(hops=hops), TASKS, tokens
    )
    assert training_set.source.samples == {"prove": 8, "rerank": 4, "retrieve": count}
    known = {s.hop for s in training_set.samples if isinstance(s, RetrieveSample)}
    assert hops == "all" or known == set(map(int, hops.split(",")))


def test_titles_replace_identifiers_for_joint_docs(config, tokens):
    joint = config.changed(target="titles")
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


def test_each_target_may_be_a_sample_of_its_own(config, tokens):
    marginal, single = (
        read_training_set("train", config.samples, config.changed(objective=o), TASKS, tokens)
        for o in ("marginal", "single")
    )
    pairs = list(zip(marginal.samples, marginal.items, strict=True))
    assert max(len(item.targets) for _, item in pairs if isinstance(item, GenerationExample)) > 1
    expected = [
        (sample, item.source, target)
        for sample, item in pairs
        if isinstance(item, GenerationExample)
        for target in item.targets
    ]
    found = [
        (sample, item.source, *item.targets)
        for sample, item in zip(single.samples, single.items, strict=True)
        if isinstance(item, GenerationExample)
    ]
    assert found == expected
    # What is copied from where is that of an example of this target alone.
    copied = [
        (item.targets[0][i], item.source[j])
        for item in single.items
        if isinstance(item, GenerationExample)
        for i, j in item.copies
    ]
    assert copied == [
        ([token for target in item.targets for token in target][i], item.source[j])
        for _, item in pairs
        if isinstance(item, GenerationExample)
        for i, j in item.copies
    ]
    ranked = [item for item in marginal.items if isinstance(item, RerankingExample)]
    assert [item for item in single.items if isinstance(item, RerankingExample)] == ranked
    dev = read_training_set(
        "evaluate", config.samples, config.changed(objective="single"), TASKS, tokens
    )
    assert dev.items == marginal.items


def test_long_samples_are_left_out_and_counted(config, tokens):
    short = config.changed(max_source=24)
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
        read_training_set("train", config.samples, config.changed(hops="7"), ("retrieve",), tokens)
    with pytest.raises(AdmiralError, match=r"absent\.jsonl: the samples cannot be read"):
        read_training_set("train", str(tmp_path / "absent.jsonl"), config, TASKS, tokens)
    empty.write_bytes(b"\xff\xfe")
    with pytest.raises(AdmiralError, match=r"empty\.jsonl"):
        read_training_set("train", str(empty), config, TASKS, tokens)


@pytest.mark.slow
def test_encoding_in_several_processes_has_the_same_result(config, tokens):
    samples = list(read_samples(Path(config.samples)))
    assert encode_all(tokens, samples, 40, 40, workers=2) == encode_all(tokens, samples, 40, 40)


WORD_PAIRS = [GenerationExample([3] * (1 + n % 5), [[4, 2]], []) for n in range(20)]


def padded(items):
    return collate(items, 1, 2)


def stream(seed=3):
    return batches_of(WORD_PAIRS, 24, 24, seed)


def test_each_epoch_has_every_item_once_in_a_new_order():
    first = []
    batches = stream()
    while len(first) < len(WORD_PAIRS):
        first += map(id, next(batches))
    assert sorted(first) == sorted(map(id, WORD_PAIRS))
    second = []
    while len(second) < len(WORD_PAIRS):
        second += map(id, next(batches))
    assert sorted(second) == sorted(first) and second != first
    assert list(islice(stream(), 30)) == list(islice(stream(), 30))
    assert list(islice(stream(), 30)) != list(islice(stream(4), 30))


def test_processes_share_the_batches_after_a_position():
    whole = list(islice(stream(), 20))
    taken = {}
    for number in range(3):
        with Loader(stream(), list, position=5, share=(number, 3)) as loader:
            for micro_batch in loader.take(4):
                taken[micro_batch.position] = micro_batch.batch
    assert taken == {at: whole[at] for at in range(5, 17)}


def test_batches_are_loaded_for_a_gpu_with_and_without_a_number(monkeypatch):
    chosen = []

    def set_device(device):  # as strict as that of torch
        if device.index is None:
            raise ValueError("expected a device with an index")
        chosen.append(device.index)

    monkeypatch.setattr(torch.cuda, "set_device", set_device)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor)
    for name in ("cuda", "cuda:1"):
        with Loader(stream(), padded, device=torch.device(name)) as loader:
            assert len(loader.take(2)) == 2
    assert chosen == [1]


def test_exceptions_of_the_thread_are_raised_by_take():
    def broken():
        yield WORD_PAIRS[:1]
        raise ValueError("no more")

    with Loader(broken(), padded) as loader:
        assert len(loader.take(1)) == 1
        with pytest.raises(ValueError, match="no more"):
            loader.take(1)


ROOT = Path(__file__).parents[3]
FILES = {
    "mini-copy": TASKS,
    "mini-joint": TASKS,
    "mini": TASKS,
    "mini-gpu": TASKS,
    "paper-retriever": ("retrieve",),
    "paper-reranker": ("rerank",),
    "paper-prover": ("prove",),
    "paper-side-expander": ("retrieve",),
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
