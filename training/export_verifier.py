"""Export a trained verifier for use without torch: ONNX with weights of 8 bits.

Run as ``python -m training.export_verifier runs/verifier OUT``. The weights of linear layers are
quantised by output channel, activations while the model runs. The written model is compared with
the trained one. `proofs.verifier.evidence_verifier` reads the directory.

Of several verifiers that were trained from the same encoder, the mean of the weights is exported:
``python -m training.export_verifier runs/first runs/second OUT --weights 2,1``. It errs less on
claims unlike those of the training than each of them.
"""

from __future__ import annotations

import math
import re
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np
import torch

from admiral.errors import AdmiralError
from admiral.models.checkpoint import SUMS, write_sums
from admiral.requirements import check_extra
from admiral.storage.atomic_files import as_os_errors, staging
from proofs.verifier import read_calibration
from proofs.verifier.classifier_verifier import EvidenceModel, TorchBackend, read_model
from proofs.verifier.evidence_verifier import (
    INPUTS,
    ONNX_FILE,
    OUTPUTS,
    SETTINGS_FILE,
    TOKENIZER_FILE,
    EvidenceEncoder,
    EvidenceVerifier,
    open_export,
    settings_json,
)

_CARD = "README.md"
_FILES = {ONNX_FILE, TOKENIZER_FILE, SETTINGS_FILE, _CARD, SUMS}
_PROBES = (
    ("Rome is the capital of Italy.", ("Rome", "Rome is the capital city of Italy.")),
    ("The bridge was finished in 1931.", ("Mill Bridge", "It was never finished.")),
    ("The town has 5,000 inhabitants.", ("Mill", "Mill is a town with 5,126 inhabitants.")),
    ("Its mayor is a painter.", ("Mill", "Mill has had a mayor since 1832.")),
)
# Probabilities may differ by so much on average: activations of 8 bits round.
_TOLERANCE = 0.08


