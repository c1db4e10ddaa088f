"""Adapters of low rank (LoRA) on the encoder of a reader, and the files that hold them.

A trained reader is its adapters and heads, a few megabytes, beside the encoder that they belong to.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from peft import LoraConfig, inject_adapter_in_model
from peft.tuners.tuners_utils import BaseTunerLayer
from safetensors.torch import load_file, save_file
from torch import Tensor

from admiral.errors import AdmiralError
from proofs.reader.model import NaturalLogicReader

# The linear layers of MPNet and of BERT-shaped encoders.
_ADAPTED = r".*\.(q|k|v|o|query|key|value|dense)"
#: Names of the files of a trained reader.
CONFIG_FILE, WEIGHTS_FILE = "config.json", "model.safetensors"


def with_adapters(reader: NaturalLogicReader, rank: int) -> None:
    """Give all linear layers of the encoder adapters of low rank, and freeze the rest of it."""
    config = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=_ADAPTED)
    inject_adapter_in_model(config, reader.encoder)
    for name, value in reader.encoder.named_parameters():
        value.requires_grad_("lora_" in name)


def merge_adapters(reader: NaturalLogicReader) -> None:
    """Add the adapters of a reader to the layers of its encoder."""
    for name, module in list(reader.encoder.named_modules()):
        if isinstance(module, BaseTunerLayer):
            module.merge()
            reader.encoder.set_submodule(name, module.get_base_layer())


def _own_weights(reader: NaturalLogicReader) -> dict[str, Tensor]:
    """Return the weights that a reader does not share with its encoder."""
    return {
        name: value
        for name, value in reader.state_dict().items()
        if not name.startswith("encoder.") or "lora_" in name
    }


def write_reader(
    folder: Path, reader: NaturalLogicReader, base: str, rank: int, dtype: torch.dtype
) -> None:
    """Write the adapters and heads of a reader to an existing directory.

    `base`: SHA-256 of the weights of the encoder. With a rank of 0, the encoder's are written too.
    """
    weights = _own_weights(reader) if rank else reader.state_dict()
    stored = {k: v.detach().to("cpu", dtype).contiguous() for k, v in weights.items()}
    save_file(stored, folder / WEIGHTS_FILE, metadata={"format": "pt"})
    record = {"model_type": "natural-logic-reader", "base": base, "rank": rank}
    (folder / CONFIG_FILE).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def load_reader(reader: NaturalLogicReader, folder: Path) -> None:
    """Load what `write_reader` wrote into a reader of the same base and rank.

    Raises `AdmiralError` if it belongs to another one.
    """
    stored = load_file(folder / WEIGHTS_FILE)
    expected = set(_own_weights(reader))
    if missing := sorted(expected - stored.keys()):
        raise AdmiralError(
            f"{folder / WEIGHTS_FILE}: lacks {missing[0]}; it has another rank or base"
        )
    reader.load_state_dict({k: v.float() for k, v in stored.items()}, strict=False)
