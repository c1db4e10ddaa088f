"""Fit the temperature of a verifier, so that its probabilities are calibrated.

Run as ``python -m training.calibration --verifier DIR --examples EXAMPLES``. It takes the time of
reading the examples once. The examples, which `training.build_examples` writes, should not be those
that the verifier was trained on. The temperature is written to ``temperature.json`` in the
directory, and used whenever the verifier is opened. Any local Hugging Face pair classifier can be
calibrated.
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
from proofs.verifier.evidence_text import evidence_text
from proofs.verifier.pair_verifier import Verifier
from proofs.verifier.temperature import TEMPERATURE, temperature_json
from training.command_options import limit_option, seed_option
from training.data.examples import Example, draw_examples, read_examples
from training.loop.model_card import markdown_table
from training.verification.example_batches import POSSIBLE
from training.verification.label_measures import measure
from training.verification.temperature_fit import at_temperature, fit_temperature

_SMALLEST = 1e-30  # probabilities that were rounded to 0 have no logarithm
_FILE = click.Path(path_type=Path, exists=True)


@click.command()
@click.option("--verifier", metavar="DIR", type=_FILE, required=True, help="Its directory.")
@click.option("--examples", type=_FILE, required=True, help="Examples to fit it on.")
@click.option("--dev", type=_FILE, help="Examples to measure on; those of --examples by default.")
@limit_option(2000)
@seed_option
def main(verifier: Path, examples: Path, dev: Path | None, limit: int, seed: int) -> None:
    """Calibrate a verifier, and print its expected calibration error before and after."""
    try:
        uncalibrated = _open_uncalibrated(verifier)
        own = _drawn(examples, limit, seed)
        scores = _log_probabilities(uncalibrated, own)
        labels = torch.tensor([POSSIBLE[example.label] for example in own])
        temperature = fit_temperature(scores, labels)
        if dev is not None:
            own = _drawn(dev, limit, seed)
            scores = _log_probabilities(uncalibrated, own)
        rows = _rows(own, scores, at_temperature(scores, temperature))
        write_atomically(verifier / TEMPERATURE, [temperature_json(temperature).encode()])
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error
    names = ("source", "examples", "accuracy", "calibration error before", "after")
    click.echo("\n".join(markdown_table(names, rows)))
    result = f"temperature {temperature:.3f}, fitted on {len(labels):,} examples"
    click.echo(f"{verifier / TEMPERATURE}: {result}", err=True)


def _open_uncalibrated(directory: Path) -> Verifier:
    try:
        files = read_classifier(directory)
    except ValueError as error:
        raise AdmiralError(f"--verifier: {error}") from error
    return Verifier(replace(files, temperature=1.0))


def _drawn(path: Path, limit: int, seed: int) -> list[Example]:
    return draw_examples(list(read_examples([path])), limit, seed)


def _log_probabilities(verifier: Verifier, examples: Sequence[Example]) -> Tensor:
    texts = [evidence_text(example.evidence) for example in examples]
    predicted = verifier.predict([example.claim for example in examples], texts)
    return predicted.labels.clamp(min=_SMALLEST).log()


def _rows(examples: Sequence[Example], before: Tensor, after: Tensor) -> list[tuple[str, ...]]:
    """Return a row of each source, and one of the means over the sources."""
    table = []
    for source in sorted({example.source for example in examples}):
        at = [n for n, example in enumerate(examples) if example.source == source]
        labels = [examples[number].label for number in at]
        old, new = (
            measure(labels, scores[at].double().exp().numpy()) for scores in (before, after)
        )
        table.append((source, len(at), new["accuracy"], old["ece"], new["ece"]))
    means = np.mean([row[2:] for row in table], axis=0)
    return [
        (source, f"{count:,}", *(f"{value:.3f}" for value in values))
        for source, count, *values in [*table, ("mean of the sources", len(examples), *means)]
    ]


if __name__ == "__main__":
    main()
