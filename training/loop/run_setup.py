"""Open a training run: its initial checkpoint, its samples and its saved state."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from accelerate import Accelerator

from admiral.errors import AdmiralError
from training.data.sample_encoding import RerankingExample
from training.loop.initial_checkpoint import InitialCheckpoint, open_initial_checkpoint
from training.loop.model_card import SourceFile
from training.loop.multitask_model import MultiTaskModel
from training.loop.optimisation import build_optimizer
from training.loop.run import Run, check_start, open_state, restore, values_of
from training.loop.run_config import TrainConfig
from training.loop.run_output import RunOutput
from training.loop.training_set import TrainingSet, read_training_set, subsample

# Settings that decide the order of batches. All parts of a run must agree on them.
_FIXED_SETTINGS = (
    *("hops", "target", "seed", "batch_tokens", "rerank_tokens", "max_source", "max_target"),
    "markers",
)
# Settings that decide which state is best.
_SELECTION_SETTINGS = ("best_metric", "keep", "kb", "eval_samples", "eval_beams", "proof_beams")


@dataclass(frozen=True, slots=True)
class MultiTaskRun(Run):
    """A training run of a multi-task model.

    Attributes
    ----------
    tasks
        Tasks of the checkpoint.
    start
        The initial checkpoint, whose model is trained.
    train, dev
        Training samples, and development samples or None.
    """

    module: MultiTaskModel
    tasks: tuple[str, ...]
    start: InitialCheckpoint
    train: TrainingSet
    dev: TrainingSet | None

    def describe_data(self) -> str:
        """Return the number of samples by task."""
        counts = ", ".join(f"{n} {task}" for task, n in self.train.source.samples.items())
        skipped = ""
        if self.train.left_out:
            skipped = f" ({self.train.left_out} left out: too long, or nothing to rank)"
        return f"{counts} samples{skipped}"


def open_run(
    config: TrainConfig,
    tasks: tuple[str, ...],
    accelerator: Accelerator,
    output: RunOutput,
    overwrite: bool,
) -> MultiTaskRun:
    """Open a new run, or resume the saved one.

    Raises
    ------
    AdmiralError
        For bad input, or if the saved run was started with other settings or files.
    """
    output.check(overwrite)
    start = open_initial_checkpoint(config, tasks)
    check_start(output, start.path)
    train = read_training_set("train", config.samples, config, tasks, start.tokens)
    dev = None
    if config.dev:
        dev = read_training_set("evaluate", config.dev, config, tasks, start.tokens)
        dev = subsample(dev, config.eval_samples, config.seed)
    base = SourceFile.of("start from", start.path / "model.safetensors")
    fixed = values_of(config, _FIXED_SETTINGS) | {
        "tasks": ", ".join(tasks),
        "start": base.sha256,
        "samples": train.source.sha256,
    }
    selection = values_of(config, _SELECTION_SETTINGS) | {"dev": dev.source.sha256 if dev else None}
    state = open_state(output, overwrite, fixed, selection)
    multitask = MultiTaskModel(
        start.model, start.head, config.attention_loss_weight, config.label_smoothing
    )
    multitask.to(accelerator.device)
    if not config.encoder_lr:
        _freeze_encoder(multitask, train, Path(config.samples))
    rates = (config.encoder_lr, config.decoder_lr)
    optimizer = build_optimizer(
        multitask, multitask.encoder_parameters(), rates, config.weight_decay
    )
    restore(output, accelerator, multitask, optimizer, state)
    return MultiTaskRun(
        base=base,
        module=multitask,
        optimizer=optimizer,
        state=state,
        tasks=tasks,
        start=start,
        train=train,
        dev=dev,
    )


def _freeze_encoder(model: MultiTaskModel, train: TrainingSet, path: Path) -> None:
    """Exclude the encoder, the embeddings and the head from training, and from its cost."""
    if any(isinstance(item, RerankingExample) for item in train.items):
        raise AdmiralError(
            f"{path}: holds reranking samples, of which nothing can be learnt with encoder_lr=0. "
            "Leave them out, or raise encoder_lr."
        )
    for parameter in model.encoder_parameters():
        parameter.requires_grad_(False)
