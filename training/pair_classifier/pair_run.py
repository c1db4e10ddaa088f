"""Open a training run of the verifier: initial weights, pairs and saved state."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from accelerate import Accelerator

from admiral.errors import AdmiralError
from admiral.reranking.minilm_files import minilm_directory
from proofs.verifier.classifier_files import (
    ClassifierFiles,
    new_classifier,
    read_classifier,
    with_relevance_head,
)
from proofs.verifier.pair_input import PairEncoder
from training.loop.model_card import SourceFile
from training.loop.optimisation import build_optimizer
from training.loop.run import Run, check_start, open_state, restore, values_of
from training.loop.run_output import RunOutput
from training.pair_classifier.pair_batches import PairSet, read_pair_set
from training.pair_classifier.pair_model import PairModel
from training.pair_classifier.verifier_settings import MINILM, VerifierConfig

# Settings that decide the order of batches. All parts of a run must agree on them.
_FIXED_SETTINGS = ("seed", "batch_tokens", "max_length")
# Settings that decide which state is best.
_SELECTION_SETTINGS = ("best_metric", "keep", "eval_pairs")


@dataclass(frozen=True, slots=True)
class PairRun(Run):
    """A training run of the verifier.

    Attributes
    ----------
    files
        The classifier that is trained.
    encoder, max_length
        Encoder of the pairs, and its number of tokens.
    train, dev
        Training pairs, and development pairs or None.
    """

    module: PairModel
    files: ClassifierFiles
    encoder: PairEncoder
    max_length: int
    train: PairSet
    dev: PairSet | None

    def describe_data(self) -> str:
        """Return the number of pairs by source."""
        counts = ", ".join(f"{n:,} {name}" for name, n in self.train.source.samples.items())
        return f"pairs: {counts}"


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
    check_start(output, start)
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
    fixed = values_of(config, _FIXED_SETTINGS) | {
        "start": base.sha256,
        "pairs": train.source.sha256,
    }
    selection = values_of(config, _SELECTION_SETTINGS) | {"dev": dev.source.sha256 if dev else None}
    state = open_state(output, overwrite, fixed, selection)
    model = PairModel(
        files,
        relevance_weight=config.relevance_loss_weight,
        label_smoothing=config.label_smoothing,
        dropout=config.dropout,
    )
    model.to(accelerator.device)
    rates = (config.lr, config.head_lr)
    optimizer = build_optimizer(model, model.encoder_parameters(), rates, config.weight_decay)
    restore(output, accelerator, model, optimizer, state)
    return PairRun(
        base=base,
        module=model,
        optimizer=optimizer,
        state=state,
        files=files,
        encoder=encoder,
        max_length=max_length,
        train=train,
        dev=dev,
    )


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