@click.command()
@click.argument("verifiers", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--weights", default="", help="Weights of several verifiers; by default all alike.")
def main(verifiers: tuple[Path, ...], out: Path, weights: str) -> None:
    """Write the verifier in VERIFIERS, or the mean of several, to OUT, replacing an export."""
    try:
        check_extra("training", "training.export_verifier")
        gap = export(verifiers, out, _parse_weights(weights, len(verifiers)))
    except (AdmiralError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    click.echo(
        f"{out}: probabilities differ from the trained ones by {gap:.4f} on average", err=True
    )


def _parse_weights(text: str, count: int) -> list[float]:
    try:
        weights = [float(part) for part in text.split(",")] if text else [1.0] * count
    except ValueError:
        weights = []
    if len(weights) != count or not all(0 < weight < math.inf for weight in weights):
        raise AdmiralError(
            f"--weights {text}: give a positive number for each of the {count} verifiers, such as "
            f"{','.join(['1'] * count)}"
        )
    return weights


def export(verifiers: Sequence[Path], out: Path, weights: Sequence[float]) -> float:
    """Write a trained verifier, or the mean of several, as ONNX of 8 bits, with its tokenizer.

    The tokenizer, the calibration and the card are those of the first one.

    `weights`: the weight of each verifier in the mean.

    The result is the mean difference of the probabilities of the labels of a few claims.

    Raises `AdmiralError` if it cannot be written, or the differences are large, and `ValueError` if
    the verifier cannot be read.
    """
    verifier = verifiers[0]
    model, tokenizer = read_model(verifier)
    _average(model, verifiers, weights)
    calibration = read_calibration(verifier)
    encoder = EvidenceEncoder.of(tokenizer, tokenizer.model_max_length)
    with staging(out, overwrite=True, owned=_is_export) as folder, as_os_errors():
        write_onnx(model, folder / ONNX_FILE)
        tokenizer.backend_tokenizer.save(str(folder / TOKENIZER_FILE))
        (folder / SETTINGS_FILE).write_text(settings_json(encoder, calibration), encoding="utf-8")
        (folder / _CARD).write_text(_card(verifier, out.name), encoding="utf-8")
        write_sums(folder)
        claims, evidence = [claim for claim, _ in _PROBES], [[one] for _, one in _PROBES]
        own = EvidenceVerifier(TorchBackend(model), encoder, calibration).read(claims, evidence)
        exported = open_export(folder).read(claims, evidence)
        gap = float(
            np.mean([np.abs(a.labels - b.labels) for a, b in zip(own, exported, strict=True)])
        )
        if not gap <= _TOLERANCE:
            raise AdmiralError(f"{verifier}: its export gives other probabilities (by {gap:.3f})")
    return gap


def _average(model: EvidenceModel, verifiers: Sequence[Path], weights: Sequence[float]) -> None:
    """Set the weights of a model, those of the first verifier, to the mean of all."""
    mean = {name: values * weights[0] for name, values in model.state_dict().items()}
    for directory, weight in zip(verifiers[1:], weights[1:], strict=True):
        other = read_model(directory)[0].state_dict()
        if {n: v.shape for n, v in other.items()} != {n: v.shape for n, v in mean.items()}:
            raise AdmiralError(f"{directory}: is another kind of encoder than {verifiers[0]}")
        mean = {name: values + weight * other[name] for name, values in mean.items()}
    model.load_state_dict({name: values / sum(weights) for name, values in mean.items()})


def _is_export(path: Path) -> bool:
    """Return whether a directory holds only an export, so that it may be replaced."""
    names = {file.name for file in path.iterdir()} if path.is_dir() else set()
    return {ONNX_FILE, SETTINGS_FILE} <= names <= _FILES


def _card(verifier: Path, name: str) -> str:
    """Return the model card: what the files are, and the card of the trained verifier."""
    lines = [
        f"# {name}",
        "",
        "A verifier of AdMIRaL as ONNX with weights of 8 bits, for use without torch.",
        "",
        f"- `{ONNX_FILE}`: the model, which onnxruntime runs",
        f"- `{TOKENIZER_FILE}`: its tokenizer",
        f"- `{SETTINGS_FILE}`: maximum length, special tokens, calibration by kind of evidence",
    ]
    card = verifier / _CARD
    if not card.is_file():
        return "\n".join(lines) + "\n"
    text = card.read_text(encoding="utf-8")
    header, body = "", text
    if text.startswith("---\n"):
        header, _, body = text.removeprefix("---\n").partition("\n---\n")
        # transformers does not read an export.
        header = re.sub(r"^library_name:.*\n", "", header, flags=re.MULTILINE)
        header = f"---\n{header}\n---\n\n"
    # The headings of the trained verifier become sections of this card.
    sections = re.sub(r"^(#+ )", r"#\1", body.strip(), flags=re.MULTILINE)
    return header + "\n".join(lines) + f"\n\n{sections}\n"


def write_onnx(model: EvidenceModel, path: Path) -> None:
    """Write a model as ONNX with linear layers of 8 bits."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers.optimizer import optimize_model

    config = model.classifier.config
    model.classifier.set_attn_implementation("eager")
    ids = torch.tensor([[101, 1012, 102, 1013, 102]])
    shape = {0: torch.export.Dim("inputs", max=64), 1: torch.export.Dim("length", max=512)}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = Path(folder) / "whole.onnx"
        torch.onnx.export(
            model.eval(),
            (ids, torch.ones_like(ids), torch.zeros_like(ids)),
            whole,
            input_names=INPUTS,
            output_names=OUTPUTS,
            dynamic_shapes=(shape, shape, shape),
            dynamo=True,
            external_data=False,
            verbose=False,
        )
        fused = optimize_model(
            str(whole),
            model_type="bert",
            num_heads=config.num_attention_heads,
            hidden_size=config.hidden_size,
            opt_level=1,
        )
        fused.save_model_to_file(str(whole))
        quantize_dynamic(whole, path, weight_type=QuantType.QInt8, per_channel=True)
    strip_metadata(path)


def strip_metadata(path: Path) -> None:
    """Remove what torch notes of the export, such as paths of the machine, from an ONNX file."""
    import onnx

    model = onnx.load(path)
    graph = model.graph
    for part in (*graph.node, *graph.initializer, *graph.value_info, *graph.input, *graph.output):
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    onnx.save(model, path)


if __name__ == "__main__":
    main()
