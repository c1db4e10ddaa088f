"""A training run of the verifier: its start, its loop, its checkpoints and their model card."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from huggingface_hub import ModelCardData

import admiral
from admiral.errors import AdmiralError
from admiral.scheduling.memory import is_out_of_memory
from proofs.verifier.evidence_input import EvidenceEncoder
from proofs.verifier.evidence_model import (
    HEADS,
    new_model,
    read_model,
    write_model,
)
from training.data.examples import summary_by_source
from training.data.inference_examples import NON_COMMERCIAL
from training.loop.batch_splitting import seed_passes
from training.loop.checkpoint_selection import CheckpointSelector
from training.loop.model_card import SourceFile, markdown_table, render_card
from training.loop.optimisation import build_optimizer
from training.loop.run import Run, check_start, open_state, restore, values_of
from training.loop.run_output import RunOutput
from training.loop.trainer import Trainer, run_training
from training.verification.example_batches import ExampleSet, batches_of, collate, read_example_set
from training.verification.verifier_evaluation import ExampleEvaluator
from training.verification.verifier_loss import VerifierLoss
from training.verification.verifier_settings import VerifierConfig, paths_of, weights_of

# Settings that decide the order of batches. All parts of a run must agree on them.
_FIXED_SETTINGS = ("seed", "batch_tokens", "max_length", "weights")
# Settings that decide which state is best.
_SELECTION_SETTINGS = ("best_metric", "keep", "eval_examples")
# Local paths, and settings that do not change the weights.
_OMITTED = {"out", "device", "tracker", "log_every", "save_every", "start", "examples", "dev"}


@dataclass(frozen=True, slots=True)
class VerifierRun(Run):
    """A training run of the verifier.

    Attributes
    ----------
    tokenizer, encoder
        Tokenizer of the model, and encoder of the examples.
    train, dev
        Training examples, and development examples or None.
    """

    module: VerifierLoss
    tokenizer: Any
    encoder: EvidenceEncoder
    train: ExampleSet
    dev: ExampleSet | None

    def describe_data(self) -> str:
        """Return the number of examples by source."""
        counts = [(n, name) for file in self.train.files for name, n in file.samples.items()]
        return "examples: " + ", ".join(f"{n:,} {name}" for n, name in counts)


def train_verifier(config: VerifierConfig, *, overwrite: bool = False) -> None:
    """Train a verifier, continuing from the saved state of the same run if there is one.

    Parameters
    ----------
    config
        Validated settings (see `load_verifier_config`).
    overwrite
        Start a new run and replace the one in `out`.

    Raises
    ------
    AdmiralError
        In the same cases as `run_training`.
    """

    def open_trainer(accelerator: Accelerator, output: RunOutput, _: ExitStack) -> VerifierTrainer:
        run = open_run(config, accelerator, output, overwrite)
        selector = VerifierSelector(config, accelerator, output, run)
        return VerifierTrainer(config, accelerator, output, run, selector)

    run_training(config, open_trainer)


def open_run(
    config: VerifierConfig, accelerator: Accelerator, output: RunOutput, overwrite: bool
) -> VerifierRun:
    """Open a new run, or resume the saved one.

    Raises
    ------
    AdmiralError
        For bad input, or if the saved run was started with other settings or files.
    """
    output.check(overwrite)
    start = Path(config.start)
    check_start(output, start)
    if not (start / "config.json").is_file():
        raise AdmiralError(
            f"start: {start}: there is no model; import one with training.import_onnx, or give the "
            "directory of an encoder or a verifier"
        )
    try:
        is_verifier = (start / HEADS).is_file()
        model, tokenizer = read_model(start) if is_verifier else new_model(start, config.seed)
        if accelerator.device.type == "cpu":
            # Its backward pass is faster there.
            model.classifier.set_attn_implementation("eager")
        encoder = EvidenceEncoder.of(tokenizer, config.max_length)
    except ValueError as error:
        raise AdmiralError(str(error)) from error
    weights = weights_of(config.weights)
    train = read_example_set("train", paths_of(config.examples), encoder, weights=weights)
    dev = None
    if config.dev:
        dev = read_example_set(
            "evaluate", paths_of(config.dev), encoder, config.eval_examples, config.seed
        )
    base = SourceFile.of("start from", start / "model.safetensors")
    fixed = values_of(config, _FIXED_SETTINGS) | {
        "start": base.sha256,
        "examples": [file.sha256 for file in train.files],
    }
    selection = values_of(config, _SELECTION_SETTINGS)
    selection["dev"] = [file.sha256 for file in dev.files] if dev else None
    state = open_state(output, overwrite, fixed, selection)
    module = VerifierLoss(model, config.dropout, config.seed)
    module.to(accelerator.device)
    rates = (config.lr, config.head_lr)
    optimizer = build_optimizer(module, model.encoder_parameters(), rates, config.weight_decay)
    restore(output, accelerator, module, optimizer, state)
    return VerifierRun(
        base=base,
        module=module,
        optimizer=optimizer,
        state=state,
        tokenizer=tokenizer,
        encoder=encoder,
        train=train,
        dev=dev,
    )


class VerifierTrainer(Trainer):
    """Train a verifier on examples."""

    product = "verifier"
    loss_kinds = ("verifier",)
    reported_group = 0  # of the encoder

    def __init__(
        self,
        config: VerifierConfig,
        accelerator: Accelerator,
        output: RunOutput,
        run: VerifierRun,
        selector: CheckpointSelector,
    ) -> None:
        super().__init__(config, accelerator, output, run, selector)
        self._encoder = run.encoder
        # The batches of this process with their positions in the common stream.
        stream = batches_of(run.train, config.batch_tokens, config.seed)
        begin = run.state.position + accelerator.process_index
        self._batches = islice(enumerate(stream), begin, None, accelerator.num_processes)

    def accumulate_gradients(self) -> None:
        """Run the passes of a step."""
        settings = self._settings
        for position, items in islice(self._batches, settings.gradient_accumulation_steps):
            seed_passes(settings.seed, position)
            batch = collate(items, self._encoder)
            try:
                loss = self._pass(batch, self._accelerator.device)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                raise AdmiralError(
                    f"memory ran out with a batch of {batch.ids.numel():,} tokens. Lower "
                    "batch_tokens and raise gradient_accumulation_steps, in a new `out`."
                ) from error
            self._meter.add("verifier", loss)


class VerifierSelector(CheckpointSelector):
    """Evaluate a run and export its verifier."""

    def __init__(
        self, config: VerifierConfig, accelerator: Accelerator, output: RunOutput, run: VerifierRun
    ) -> None:
        super().__init__(config, accelerator, output, run)
        self._config, self._run = config, run
        self._evaluator: ExampleEvaluator | None = None
        if run.dev is not None:
            tokens = config.batch_tokens
            self._evaluator = ExampleEvaluator(run.dev, run.encoder, tokens, accelerator)
            source = config.best_metric.partition("/")[0]
            if "/" in config.best_metric and source not in self._evaluator.sources:
                raise AdmiralError(
                    f"{config.dev}: holds no examples for {config.best_metric!r}; its sources are "
                    f"{', '.join(self._evaluator.sources)}"
                )

    def measure(self) -> dict[str, float]:
        """Return the metrics of the current weights on the development examples."""
        assert self._evaluator is not None
        values = self._evaluator.metrics(self._run.module)
        if self._config.best_metric not in values:
            raise AdmiralError(
                f"{self._config.dev}: {self._config.best_metric!r} cannot be measured there"
            )
        return values

    def card(self, devices: str) -> str:
        """Return the model card."""
        return verifier_card(self._config, self._run, devices)

    def write(self, folder: Path, dtype: torch.dtype) -> None:
        """Write the verifier."""
        run, length = self._run, self._config.max_length
        write_model(folder, run.module.model, run.tokenizer, dtype, length)


def verifier_card(config: VerifierConfig, run: VerifierRun, devices: str) -> str:
    """Return the model card of a verifier: its use, examples by source, scores and settings."""
    data = ModelCardData(
        library_name="transformers",
        pipeline_tag="text-classification",
        tags=["fact-verification", "natural-language-inference"],
    )
    settings = {k: v for k, v in asdict(config).items() if k not in _OMITTED}
    files = [run.base, *run.train.files, *(run.dev.files if run.dev else [])]
    used = sorted(NON_COMMERCIAL & {example.source for example in run.train.examples})
    introduction = [
        f"A verifier for AdMIRaL {admiral.__version__}, started from {Path(config.start).name}: it "
        "reads a claim with up to six titled sentences of evidence, and estimates how likely the "
        "evidence entails the claim, contradicts it, or does neither. "
        f"`{HEADS}` holds two more heads, which say the same of each sentence and of each token of "
        "the claim.",
    ]
    trained_on = [
        *markdown_table(
            ("source", "examples by label", "in an epoch"), summary_by_source(run.train.examples)
        ),
        "",
        f"Non-commercial sources: {', '.join(used) or 'none'}.",
        "",
        *markdown_table(
            ("file", "for", "examples", "sha256"),
            [(f.name, f.role, f"{sum(f.samples.values()):,}", f.sha256) for f in files],
        ),
    ]
    evaluated_on = f"on about {config.eval_examples} development examples of each source"
    return render_card(
        data, config, run.state, devices, introduction, trained_on, evaluated_on, settings
    )
