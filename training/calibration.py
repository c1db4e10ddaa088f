"""Calibrate a verifier: make its probabilities true shares.

Run as ``python -m training calibration --verifier DIR --examples EXAMPLES``. It takes the time of
reading the examples once. The examples, which `training.build_examples` writes, should not be those
that the verifier was trained on, and should leave claims open as often as evidence in use: their
weights count, and ``--open`` sets the share of open ones. For each kind of evidence (sentences
without titles, a sentence with its title, sentences of one document, and sentences of several)
there are two numbers, a temperature and what is added to neutral. They are written into the
directory of the verifier: an exported or a trained one, an exported reader, or any Hugging Face
sequence classifier.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
from scipy.optimize import minimize

from admiral.errors import AdmiralError
from admiral.models.checkpoint import write_sums
from admiral.models.verifiers import open_verifier
from admiral.storage.atomic_files import write_atomically
from proofs.reader.reading import ProofReader
from proofs.verifier import (
    BOUNDS,
    CALIBRATION,
    KINDS,
    LABELS,
    Calibration,
    Reading,
    Scale,
    VerifierError,
    calibration_json,
    kind_of_evidence,
)
from proofs.verifier.classifier_verifier import ClassifierVerifier
from proofs.verifier.evidence_verifier import EvidenceVerifier
from proofs.verifier.exports import SETTINGS_FILE, read_settings
from training.command_options import limit_option, program, seed_option
from training.data.examples import UNLABELLED, Example, draw_examples, read_examples
from training.loop.run_files import markdown_table
from training.verification import POSSIBLE
from training.verification.example_program import measure, named_number

_SMALLEST = 1e-30  # probabilities that were rounded to 0 have no logarithm
_BATCH = 64
_FILE = click.Path(path_type=Path, exists=True)


def labels_at(reading: Reading, scale: Scale) -> np.ndarray:
    """Return the probabilities of `LABELS` that a scale makes of an uncalibrated reading, (3,)."""
    return scale.probabilities(np.log(np.maximum(reading.labels, _SMALLEST)))


def fit_scale(
    readings: Sequence[Reading], examples: Sequence[Example], weights: Sequence[float]
) -> Scale:
    """Return the scale of the highest likelihood, within `BOUNDS`.

    `readings`: uncalibrated ones of the examples. `weights`: how much each example counts.
    """
    bits = np.array([POSSIBLE[example.label] for example in examples])
    possible = bits[:, None] >> np.arange(len(LABELS)) & 1

    def loss(point: np.ndarray) -> float:
        scale = Scale(float(np.exp(point[0])), float(point[1]))
        shares = np.array([labels_at(reading, scale) for reading in readings])
        chances = np.maximum((shares * possible).sum(1), _SMALLEST)
        return float(np.average(-np.log(chances), weights=weights))

    bounds = [np.log(BOUNDS["temperature"]), BOUNDS["neutral"]]
    found = minimize(loss, [0.0, 0.0], bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-12})
    temperature = np.clip(np.exp(found.x[0]), *BOUNDS["temperature"])  # which exp may exceed
    return Scale(float(temperature), float(found.x[1]))


@program
@click.option("--verifier", metavar="DIR", type=_FILE, required=True, help="Its directory.")
@click.option(
    "--examples", type=_FILE, multiple=True, required=True, help="Examples to fit on; repeatable."
)
@click.option(
    "--open",
    "shares",
    metavar="[KIND=]SHARE",
    multiple=True,
    help="Count the sources alike, with this share of open claims in each; for a kind of evidence "
    f"({', '.join(KINDS)}) or for all. Repeatable. By default the weights of the examples count.",
)
@limit_option(2000)
@seed_option
def main(
    verifier: Path, examples: tuple[Path, ...], shares: tuple[str, ...], limit: int, seed: int
) -> None:
    """Calibrate a verifier, and print its expected calibration error before and after."""
    share_of = _parse_shares(shares)
    try:
        reader = open_verifier(verifier)
    except VerifierError as error:
        raise AdmiralError(f"--verifier: {error}") from error
    if not isinstance(reader, EvidenceVerifier | ClassifierVerifier | ProofReader):
        raise AdmiralError(f"--verifier: {verifier}: has no calibration; give another verifier")
    labelled = [one for one in read_examples(examples) if one.label != UNLABELLED]
    if not labelled:
        raise AdmiralError(f"{', '.join(map(str, examples))}: no example has a label of the whole")
    drawn = draw_examples(labelled, limit, seed)
    claims, evidence = [e.claim for e in drawn], [e.evidence for e in drawn]
    reader.calibration = Calibration()  # so that a second fit finds the same
    readings = [
        reading
        for at in range(0, len(drawn), _BATCH)
        for reading in reader.read(claims[at : at + _BATCH], evidence[at : at + _BATCH])
    ]
    kinds = np.array([kind_of_evidence(example.evidence) for example in drawn])
    fitted = Calibration()
    for kind in KINDS:  # without examples, the scale stays neutral
        if at := np.flatnonzero(kinds == kind).tolist():
            own = [drawn[number] for number in at]
            share = share_of.get(kind)
            weights = [e.weight for e in own] if share is None else _weights(own, share)
            scale = fit_scale([readings[number] for number in at], own, weights)
            fitted = replace(fitted, **{kind: scale})
    settings = verifier / SETTINGS_FILE
    if settings.is_file():
        changed = replace(read_settings(settings, "export_verifier"), calibration=fitted)
        write_atomically(settings, [changed.to_json().encode()])
        write_sums(verifier)
    else:
        write_atomically(verifier / CALIBRATION, [calibration_json(fitted).encode()])
    names = ("source", "examples", "accuracy", "calibration error before", "after")
    before = np.array([reading.labels for reading in readings])
    scales = [fitted.of(example.evidence) for example in drawn]
    after = np.array([labels_at(r, s) for r, s in zip(readings, scales, strict=True)])
    rows = _rows(drawn, before, after)
    click.echo("\n".join(markdown_table(names, rows)))
    click.echo(f"{verifier}: calibrated", err=True)


def _parse_shares(texts: Sequence[str]) -> dict[str, float]:
    """Return the share of open claims of each kind of evidence that ``--open`` gives one for."""
    shares: dict[str, float] = {}
    for text in sorted(texts, key=lambda text: "=" in text):  # that of a kind replaces that of all
        kind, share = named_number(text)
        if not 0 < share < 1 or (kind and kind not in KINDS):
            raise AdmiralError(
                f"--open {text}: is not a share between 0 and 1, such as 0.1, or one of a kind of "
                f"evidence, such as {KINDS[0]}=0.3; the kinds are {', '.join(KINDS)}"
            )
        shares |= {kind: share} if kind else dict.fromkeys(KINDS, share)
    return shares


def _weights(examples: Sequence[Example], share: float) -> list[float]:
    """Return weights at which each source has the same sum, a share of it open claims."""
    cells = [(example.source, example.label == "neutral") for example in examples]
    count = Counter(cells)
    return [(share if is_open else 1 - share) / count[source, is_open] for source, is_open in cells]


def _rows(
    examples: Sequence[Example], before: np.ndarray, after: np.ndarray
) -> list[tuple[str, ...]]:
    """Return a row of each source, and one of the means over the sources."""
    sources = np.array([example.source for example in examples])
    table = []
    for source in np.unique(sources):
        at = np.flatnonzero(sources == source).tolist()
        labels = [examples[number].label for number in at]
        old, new = (measure(labels, chances[at]) for chances in (before, after))
        table.append((str(source), len(at), new["accuracy"], old["ece"], new["ece"]))
    means = np.mean([row[2:] for row in table], axis=0)
    return [
        (source, f"{count:,}", *(f"{value:.3f}" for value in values))
        for source, count, *values in [*table, ("mean of the sources", len(examples), *means)]
    ]
