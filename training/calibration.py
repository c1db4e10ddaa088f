"""Fit the temperature of a verifier, so that its probabilities are calibrated.

Run as ``python -m training.calibration --verifier DIR --pairs PAIRS``. It takes the time of reading
the pairs once. The pairs, which `training.build_pairs` writes, should not be those that the
verifier was trained on. The temperature is written to ``temperature.json`` in the directory, and
used whenever the verifier is opened. Any local Hugging Face pair classifier can be calibrated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import torch
from torch import Tensor

from admiral.errors import AdmiralError
from admiral.storage.atomic_files import write_atomically
from proofs.verifier.classifier_files import read_classifier
from proofs.verifier.pair_verifier import Verifier
from proofs.verifier.temperature import TEMPERATURE, temperature_json
from training.command_options import limit_option, seed_option
from training.data.verification_pairs import PAIR_LABELS, Pair, read_pairs
from training.loop.model_card import markdown_table
from training.pair_classifier.pair_batches import draw_pairs
from training.pair_classifier.pair_measures import measure
from training.pair_classifier.temperature_fit import at_temperature, fit_temperature

_SMALLEST = 1e-30  # probabilities that were rounded to 0 have no logarithm
_FILE = click.Path(path_type=Path, exists=True)


@click.command()
@click.option("--verifier", metavar="DIR", type=_FILE, required=True, help="Its directory.")
@click.option("--pairs", type=_FILE, required=True, help="Pairs to fit the temperature on.")
@click.option("--dev", type=_FILE, help="Pairs to measure on; those of --pairs by default.")
@limit_option(2000)
@seed_option
def main(verifier: Path, pairs: Path, dev: Path | None, limit: int, seed: int) -> None:
    """Calibrate a verifier, and print its expected calibration error before and after."""
    try:
        uncalibrated = _open_uncalibrated(verifier)
        own = _drawn(pairs, limit, seed)
        scores = _log_probabilities(uncalibrated, own)
        labels = torch.tensor([PAIR_LABELS.index(pair.label) for pair in own])
        temperature = fit_temperature(scores, labels)
        if dev is not None:
            own = _drawn(dev, limit, seed)
            scores = _log_probabilities(uncalibrated, own)
        rows = _rows(own, scores, at_temperature(scores, temperature))
        write_atomically(verifier / TEMPERATURE, [temperature_json(temperature).encode()])
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error
    names = ("source", "pairs", "accuracy", "calibration error before", "after")
    click.echo("\n".join(markdown_table(names, rows)))
    click.echo(
        f"{verifier / TEMPERATURE}: temperature {temperature:.3f}, fitted on {len(labels):,} pairs",
        err=True,
    )


def _open_uncalibrated(directory: Path) -> Verifier:
    try:
        files = read_classifier(directory)
    except ValueError as error:
        raise AdmiralError(f"--verifier: {error}") from error
    return Verifier(replace(files, temperature=1.0))


def _drawn(path: Path, limit: int, seed: int) -> list[Pair]:
    pairs = draw_pairs(list(read_pairs(path)), limit, seed)
    if not pairs:
        raise AdmiralError(f"{path}: holds no pairs. Build them with training.build_pairs.")
    return pairs


def _log_probabilities(verifier: Verifier, pairs: Sequence[Pair]) -> Tensor:
    predicted = verifier.predict([p.claim for p in pairs], [p.evidence for p in pairs])
    return predicted.labels.clamp(min=_SMALLEST).log()


def _rows(pairs: Sequence[Pair], before: Tensor, after: Tensor) -> list[tuple[str, ...]]:
    """Return a row of each source, and one of the means over the sources."""
    table = []
    for source in sorted({pair.source for pair in pairs}):
        at = [number for number, pair in enumerate(pairs) if pair.source == source]
        labels = [pairs[number].label for number in at]
        old, new = (
            measure(labels, scores[at].double().exp().numpy()) for scores in (before, after)
        )
        table.append((source, len(at), new["accuracy"], old["ece"], new["ece"]))
    means = np.mean([row[2:] for row in table], axis=0)
    return [
        (source, f"{count:,}", *(f"{value:.3f}" for value in values))
        for source, count, *values in [*table, ("mean of the sources", len(pairs), *means)]
    ]


if __name__ == "__main__":
    main()
