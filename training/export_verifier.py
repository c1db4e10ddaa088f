"""Export a trained verifier for use without torch: ONNX with weights of 8 bits.

Run as ``python -m training.export_verifier runs/verifier OUT``. The weights of linear layers are
quantised by output channel, activations while the model runs. The written model is compared with
the trained one.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import click
import numpy as np
import torch

from admiral.errors import AdmiralError
from admiral.models.checkpoint import is_checkpoint
from admiral.models.checkpoint_sums import write_sums
from admiral.requirements import check_extra
from admiral.storage.atomic_directories import staging
from admiral.storage.atomic_files import as_os_errors
from proofs.verifier.evidence_input import EvidenceEncoder
from proofs.verifier.evidence_model import EvidenceModel, read_model
from proofs.verifier.evidence_verifier import ONNX_FILE, EvidenceVerifier, OnnxBackend, TorchBackend

_INPUTS, _OUTPUTS = ("ids", "mask", "segments"), ("whole", "sentences", "tokens")
_PROBES = (
    ("Rome is the capital of Italy.", ("Rome", "Rome is the capital city of Italy.")),
    ("The bridge was finished in 1931.", ("Mill Bridge", "It was never finished.")),
    ("The town has 5,000 inhabitants.", ("Mill", "Mill is a town with 5,126 inhabitants.")),
    ("Its mayor is a painter.", ("Mill", "Mill has had a mayor since 1832.")),
)
# Probabilities may differ by so much: activations of 8 bits round.
_TOLERANCE = 0.1


@click.command()
@click.argument("verifier", type=click.Path(path_type=Path, exists=True))
@click.argument("out", type=click.Path(path_type=Path))
def main(verifier: Path, out: Path) -> None:
    """Write the verifier in the directory VERIFIER to the directory OUT, replacing an export."""
    try:
        check_extra("training", "training.export_verifier")
        gap = export(verifier, out)
    except (AdmiralError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"{out}: probabilities differ from the trained ones by at most {gap:.4f}", err=True)


def export(verifier: Path, out: Path) -> float:
    """Write a trained verifier as ONNX of 8 bits, with its tokenizer.

    Parameters
    ----------
    verifier
        Its directory.
    out
        Directory to write.

    Returns
    -------
    float
        The largest difference of a probability of a label on a few claims.

    Raises
    ------
    AdmiralError
        If it cannot be written, or the differences are large.
    ValueError
        If the verifier cannot be read.
    """
    model, tokenizer = read_model(verifier)
    with staging(out, overwrite=True, owned=is_checkpoint) as folder, as_os_errors():
        write_onnx(model, folder / ONNX_FILE)
        tokenizer.save_pretrained(folder)
        write_sums(folder)
        encoder = EvidenceEncoder(tokenizer, tokenizer.model_max_length)
        own, exported = (
            EvidenceVerifier(backend, encoder).read(
                [claim for claim, _ in _PROBES], [[sentence] for _, sentence in _PROBES]
            )
            for backend in (TorchBackend(model), OnnxBackend(folder / ONNX_FILE, 1))
        )
        gap = max(
            float(np.abs(a.labels - b.labels).max()) for a, b in zip(own, exported, strict=True)
        )
        if not gap <= _TOLERANCE:
            raise AdmiralError(f"{verifier}: its export gives other probabilities (by {gap:.3f})")
    return gap


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
            input_names=_INPUTS,
            output_names=_OUTPUTS,
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


if __name__ == "__main__":
    main()
