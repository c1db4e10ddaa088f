"""The model card of a verifier: use, training pairs by source, scores and settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from huggingface_hub import ModelCardData

import admiral
from training.data.inference_pairs import NON_COMMERCIAL
from training.loop.model_card import SourceFile, markdown_table, render_card
from training.loop.run_state import TrainingState
from training.pair_classifier.pair_batches import PairSet
from training.pair_classifier.verifier_settings import VerifierConfig

# Local paths, and settings that do not change the weights.
_OMITTED = {"out", "device", "tracker", "log_every", "save_every", "start", "pairs", "dev"}


def verifier_card(
    config: VerifierConfig,
    base: SourceFile,
    train: PairSet,
    dev: PairSet | None,
    state: TrainingState,
    devices: str,
) -> str:
    """Return the model card as Markdown with a YAML header.

    Parameters
    ----------
    config
        The settings.
    base
        The file of the initial weights.
    train, dev
        Training pairs, and development pairs or None.
    state
        Progress of the run and metrics of the verifier.
    devices
        Number and kind of devices.
    """
    data = ModelCardData(
        library_name="transformers",
        pipeline_tag="text-classification",
        tags=["fact-verification", "natural-language-inference"],
    )
    settings = {k: v for k, v in asdict(config).items() if k not in _OMITTED}
    files = [base, train.source, *([dev.source] if dev else [])]
    used = sorted(NON_COMMERCIAL & {pair.source for pair in train.pairs})
    introduction = [
        f"A verifier for AdMIRaL {admiral.__version__}, started from {Path(config.start).name}: a "
        "pair classifier that reads evidence and a claim, and estimates how likely the evidence "
        "entails the claim, contradicts it, or does neither. `relevance_head.safetensors` scores "
        "whether the evidence bears on the claim.",
    ]
    trained_on = [
        *markdown_table(("source", "pairs by label", "pairs in an epoch"), _sources(train)),
        "",
        f"Non-commercial sources: {', '.join(used) or 'none'}.",
        "",
        *markdown_table(
            ("file", "for", "pairs", "sha256"),
            [(f.name, f.role, f"{sum(f.samples.values()):,}", f.sha256) for f in files],
        ),
    ]
    evaluated_on = f"on at most {config.eval_pairs} development pairs of each source"
    return render_card(
        data, config, state, devices, introduction, trained_on, evaluated_on, settings
    )


def _sources(train: PairSet) -> Sequence[tuple[str, str, str]]:
    rows = []
    for source in train.source.samples:
        pairs = [pair for pair in train.pairs if pair.source == source]
        labels = [pair.label for pair in pairs]
        counts = ", ".join(f"{labels.count(name):,} {name}" for name in sorted(set(labels)))
        rows.append((source, counts, f"{sum(pair.weight for pair in pairs):,.0f}"))
    return rows
