"""Training a tiny model: it learns, keeps the best state, stops, and resumes exactly."""

import os
import shutil
import signal
import threading
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import BartForConditionalGeneration

from admiral.errors import AdmiralError
from admiral.models.checkpoint import load_checkpoint
from tests.training.tiny import elsewhere, lines, prepare, same_weights, train, weights
from training.loop.training_loop import build_scheduler
from training.multitask.multitask_settings import TrainConfig
from trie.safe_tokenizer import TASKS


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("run"))


def test_the_loss_falls_the_best_is_kept_and_the_checkpoint_loads(settings):
    config = elsewhere(settings, "learns").changed(
        steps=60, eval_every=20, keep="best", log_every=10
    )
    train(config, TASKS)
    losses = [line["generation"] for line in lines(config) if "generation" in line]
    assert losses[-1] < 0.5 * losses[0]
    evaluated = [line for line in lines(config) if "dev/score" in line]
    assert [line["step"] for line in evaluated] == [20, 40, 60]
    best = max(evaluated, key=lambda line: (line["dev/score"], -line["step"]))
    card = (Path(config.out) / "README.md").read_text()
    assert f"After {best['step']} steps" in card
    assert f"| score | {best['dev/score']:.4f} |" in card
    loaded = load_checkpoint(config.out)
    assert loaded.head is not None and loaded.tokens.task("retrieve") is not None
    assert all(w.dtype == torch.float16 for w in weights(config).values())
    plain = BartForConditionalGeneration.from_pretrained(config.out)
    assert torch.equal(plain.lm_head.weight, plain.get_input_embeddings().weight)


def test_a_run_stops_at_its_time_limit_and_resumes_exactly(settings):
    whole = elsewhere(settings, "at-once").changed(
        steps=5, gradient_accumulation_steps=2, dropout=0.1, log_every=1
    )
    parts = elsewhere(whole, "by-minutes")
    train(whole, TASKS)
    for _ in range(parts.steps):
        assert not Path(f"{parts.out}.run").exists() or lines(parts) != lines(whole)
        train(parts.changed(minutes=1e-9), TASKS)
        assert (Path(parts.out) / "model.safetensors").is_file()  # `last` is kept at each stop
    assert lines(parts) == lines(whole)
    assert same_weights(parts, whole)
    train(parts, TASKS)  # nothing is left to do
    assert same_weights(parts, whole)


def test_a_signal_saves_the_state_and_reports_how_to_continue(settings, capfd):
    config = elsewhere(settings, "polite").changed(steps=100_000, save_every=100_000)
    before = signal.getsignal(signal.SIGTERM)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    with pytest.raises(SystemExit) as caught:
        train(config, TASKS)
    timer.join()
    assert caught.value.code == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) == before
    assert "the same command continues" in capfd.readouterr().err
    assert (Path(f"{config.out}.run") / "state.safetensors").is_file()


def test_a_run_is_not_resumed_with_other_data_or_settings(settings):
    config = elsewhere(settings, "mixed")
    train(config.changed(minutes=1e-9), TASKS)
    with pytest.raises(AdmiralError, match="another batch_tokens"):
        train(config.changed(batch_tokens=128), TASKS)
    with pytest.raises(AdmiralError, match="another tasks"):
        train(config, ("retrieve", "rerank"))
    train(config.changed(batch_tokens=128), TASKS, overwrite=True)


def test_only_checkpoints_of_runs_are_replaced(settings, tmp_path):
    config = settings.changed(out=settings.start)
    with pytest.raises(AdmiralError, match="does not belong to a run"):
        train(config, TASKS)
    assert (Path(settings.start) / "vocab.json").is_file()
    project = tmp_path / "project"
    shutil.copytree(settings.start, project)
    (project / "src").mkdir()
    (tmp_path / "file").write_text("")
    for name in ("project", "file"):
        with pytest.raises(AdmiralError, match="something else is there, and it is not replaced"):
            train(settings.changed(out=str(tmp_path / name)), TASKS, overwrite=True)
        assert not (tmp_path / f"{name}.run").exists()
    assert (project / "src").is_dir()


def test_a_finished_run_exports_a_missing_model(settings):
    config = elsewhere(settings, "done").changed(steps=2)
    train(config, TASKS)
    model = Path(config.out) / "model.safetensors"
    whole = model.read_bytes()
    shutil.rmtree(config.out)
    with pytest.raises(AdmiralError, match="only the run's last state is saved"):
        train(config.changed(keep="best"), TASKS)
    train(config, TASKS)
    assert model.read_bytes() == whole


def test_a_loss_that_is_not_finite_ends_the_run(settings):
    config = elsewhere(settings, "wild").model_copy(update={"encoder_lr": 1e30, "decoder_lr": 1e30})
    with pytest.raises(AdmiralError, match="is not finite at step"):
        train(config, TASKS)
    assert not Path(config.out).exists()


def scheduler(config, step=0):
    weight = torch.nn.Parameter(torch.zeros(1))
    return build_scheduler(torch.optim.AdamW([weight], lr=config.encoder_lr), config, step)


def learning_rates(config, first=0):
    """Return the learning rate of each step from `first` on, with a peak of 1."""
    schedule = scheduler(config, first)
    rates = []
    for _ in range(first, config.steps):
        rates.append(schedule.get_last_lr()[0])
        schedule.optimizer.step()
        schedule.step()
    return rates


@given(
    st.integers(1, 60),
    st.integers(0, 70),
    st.sampled_from(["linear", "cosine", "constant"]),
    st.data(),
)
def test_a_resumed_schedule_continues(steps, warmup, name, data):
    config = TrainConfig(steps=steps, warmup_steps=warmup, lr_schedule=name, encoder_lr=1.0)
    rates = learning_rates(config)
    assert all(0 <= rate <= 1 for rate in rates)
    peak = rates.index(max(rates))
    assert rates[peak:] == sorted(rates[peak:], reverse=True)
    resumed = data.draw(st.integers(0, steps - 1))
    assert learning_rates(config, resumed) == pytest.approx(rates[resumed:])
