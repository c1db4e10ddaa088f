"""Losses, compared with slow oracles; the losses of a batch's parts add up."""

import json
import math
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from admiral.cli.main import main
from admiral.kb import build
from admiral.models.checkpoint import verify_checkpoint
from tests.training.tiny import (
    lines,
    prepare,
    some_samples,
    train,
    write_hub_directory,
    write_t5_directory,
)
from training.multitask.multitask_model import (
    MultiTaskModel,
    guided_attention_loss,
    open_initial_checkpoint,
    rerank_loss,
)
from training.multitask.multitask_settings import TrainConfig
from training.multitask.sample_batches import (
    GenerationExample,
    RerankBatch,
    RerankingExample,
    collate,
    copy_alignment,
    encode,
)
from trie.safe_tokenizer import TASKS


@pytest.fixture(scope="module", params=["bart", "t5", "t5 v1.1", "umt5", "longt5"])
def start(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("start") / "model"
    if request.param == "bart":
        write_hub_directory(folder)
    else:
        write_t5_directory(folder, request.param)
    return open_initial_checkpoint(
        TrainConfig(start=str(folder), max_source=96, max_target=96), TASKS
    )


def items(start, kind):
    config = TrainConfig(max_source=96, max_target=96)
    encoded = [item for s in some_samples() for item in encode(start.tokens, s, config)]
    return [item for item in encoded if isinstance(item, kind)]


def test_padding_changes_no_loss(start):
    multitask = MultiTaskModel(start.model, start.head, attention_loss_weight=0.5).eval()
    tokens = start.tokens
    groups = items(start, RerankingExample)
    whole = multitask(collate(groups, tokens.pad, tokens.start)).item()
    batches = [collate([group], tokens.pad, tokens.start) for group in groups]
    sentences = [int(batch.real.sum()) for batch in batches]
    assert len(set(sentences)) == 1
    parts = [multitask(batch).item() for batch in batches]
    assert whole == pytest.approx(sum(parts) / len(parts), rel=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_the_loss_equals_that_of_targets_in_rows_of_their_own(start, smoothing):
    batch_items = items(start, GenerationExample)
    pairs = [pair for pair in batch_items if isinstance(pair, GenerationExample)]
    assert {len(pair.targets) for pair in pairs} == {1, 2}
    multitask = MultiTaskModel(
        start.model, None, attention_loss_weight=0.0, label_smoothing=smoothing
    ).eval()
    batch = collate(batch_items, start.tokens.pad, start.tokens.start)
    loss = multitask(batch).item()
    total = tokens = 0.0
    for pair in pairs:
        scores = []
        for target in pair.targets:
            logits = start.model(
                input_ids=torch.tensor([pair.source]),
                decoder_input_ids=torch.tensor([[start.tokens.start, *target[:-1]]]),
            ).logits[0]
            logs = logits.log_softmax(-1)
            right = logs[torch.arange(len(target)), torch.tensor(target)]
            scores.append(((1 - smoothing) * right + smoothing * logs.mean(-1)).sum())
        total -= torch.stack(scores).logsumexp(0).item()
        tokens += pair.length / len(pair.targets)
    assert loss == pytest.approx(total / tokens, rel=1e-4)


def test_the_reranking_loss_equals_the_oracle():
    torch.manual_seed(1)
    real = torch.tensor([[True] * 4, [True, True, True, False]])
    gold = torch.tensor([[True, False, True, False], [False, True, False, False]])
    scores = torch.randn(2, 4)
    none = torch.zeros(0)
    batch = RerankBatch(none, none, none, none, real, gold)
    found = rerank_loss(scores, batch).item()
    ordering, logistic = [], []
    for row in range(2):
        wrong = [scores[row, j].item() for j in range(4) if real[row, j] and not gold[row, j]]
        mine = []
        for j in range(4):
            score = scores[row, j].item()
            if gold[row, j]:
                rest = sum(math.exp(w) for w in wrong)
                mine.append(-math.log(math.exp(score) / (math.exp(score) + rest)))
                logistic.append(-3 * math.log(1 / (1 + math.exp(-score))))
            elif real[row, j]:
                logistic.append(-math.log(1 - 1 / (1 + math.exp(-score))))
        ordering.append(sum(mine) / len(mine))
    assert found == pytest.approx(sum(ordering) / 2 + sum(logistic) / 7, rel=1e-5)


@pytest.mark.slow
def test_a_trained_t5_retrieves_reranks_and_proves(tmp_path, capsys):
    config = prepare(tmp_path, write_t5_directory).changed(
        steps=60, eval_every=20, keep="best", log_every=10
    )
    train(config, TASKS)
    losses = [line["generation"] for line in lines(config) if "generation" in line]
    assert losses[-1] < 0.5 * losses[0]
    scores = [line["dev/score"] for line in lines(config) if "dev/score" in line]
    assert len(scores) == 3
    assert "A T5 sequence-to-sequence model" in (Path(config.out) / "README.md").read_text()
    build(tmp_path / "corpus.jsonl", tmp_path / "searchable", bm25="bm25s", progress=False)
    capsys.readouterr()
    options = [
        "--kb",
        str(tmp_path / "searchable"),
        "--model",
        config.out,
        "--reranker",
        "cross-encoder",
    ]
    command = ["retrieve", *options, "--judge", "generated", "--hops", "2", "--json"]
    assert main([*command, "Rome is a city."]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["documents"]
    assert all(hop["proof"] for hop in record["hops"])
    assert verify_checkpoint(config.out) == []


def test_the_guided_loss_is_the_mean_log_of_the_mass_on_aligned_positions():
    weights = torch.rand(2, 6, 2, 4)
    copies = torch.zeros(2, 2, 4, dtype=torch.bool)
    copies[0, 0, 1] = copies[0, 0, 3] = copies[1, 0, 1] = copies[1, 1, 0] = True
    weights[1, 2, 1, 0] = 0.0  # dropped
    masses = [weights[0, :4, 0, [1, 3]].sum(-1), weights[1, :4, 0, 1], weights[1, [0, 1, 3], 1, 0]]
    loss = guided_attention_loss(weights, copies)
    assert loss.item() == pytest.approx(-torch.cat(masses).log().mean().item())
    assert guided_attention_loss(weights, torch.zeros_like(copies)) == 0


SEPARATORS = frozenset({8, 9})
TOKENS = st.lists(st.integers(1, 9), max_size=12)


def oracle(source, target):
    """Extend every match to both sides, but not across separators."""
    aligned = set()
    for i, token in enumerate(target):
        start = end = i
        if token not in SEPARATORS:
            while start > 0 and target[start - 1] not in SEPARATORS:
                start -= 1
            while end + 1 < len(target) and target[end + 1] not in SEPARATORS:
                end += 1
        lengths = {}
        for j, other in enumerate(source):
            if other != token:
                continue
            left = right = 0
            while i - left > start and j > left and target[i - left - 1] == source[j - left - 1]:
                left += 1
            while (
                i + right < end
                and j + right + 1 < len(source)
                and target[i + right + 1] == source[j + right + 1]
            ):
                right += 1
            lengths[j] = left + 1 + right
        best = max(lengths.values(), default=0)
        if best > 1 or start == end:
            aligned |= {(i, j) for j, length in lengths.items() if length == best}
    return aligned


@given(TOKENS, TOKENS)
def test_alignment_equals_the_oracle(source, target):
    aligned = copy_alignment(source, target, SEPARATORS)
    assert len(aligned) == len(set(aligned))
    assert set(aligned) == oracle(source, target)
