"""Export a trained natural-logic reader for use without torch: ONNX with weights of 8 bits.

Run as ``python -m training export_reader runs/reader OUT --base runs/base``. Matrices are quantised
in blocks of 64 weights, and embeddings by word. `proofs.reader.reading` reads the directory. Of
several readers, such as states of one run, the mean of the weights is exported.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoTokenizer

from admiral.errors import AdmiralError
from proofs.reader.inputs import MAX_LENGTH, ReaderEncoder, ReaderInput
from proofs.reader.model import NaturalLogicReader, new_reader
from proofs.reader.reading import (
    INPUTS,
    ONNX_FILE,
    OUTPUTS,
    ProofReader,
    ReaderScores,
    open_reader,
)
from proofs.verifier import read_calibration
from proofs.verifier.exports import ExportSettings
from training.command_options import out_argument, program
from training.export_verifier import (
    CARD,
    export_folder,
    fused_onnx,
    mean_weights,
    save_onnx,
    write_beside,
)
from training.reading.adapters import CONFIG_FILE, load_reader, merge_adapters, with_adapters

if TYPE_CHECKING:
    import onnx

_BLOCK = 64
_WORDS, _WORDS_FILE = "word_codes", "words.bin"  # embeddings of words
_PROBES = {
    "Rome is the capital of Italy.": ("Rome", "Rome is the capital city of Italy."),
    "The bridge was finished in 1931.": ("Mill Bridge", "It was never finished."),
    "The town has 5,000 inhabitants.": ("Mill", "Mill is a town with 5,126 inhabitants."),
    "Its mayor is a painter.": ("Mill", "Mill has had a mayor since 1832."),
}
# Probabilities may differ by so much on average.
_TOLERANCE = 0.02


@program
@click.argument("readers", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@out_argument
@click.option(
    "--base",
    type=click.Path(path_type=Path, exists=True),
    default=Path("runs/base"),
    show_default=True,
    help="Directory of the pretrained encoder.",
)
def main(readers: tuple[Path, ...], out: Path, base: Path) -> None:
    """Write the reader in READERS, or the mean of several, to OUT, replacing an export."""
    gap = export(readers, out, base)
    click.echo(
        f"{out}: probabilities differ from the trained ones by {gap:.4f} on average", err=True
    )


def trained_reader(folder: Path, base: Path) -> NaturalLogicReader:
    """Return a trained reader on its encoder, with its adapters merged."""
    reader, _ = new_reader(base, 0)
    rank = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))["rank"]
    if rank:
        with_adapters(reader, rank)
    load_reader(reader, folder)
    merge_adapters(reader)
    return reader.eval()


class TorchReader:
    """Runs a reader with torch."""

    def __init__(self, reader: NaturalLogicReader) -> None:
        self._reader = reader

    @torch.inference_mode()
    def __call__(self, item: ReaderInput) -> ReaderScores:
        """Return what the reader says of one input."""
        ids = torch.tensor([item.ids])
        heads = self._reader.heads(
            ids, torch.ones_like(ids), torch.tensor([item.spans]), torch.tensor([item.markers])
        )
        return ReaderScores(*(heads[name][0].float().numpy() for name in OUTPUTS))


def export(readers: Sequence[Path], out: Path, base: Path) -> float:
    """Write the mean of readers, with the calibration and card of the last one.

    The result is the mean difference of the probabilities of the verdicts of a few claims.
    """
    reader = trained_reader(readers[0], base)
    states = [reader.state_dict(), *(trained_reader(r, base).state_dict() for r in readers[1:])]
    reader.load_state_dict(mean_weights(states, [1] * len(states)))
    tokenizer = AutoTokenizer.from_pretrained(base, local_files_only=True)
    encoder = ReaderEncoder.of(tokenizer, min(MAX_LENGTH, tokenizer.model_max_length))
    calibration = read_calibration(readers[-1])
    settings = ExportSettings(encoder.max_length, encoder.special, calibration)
    own = ProofReader(TorchReader(reader), encoder, calibration)
    with export_folder(out, ONNX_FILE) as folder:
        write_onnx(reader, folder / ONNX_FILE)
        what, card = "A natural-logic reader", readers[-1] / CARD
        write_beside(folder, encoder.tokenizer, settings, out.name, card, what)
        claims, evidence = list(_PROBES), [[one] for one in _PROBES.values()]
        before, after = (
            np.array([reading.labels for reading in each.read(claims, evidence)])
            for each in (own, open_reader(folder))
        )
        if not (gap := float(np.abs(before - after).mean())) <= _TOLERANCE:
            raise AdmiralError(f"{out}: the export gives other probabilities (by {gap:.3f})")
    return gap


class _Heads(nn.Module):
    """The heads of a reader as a tuple of tensors, without the automaton."""

    def __init__(self, reader: NaturalLogicReader) -> None:
        super().__init__()
        self.reader = reader

    def forward(self, ids: Tensor, spans: Tensor, markers: Tensor) -> tuple[Tensor, ...]:
        heads = self.reader.heads(ids, torch.ones_like(ids), spans, markers)
        return tuple(heads[name] for name in OUTPUTS)


def write_onnx(reader: NaturalLogicReader, path: Path) -> None:
    """Write a reader as ONNX with weights of 8 bits."""
    from onnx.external_data_helper import set_external_data
    from onnxruntime.quantization import quant_utils
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    config = reader.encoder.config
    reader.encoder.set_attn_implementation("eager")
    spans, markers = torch.tensor([[[30, 33], [33, 36]]]), torch.tensor([[1, 10, 20]])
    example = (torch.arange(5, 45)[None], spans, markers)
    longest = min(512, config.max_position_embeddings)
    sizes = (("length", 8, longest), ("spans", 1, 64), ("sentences", 1, 64))
    shapes = tuple({1: torch.export.Dim(name, min=low, max=high)} for name, low, high in sizes)
    fused = fused_onnx(_Heads(reader), config, example, shapes, (INPUTS, OUTPUTS), _quantise_words)
    logging.getLogger(MatMulNBitsQuantizer.__module__).setLevel(logging.WARNING)
    quantizer = MatMulNBitsQuantizer(
        fused,
        bits=8,
        block_size=_BLOCK,
        is_symmetric=False,
        accuracy_level=4,  # activations of 8 bits, by block
        quant_format=quant_utils.QuantFormat.QOperator,
        op_types_to_quantize=("MatMul",),
    )
    quantizer.process()
    model = quantizer.model.model
    words = next(one for one in model.graph.initializer if one.name == _WORDS)
    set_external_data(words, _WORDS_FILE)  # hosts of repositories take no file of 100 MB
    save_onnx(model, path)
    path.with_name(_WORDS_FILE).chmod(path.stat().st_mode)  # onnx lets nobody else read it


def _quantise_words(model: onnx.ModelProto) -> None:
    """Store the embeddings of words in 8 bits, with a scale for each word."""
    from onnx import TensorProto, helper, numpy_helper

    graph = model.graph
    stored = {one.name: one for one in graph.initializer}
    lookups = [n for n in graph.node if n.op_type == "Gather" and n.input[0] in stored]
    gather = max(lookups, key=lambda node: int(np.prod(stored[node.input[0]].dims)))
    at, largest = list(graph.node).index(gather), stored[gather.input[0]]
    weights = numpy_helper.to_array(largest)
    scales = np.abs(weights).max(1, keepdims=True).clip(1e-12) / 127
    result, words = gather.output[0], gather.input[1]
    graph.initializer.remove(largest)
    for name, values in (
        (_WORDS, np.round(weights / scales).astype(np.int8)),
        ("word_scales", scales.astype(np.float32)),
    ):
        graph.initializer.append(numpy_helper.from_array(values, name))
    graph.node.remove(gather)
    for node in reversed(
        (
            helper.make_node("Gather", [_WORDS, words], ["words_in_codes"]),
            helper.make_node("Cast", ["words_in_codes"], ["words_cast"], to=TensorProto.FLOAT),
            helper.make_node("Gather", ["word_scales", words], ["words_scaled_by"]),
            helper.make_node("Mul", ["words_cast", "words_scaled_by"], [result]),
        )
    ):
        graph.node.insert(at, node)
