"""Open a training run of the verifier: initial weights, pairs and saved state."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from accelerate import Accelerator

from admiral.errors import AdmiralError
from admiral.reranking.similarity import minilm_directory
from proofs.verifier.classifier_files import (
    ClassifierFiles,
    new_classifier,
    read_classifier,
    with_relevance_head,
)
from proofs.verifier.pair_input import PairEncoder
from training.loop.model_card import SourceFile
from training.loop.run_output import RunOutput
from training.loop.run_setup import check_unchanged, describe_devices
from training.loop.run_state import TrainingState, load_tensors, read_state
from training.pair_classifier.pair_batches import PairSet, read_pair_set
from training.pair_classifier.pair_model import PairModel
from training.pair_classifier.verifier_settings import MINILM, VerifierConfig

# Settings that decide the order of batches. All parts of a run must agree on them.
_FIXED_SETTINGS = ("seed", "batch_tokens", "max_length")
# Settings that decide which state is best.
_SELECTION_SETTINGS = ("best_metric", "keep", "eval_pairs")


@dataclass(frozen=True, slots=True)
class PairRun:
    """Everything a training run of the verifier consists of.

    Attributes
    ----------
    files, model
        The classifier that is trained, and the module with its loss.
    encoder, max_length
        Encoder of the pairs, and its number of tokens.
    base
        File of the initial weights.
    train, dev
        Training pairs, and development pairs or None.
    optimizer
        The optimiser.
    state
        Progress of the run, updated in place.
    """

    files: ClassifierFiles
    model: PairModel
    encoder: PairEncoder
    max_length: int
    base: SourceFile
    train: PairSet
    dev: PairSet | None
    optimizer: torch.optim.AdamW
    state: TrainingState

    def describe(self, accelerator: Accelerator) -> str:
        """Return a one-line summary of the run."""
        counts = ", ".join(f"{n:,} {name}" for name, n in self.train.source.samples.items())
        resumed = f"; continuing after step {self.state.step}" if self.state.step else ""
        return f"pairs: {counts}; {describe_devices(accelerator)}{resumed}"


def open_pair_run(
    config: VerifierConfig, accelerator: Accelerator, output: RunOutput, overwrite: bool
) -> PairRun:
    """Open a new run, or resume the saved one.

    Raises
    ------
    AdmiralError
        For bad input, or if the saved run was started with other settings or files.
    """
    output.check(overwrite)
    start = minilm_directory() if config.start == MINILM else Path(config.start)
    if output.checkpoint.resolve() == start.resolve():
        raise AdmiralError(
            f"{output.checkpoint}: is also `start`, which the run needs to resume. Choose "
            "another `out`."
        )
    try:
        files = open_start(start, config.seed)
    except ValueError as error:
        raise AdmiralError(str(error)) from error
    if accelerator.device.type == "cpu":
        files.model.set_attn_implementation("eager")  # its backward pass is faster there
    max_length = min(config.max_length, files.max_length)
    encoder = PairEncoder(files.core_tokenizer, max_length, files.tokenizer.pad_token_id)
    train = read_pair_set("train", Path(config.pairs), encoder)
    dev = None
    if config.dev:
        dev = read_pair_set("evaluate", Path(config.dev), encoder, config.eval_pairs, config.seed)
    base = SourceFile.of("start from", start / "model.safetensors")
    fixed = {key: getattr(config, key) for key in _FIXED_SETTINGS} | {
        "start": base.sha256,
        "pairs": train.source.sha256,
    }
    state = (None if overwrite else read_state(output.state)) or TrainingState(run=fixed)
    check_unchanged(output, state.run, fixed)
    selection = {key: getattr(config, key) for key in _SELECTION_SETTINGS} | {
        "dev": dev.source.sha256 if dev else None
    }
    if state.selection != selection or not output.checkpoint.exists():
        state.best, state.selection = None, selection
    if accelerator.device.type == "cuda" and config.precision != "fp32":
        torch.set_float32_matmul_precision("high")  # for products that autocast leaves in fp32
    model = PairModel(
        files,
        relevance_weight=config.relevance_loss_weight,
        label_smoothing=config.label_smoothing,
        dropout=config.dropout,
    )
    model.to(accelerator.device).train()
    optimizer = build_pair_optimizer(model, config)
    if state.step:
        load_tensors(output.state, model, optimizer)
        if accelerator.scaler is not None and state.scaler:
            accelerator.scaler.load_state_dict(state.scaler)
    return PairRun(files, model, encoder, max_length, base, train, dev, optimizer, state)


def open_start(directory: Path, seed: int) -> ClassifierFiles:
    """Open the classifier to start from; an encoder gets new heads.

    Raises
    ------
    ValueError
        If the directory cannot be read.
    """
    try:
        kinds = json.loads((directory / "config.json").read_text("utf-8")).get("architectures")
    except (OSError, ValueError, AttributeError) as error:
        raise ValueError(
            f"{directory}: is not a directory of a model ({error}); give an encoder or a pair "
            "classifier in the Hugging Face format, with safetensors"
        ) from error
    is_classifier = any("SequenceClassification" in kind for kind in kinds or ())
    files = read_classifier(directory) if is_classifier else new_classifier(directory, seed)
    return with_relevance_head(files)


def build_pair_optimizer(model: PairModel, config: VerifierConfig) -> torch.optim.AdamW:
    """Return AdamW with separate learning rates for the encoder and the heads."""
    base = getattr(model.classifier, model.classifier.base_model_prefix)
    encoder = list(base.parameters())
    in_encoder = set(encoder)
    heads = [p for p in model.parameters() if p not in in_encoder]
    return torch.optim.AdamW(
        [{"params": encoder, "lr": config.lr}, {"params": heads, "lr": config.head_lr}],
        weight_decay=config.weight_decay,
        fused=True,
    )
