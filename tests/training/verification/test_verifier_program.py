"""Training a tiny verifier: it learns, and keeps the best state."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from proofs.verifier import LABELS
from proofs.verifier.classifier_verifier import HEADS, pad_inputs, read_model
from proofs.verifier.evidence_verifier import EvidenceEncoder
from tests.proofs.verifier.tiny_classifier import write_classifier_directory
from tests.training.tiny import (
    SHORT_RUN,
    check_named,
    elsewhere,
    lines,
    page_of_settings,
    same_weights,
    to_yaml,
)
from training.__main__ import main
from training.data.examples import Example
from training.data.records import write_records
from training.loop.training_loop import run_training
from training.verification.example_program import calibration_error, measure
from training.verification.verifier_program import VerifierConfig, VerifierProgram


def train(config):
    run_training(config, partial(VerifierProgram, config))


ROOT = Path(__file__).parents[3]
CITIES = ("Rome", "Paris", "Oslo", "Bern")


def some_examples():
    examples = []
    for name in CITIES:
        claim = f"{name} is a city."
        town, no, other = (
            (name, f"{name} {w}.") for w in ("is a city", "is not a city", "was never")
        )
        spans = ((0, len(name), "entailment"), (len(name), len(claim), "contradiction"))
        examples += [
            Example(
                claim, (town, other), "entailment", "cities", ("entailment", "neutral"), (), name
            ),
            Example(
                claim, (no,), "contradiction", "cities", ("contradiction",), spans, name, weight=2.0
            ),
            Example(claim, (other,), "neutral", "rivers", ("neutral",)),
            Example(other[1], (("", "12 towns"),), "not_entailment", "rivers"),
            Example(other[1], (other,), "entailment", "rivers", weight=0.5),
        ]
    return examples


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verifier")
    write_classifier_directory(folder / "start", labels=())
    write_records(folder / "examples.jsonl", some_examples())
    return VerifierConfig(
        start=str(folder / "start"),
        examples=str(folder / "examples.jsonl"),
        dev=str(folder / "examples.jsonl"),
        out=str(folder / "out"),
        batch_tokens=96,
        max_length=48,
        lr=1e-2,
        head_lr=1e-2,
        **SHORT_RUN,
    )


def accuracy(config, examples):
    """Return the share of examples whose label the exported verifier finds."""
    model, tokenizer = read_model(Path(config.out))
    encoder = EvidenceEncoder.of(tokenizer, config.max_length)
    inputs = encoder.encode([e.claim for e in examples], [e.evidence for e in examples])
    with torch.no_grad():
        ids, segments = [i.ids for i in inputs], [i.segments for i in inputs]
        logits, _, _ = model(*pad_inputs(ids, segments, encoder.special.pad))
    predicted = [LABELS[int(row.argmax())] for row in logits]
    return sum(p == e.label for p, e in zip(predicted, examples, strict=True)) / len(examples)


def test_it_learns_and_the_best_state_is_the_verifier(settings):
    config = elsewhere(settings, "learns").changed(
        steps=150, eval_every=25, keep="best", save_every=1000
    )
    train(config)
    losses = [line["verifier"] for line in lines(config) if "verifier" in line]
    assert losses[-1] < 0.5 * losses[0]
    evaluated = [line for line in lines(config) if "dev/score" in line]
    assert [line["step"] for line in evaluated] == [25, 50, 75, 100, 125, 150]
    best = max(evaluated, key=lambda line: (line["dev/score"], -line["step"]))
    for name in ("pairs", "sentences", "tokens"):
        assert best[f"dev/cities/{name}"] > 0.5
    card = (Path(config.out) / "README.md").read_text()
    assert f"After {best['step']} steps" in card
    assert "| cities | 4 contradiction, 4 entailment | 12 |" in card
    assert "Non-commercial sources: none." in card
    assert str(Path(config.out).parent) not in card
    examples = [example for example in some_examples() if example.source == "cities"]
    assert accuracy(config, examples) == pytest.approx(best["dev/cities/accuracy"])


def test_the_command_continues_from_a_verifier(settings):
    first = elsewhere(settings, "first").changed(steps=2, dev="")
    train(first)
    second = elsewhere(first, "second").changed(start=first.out, lr=0.0, head_lr=0.0)
    path = to_yaml(second, Path(second.out).with_suffix(".yaml"))
    done = CliRunner().invoke(main, ["verifier", "--config", str(path), "--set", "steps=1"])
    assert done.exit_code == 0, done.output
    assert "cities" in done.output
    assert (Path(second.out) / HEADS).is_file()
    assert same_weights(first, second)  # the heads were read too
    failed = CliRunner().invoke(main, ["verifier", "--config", str(path), "--set", "start=nowhere"])
    assert failed.exit_code == 1
    assert "nowhere" in failed.output


def test_the_shipped_settings_are_valid_and_documented():
    """To update the page, paste the expected text."""
    own = VerifierConfig.read(ROOT / "configs" / "verifier.yaml")
    assert (own.start, own.out, own.max_length) == ("runs/bge-small", "runs/verifier", 384)
    _, _, documented = (ROOT / "docs" / "verifier.md").read_text().partition("\n## Settings\n")
    assert documented == page_of_settings(VerifierConfig)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("best_metric: bleu", "best_metric"),
        ("best_metric: fever/ece", "best_metric"),
        ("max_length: 1000", "max_length"),
    ],
)
def test_bad_values_name_file_and_key(tmp_path, text, key):
    check_named(VerifierConfig.read, tmp_path, text, key)


def test_calibration_error():
    confidence, correct = np.array([0.8, 0.8, 1.0]), np.array([True, False, True])
    assert calibration_error(confidence, correct) == pytest.approx((1.6 - 1) / 3)


def test_pairs_that_are_only_known_not_to_be_entailed_are_measured_with_two_classes():
    rows = np.array([[0.6, 0.2, 0.2], [0.4, 0.3, 0.3], [0.45, 0.15, 0.4]])
    values = measure(["entailment", "not_entailment", "contradiction"], rows)
    assert values["accuracy"] == values["macro_f1"] == values["auc"] == 1
    assert "auc" not in measure(["neutral"], rows[:1])
