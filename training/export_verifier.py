"""Export a trained verifier for use without torch: ONNX with weights of 8 bits.

Run as ``python -m training export_verifier runs/verifier OUT``. The weights of linear layers are
quantised by output channel, activations while the model runs. `proofs.verifier.evidence_verifier`
reads the directory. Of several verifiers from the same encoder, the mean of the weights is
exported, which errs less on claims unlike those of the training: ``... runs/first runs/second OUT
--weights 2,1``.
"""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import torch
from tokenizers import Tokenizer
from torch import nn

from admiral.errors import AdmiralError
from admiral.models.checkpoint import SUMS, write_sums
from admiral.storage.atomic_files import as_os_errors, staging
from proofs.verifier import read_calibration
from proofs.verifier.classifier_verifier import EvidenceModel, read_model
from proofs.verifier.evidence_verifier import INPUTS, ONNX_FILE, OUTPUTS, EvidenceEncoder
from proofs.verifier.exports import SETTINGS_FILE, TOKENIZER_FILE, ExportSettings
from training.command_options import out_argument, program

if TYPE_CHECKING:
    import onnx

CARD = "README.md"


@program
@click.argument("verifiers", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@out_argument
@click.option("--weights", default="", help="Weights of several verifiers; by default all alike.")
def main(verifiers: tuple[Path, ...], out: Path, weights: str) -> None:
    """Write the verifier in VERIFIERS, or the mean of several, to OUT, replacing an export."""
    shares = weights.split(",") if weights else ["1"] * len(verifiers)
    if len(shares) != len(verifiers) or not all(re.fullmatch(r"\d*[1-9]\d*", s) for s in shares):
        raise AdmiralError(
            f"--weights {weights}: give a positive number for each of the {len(verifiers)} "
            f"verifiers, such as {','.join(['1'] * len(verifiers))}"
        )
    try:
        export(verifiers, out, list(map(int, shares)))
    except ValueError as error:
        raise AdmiralError(str(error)) from error
    click.echo(str(out), err=True)


def export(verifiers: Sequence[Path], out: Path, weights: Sequence[int]) -> None:
    """Write the mean of verifiers, with the tokenizer, calibration and card of the first one."""
    model, tokenizer = read_model(verifiers[0])
    states = [model.state_dict(), *(read_model(one)[0].state_dict() for one in verifiers[1:])]
    shapes = [{name: value.shape for name, value in state.items()} for state in states]
    if any(other != shapes[0] for other in shapes):
        raise AdmiralError(f"{', '.join(map(str, verifiers))}: are different kinds of encoders")
    model.load_state_dict(mean_weights(states, weights))
    calibration = read_calibration(verifiers[0])
    encoder = EvidenceEncoder.of(tokenizer, tokenizer.model_max_length)
    settings = ExportSettings(encoder.max_length, encoder.special, calibration)
    with export_folder(out, ONNX_FILE) as folder:
        write_onnx(model, folder / ONNX_FILE)
        core, card = tokenizer.backend_tokenizer, verifiers[0] / CARD
        write_beside(folder, core, settings, out.name, card, "A verifier")


def write_onnx(model: EvidenceModel, path: Path) -> None:
    """Write a model as ONNX with linear layers of 8 bits."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    model.classifier.set_attn_implementation("eager")
    ids = torch.tensor([[101, 1012, 102, 1013, 102]])
    shape = {0: torch.export.Dim("inputs", max=64), 1: torch.export.Dim("length", max=512)}
    example = (ids, torch.ones_like(ids), torch.zeros_like(ids))
    fused = fused_onnx(model, model.classifier.config, example, (shape,) * 3, (INPUTS, OUTPUTS))
    quantize_dynamic(fused, path, weight_type=QuantType.QInt8, per_channel=True)
    save_onnx(onnx.load(path), path)


@contextmanager
def export_folder(out: Path, model: str) -> Iterator[Path]:
    """Yield the folder of an export, which then replaces another one; `model`: name of its file."""
    owned = partial(_is_export, model=model)
    with staging(out, overwrite=True, owned=owned) as folder, as_os_errors():
        yield folder


def write_beside(
    folder: Path, tokenizer: Tokenizer, settings: ExportSettings, name: str, card: Path, what: str
) -> None:
    """Write what is beside a model: tokenizer, settings, and a card from that of the trained one.

    `what`: what the export called `name` is, as "A verifier".
    """
    tokenizer.save(str(folder / TOKENIZER_FILE))
    (folder / SETTINGS_FILE).write_text(settings.to_json(), encoding="utf-8")
    (folder / CARD).write_text(_card(card, name, what), encoding="utf-8")
    write_sums(folder)


def _is_export(path: Path, model: str) -> bool:
    """Return whether a directory holds only an export, so that it may be replaced."""
    names = {file.name for file in path.iterdir()} if path.is_dir() else set()
    return {model, SETTINGS_FILE} <= names <= {model, TOKENIZER_FILE, SETTINGS_FILE, CARD, SUMS}


def _card(trained: Path, name: str, what: str) -> str:
    """Return the model card: what the files are, and the card of the trained model."""
    text = trained.read_text(encoding="utf-8") if trained.is_file() else ""
    header = re.match(r"---\n.*?\n---\n", text, re.DOTALL)
    body = text[header.end() if header else 0 :].strip()
    # transformers does not read an export.
    front = re.sub(r"^library_name:.*\n", "", header[0], flags=re.MULTILINE) if header else ""
    sections = re.sub(r"^(#+ )", r"#\1", body, flags=re.MULTILINE)
    use = f"{what} of AdMIRaL as ONNX with weights of 8 bits, for use without torch."
    return f"{front}\n# {name}\n\n{use}\n\n{sections}".strip() + "\n"


def mean_weights(states: Sequence[dict[str, Any]], shares: Sequence[int]) -> dict[str, Any]:
    """Return the mean of the weights of models, with a share of each."""
    pairs = list(zip(shares, states, strict=True))
    total = sum(shares)
    return {name: sum(share * state[name] for share, state in pairs) / total for name in states[0]}


def fused_onnx(
    model: nn.Module,
    config: Any,
    example: tuple[Any, ...],
    shapes: tuple[Any, ...],
    names: tuple[Sequence[str], Sequence[str]],
    change: Callable[[onnx.ModelProto], None] = lambda _: None,
) -> onnx.ModelProto:
    """Return a model as ONNX, its layers fused as onnxruntime does for BERT.

    `config`: configuration of the encoder. `example`, `shapes`: an input and its dynamic shapes.
    `names`: those of inputs and outputs. `change`: changes the graph before layers are fused.
    """
    import onnx
    from onnxruntime.transformers.optimizer import optimize_model

    heads = {"num_heads": config.num_attention_heads, "hidden_size": config.hidden_size}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = Path(folder) / "whole.onnx"
        torch.onnx.export(
            model.eval(),
            example,
            whole,
            input_names=names[0],
            output_names=names[1],
            dynamic_shapes=shapes,
            dynamo=True,
            external_data=False,
            verbose=False,
        )
        graph = onnx.load(whole)
        change(graph)
        onnx.save(graph, whole)
        fused: onnx.ModelProto = optimize_model(str(whole), "bert", opt_level=1, **heads).model
    return fused


def save_onnx(model: onnx.ModelProto, path: Path) -> None:
    """Write a model without what torch notes of machines."""
    import onnx

    graph = model.graph
    for part in (*graph.node, *graph.initializer, *graph.value_info, *graph.input, *graph.output):
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    onnx.save(model, path)
