"""Metrics of evaluation: by a model that knows the answers, and by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase
from tests.training.tiny import elsewhere, prepare, some_samples
from training.data.samples import ProveSample, RerankSample, RetrieveSample
from training.loop.dev_evaluation import Evaluator, metrics
from training.loop.initial_checkpoint import open_initial_checkpoint
from training.loop.run_config import METRICS, TrainConfig
from training.loop.training_loop import train
from trie.model.safe_tokenizer import TASKS


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> TrainConfig:
    return prepare(tmp_path_factory.mktemp("evaluation"))


@pytest.fixture(scope="module")
def learnt(config: TrainConfig) -> TrainConfig:
    """Settings that start from a checkpoint which knows its few samples by heart."""
    longer = replace(
        elsewhere(config, "learnt"),
        steps=200,
        warmup_steps=20,
        batch_tokens=1024,
        rerank_tokens=4096,
    )
    longer = replace(longer, dev="", save_every=200, log_every=100)
    train(longer, TASKS)
    return replace(config, start=longer.out)


def test_a_model_that_knows_the_answers_scores_high(learnt: TrainConfig) -> None:
    start = open_initial_checkpoint(learnt, TASKS)
    with KnowledgeBase.open(learnt.kb) as kb:
        found = metrics(Evaluator(start, some_samples(), kb, learnt).sums())
    assert found["retrieve_top1"] > 0.9
    assert found["rerank_mrr"] > 0.9 and found["rerank_recall5"] == 1.0
    assert found["prove_accuracy"] > 0.9 and found["prove_exact"] > 0.8
    assert set(found) == {"score", *(name for names in METRICS.values() for name in names)}
    firsts = [found[names[0]] for names in METRICS.values()]
    assert found["score"] == pytest.approx(sum(firsts) / 3)


def test_whole_document_sets_can_be_learnt_as_titles(config: TrainConfig) -> None:
    tasks = ("retrieve",)
    titles = replace(elsewhere(config, "titles"), target="titles", steps=200, warmup_steps=20)
    titles = replace(titles, batch_tokens=1024, dev="", save_every=200, log_every=100)
    train(titles, tasks)
    samples = [sample for sample in some_samples() if isinstance(sample, RetrieveSample)]
    start = open_initial_checkpoint(replace(titles, start=titles.out), tasks)
    with KnowledgeBase.open(titles.kb) as kb:
        found = metrics(Evaluator(start, samples, kb, titles).sums())
        other = metrics(Evaluator(start, samples, kb, replace(titles, target="sentences")).sums())
    assert found["retrieve_top1"] > 0.9
    assert other["retrieve_top1"] < found["retrieve_top1"]


def test_the_shares_of_processes_add_up_to_the_whole(config: TrainConfig) -> None:
    start = open_initial_checkpoint(config, TASKS)
    with KnowledgeBase.open(config.kb) as kb:
        whole = Evaluator(start, some_samples(), kb, config).sums()
        parts = [Evaluator(start, some_samples(), kb, config, (n, 3)).sums() for n in range(3)]
    for name, sums in whole.items():
        added = [sum(part[name][at] for part in parts) for at in (0, 1)]
        assert added == pytest.approx(sums), name


def test_evaluation_in_bfloat16_leaves_the_weights_alone(config: TrainConfig) -> None:
    start = open_initial_checkpoint(config, TASKS)
    before = {name: weight.clone() for name, weight in start.model.state_dict().items()}
    with KnowledgeBase.open(config.kb) as kb:
        rounded = replace(config, precision="bf16")
        found = metrics(Evaluator(start, some_samples(), kb, rounded).sums())
    assert 0 <= found["score"] <= 1
    after = start.model.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(after[name], weight) for name, weight in before.items())


def test_only_tasks_with_samples_are_measured(config: TrainConfig) -> None:
    start = open_initial_checkpoint(config, TASKS)
    for kind, task in [(RerankSample, "rerank"), (ProveSample, "prove")]:
        some = [sample for sample in some_samples() if isinstance(sample, kind)]
        found = metrics(Evaluator(start, some, None, config).sums())
        assert set(found) == {"score", *METRICS[task]}
        assert found["score"] == found[METRICS[task][0]]


def test_titles_that_the_knowledge_base_lacks_are_left_out(config: TrainConfig) -> None:
    start = open_initial_checkpoint(config, ("retrieve",))
    strange = [RetrieveSample("Ur is a city.", (), 0, ("Ur",))] * 3
    known = [s for s in some_samples() if isinstance(s, RetrieveSample)][:2]
    with KnowledgeBase.open(config.kb) as kb:
        found = Evaluator(start, strange + known, kb, config).sums()
        assert found["retrieve_top1"][1] == 2
        with pytest.raises(AdmiralError, match="none of its titles is in the knowledge base"):
            Evaluator(start, strange, kb, config)


def test_metrics_of_nothing_are_zero() -> None:
    assert metrics({}) == {}
    sums = {"prove_f1": (0, 0), "prove_precision": (0, 0), "loss": (6.0, 4), "loss_groups": (0, 0)}
    found = metrics(sums)
    assert found == {"score": 0.0, "prove_f1": 0.0, "prove_precision": 0.0, "loss": 1.5}
