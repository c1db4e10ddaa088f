"""Training a tiny verifier: it learns, keeps the best state, stops, and resumes exactly."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from admiral.errors import AdmiralError
from admiral.storage.declared_settings import settings_tables
from proofs.verifier.pair_verifier import Verifier
from tests.proofs.verifier.tiny_classifier import write_classifier_directory
from tests.training.tiny import (
    SHORT_RUN,
    check_named,
    elsewhere,
    lines,
    no_space,
    same_weights,
    to_yaml,
)
from training.data.verification_pairs import PAIR_LABELS, Pair, write_pairs
from training.verification.pair_model import label_losses
from training.verification.training_run import train_verifier
from training.verification.verifier_settings import VerifierConfig, load_verifier_config
from training.verifier import main

ROOT = Path(__file__).parents[3]
CITIES = ("Rome", "Paris", "Oslo", "Bern")


def some_pairs() -> list[Pair]:
    pairs = []
    for name in CITIES:
        claim, other = f"{name} is a city.", f"{name} was never on the Tiber."
        pairs += [
            Pair(claim, f"{name} is a city.", "entailment", "cities", 1.0, True),
            Pair(claim, f"{name} is not a city.", "contradiction", "cities", 2.0, True),
            Pair(claim, other, "neutral", "rivers", 1.0, False),
            Pair(other, "12 towns", "not_entailment", "rivers", 1.0, None),
            Pair(other, other, "entailment", "rivers", 0.5, True),
        ]
    return pairs


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> VerifierConfig:
    folder = tmp_path_factory.mktemp("verifier")
    write_classifier_directory(folder / "start", labels=())
    write_pairs(folder / "pairs.jsonl", some_pairs())
    return VerifierConfig(
        start=str(folder / "start"),
        pairs=str(folder / "pairs.jsonl"),
        dev=str(folder / "pairs.jsonl"),
        out=str(folder / "out"),
        batch_tokens=96,
        max_length=32,
        lr=1e-2,
        head_lr=1e-2,
        **SHORT_RUN,
    )


def test_it_learns_and_the_best_state_is_the_verifier(settings: VerifierConfig) -> None:
    config = replace(
        elsewhere(settings, "learns"), steps=150, eval_every=25, keep="best", save_every=1000
    )
    train_verifier(config)
    losses = [line["pairs"] for line in lines(config) if "pairs" in line]
    assert losses[-1] < 0.5 * losses[0]
    evaluated = [line for line in lines(config) if "dev/score" in line]
    assert [line["step"] for line in evaluated] == [25, 50, 75, 100, 125, 150]
    best = max(evaluated, key=lambda line: (line["dev/score"], -line["step"]))
    card = (Path(config.out) / "README.md").read_text()
    assert f"After {best['step']} steps" in card
    assert "| cities | 4 contradiction, 4 entailment | 12 |" in card
    assert str(Path(config.out).parent) not in card
    verifier = Verifier.open(config.out, dtype=torch.float32)
    pairs = [pair for pair in some_pairs() if pair.source == "cities"]
    predicted = verifier.predict([p.claim for p in pairs], [p.evidence for p in pairs])
    right = [
        PAIR_LABELS[row.argmax()] == p.label for row, p in zip(predicted.labels, pairs, strict=True)
    ]
    assert sum(right) / len(right) == pytest.approx(best["dev/cities/accuracy"])
    assert predicted.relevance is not None
    assert min(predicted.relevance.tolist()) > 0.5


def test_a_stopped_run_resumes_exactly(settings: VerifierConfig) -> None:
    """With accumulation, dropout and evaluation; stopped by its time limit after every step."""
    whole = replace(
        elsewhere(settings, "whole"),
        steps=6,
        gradient_accumulation_steps=2,
        dropout=0.1,
        eval_every=2,
        label_smoothing=0.1,
    )
    parts = elsewhere(whole, "parts")
    train_verifier(whole)
    for _ in range(5):
        train_verifier(replace(parts, minutes=1e-9))
    assert lines(parts)[-1]["step"] == 4
    train_verifier(parts)
    assert same_weights(whole, parts)
    for ours, theirs in zip(lines(whole), lines(parts), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-6)
    train_verifier(parts)  # finished: nothing changes
    assert same_weights(whole, parts)


def test_a_finished_run_exports_a_missing_verifier(
    settings: VerifierConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(elsewhere(settings, "done"), steps=2, dev="")
    with monkeypatch.context() as patch:
        patch.setattr("training.verification.training_run.write_classifier", no_space)
        with pytest.raises(AdmiralError, match="done: cannot be written"):
            train_verifier(config)
    assert not Path(config.out).exists()
    train_verifier(config)  # the steps were saved
    assert [line["step"] for line in lines(config)] == [2]
    whole = elsewhere(config, "done-at-once")
    train_verifier(whole)
    assert same_weights(config, whole)


def test_a_deleted_best_verifier_is_not_replaced_by_the_last_state(
    settings: VerifierConfig,
) -> None:
    config = replace(elsewhere(settings, "deleted"), steps=2, keep="best")
    train_verifier(config)
    shutil.rmtree(config.out)
    with pytest.raises(AdmiralError, match="only the run's last state is saved"):
        train_verifier(config)
    assert not Path(config.out).exists()
    train_verifier(replace(config, keep="last"))
    assert [line["step"] for line in lines(config) if "pairs" in line] == [2]
    assert Path(config.out).exists()


def test_other_pairs_or_settings_are_refused(settings: VerifierConfig, tmp_path: Path) -> None:
    config = replace(elsewhere(settings, "changed"), steps=2, dev="")
    train_verifier(config)
    with pytest.raises(AdmiralError, match="with another max_length"):
        train_verifier(replace(config, max_length=24))
    other = tmp_path / "other.jsonl"
    write_pairs(other, some_pairs()[:5])
    with pytest.raises(AdmiralError, match="with another pairs"):
        train_verifier(replace(config, pairs=str(other)))
    with pytest.raises(AdmiralError, match="is also `start`"):
        train_verifier(replace(config, start=config.out))
    write_pairs(other, [])
    with pytest.raises(AdmiralError, match="holds no pairs"):
        train_verifier(replace(config, pairs=str(other)), overwrite=True)
    with pytest.raises(AdmiralError, match="its sources are cities, rivers"):
        train_verifier(replace(elsewhere(config, "new"), dev=settings.dev, best_metric="fever/auc"))


def test_the_command_continues_from_a_verifier(settings: VerifierConfig) -> None:
    first = replace(elsewhere(settings, "first"), steps=2, dev="")
    train_verifier(first)
    second = replace(elsewhere(first, "second"), start=first.out)
    path = to_yaml(second, Path(second.out).with_suffix(".yaml"))
    done = CliRunner().invoke(main, ["--config", str(path), "--set", "steps=1"])
    assert done.exit_code == 0, done.output
    assert "cities" in done.output
    assert Verifier.open(second.out).predict(["a"], ["b"]).relevance is not None
    failed = CliRunner().invoke(main, ["--config", str(path), "--set", "start=nowhere"])
    assert failed.exit_code == 1
    assert "nowhere: is not a directory of a model" in failed.output


def test_not_entailed_is_neutral_or_contradicted() -> None:
    log_probabilities = torch.tensor([[0.5, 0.2, 0.3]] * 4).log()
    losses = label_losses(log_probabilities, torch.tensor([0, 1, 2, 3]))
    torch.testing.assert_close(losses, -torch.tensor([0.5, 0.2, 0.3, 0.5]).log())


def test_the_shipped_settings_are_valid_and_documented() -> None:
    """To update the page, paste the expected text."""
    paper = load_verifier_config(ROOT / "configs" / "paper-side-verifier.yaml")
    assert (paper.start, paper.max_length) == ("roberta-large", 512)
    first = load_verifier_config(ROOT / "configs" / "verifier-simple.yaml")
    second = load_verifier_config(ROOT / "configs" / "verifier.yaml")
    assert (first.start, second.start, second.out) == ("minilm", first.out, "runs/verifier")
    _, _, documented = (ROOT / "docs" / "verifier.md").read_text().partition("\n## Settings\n")
    tables = settings_tables(VerifierConfig, lambda name: None)
    assert documented == tables.replace("\n## ", "\n### ")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("keep: best", "keep"),
        ("best_metric: bleu", "best_metric"),
        ("best_metric: fever/ece", "best_metric"),
        ("max_length: 1000", "max_length"),
        ("out: ..", "out"),
        ("step: 3", "step"),
    ],
)
def test_bad_values_name_file_and_key(tmp_path: Path, text: str, key: str) -> None:
    check_named(load_verifier_config, tmp_path, text, key)
