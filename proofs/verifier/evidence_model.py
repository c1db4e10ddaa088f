"""The verifier as a model: a pretrained encoder with three heads, and its files.

One pass reads a claim with its evidence. The first head, that of an ordinary Hugging Face sequence
classifier, says what the evidence as a whole does to the claim; the second what each sentence does,
from the state of its marker; the third what becomes of each token of the claim.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import AutoModelForSequenceClassification, AutoTokenizer, PreTrainedModel

from proofs.verifier.classifier_verifier import (
    check_finite,
    classifier_inputs,
    explained,
    label_columns,
)
from proofs.verifier.evidence_verifier import (
    EvidenceEncoder,
    EvidenceInput,
    EvidenceVerifier,
    Scores,
)
from proofs.verifier.reading import LABELS, read_calibration
from trie.seq2seq import quiet_transformers

HEADS = "evidence_heads.safetensors"
MAX_LENGTH = 384


class EvidenceModel(nn.Module):
    """A sequence classifier with a head for sentences and one for the tokens of the claim.

    `classifier`: a classifier with one output for each of `LABELS`, in their order.
    """

    def __init__(self, classifier: PreTrainedModel) -> None:
        super().__init__()
        self.classifier = classifier
        width = classifier.config.hidden_size
        self.sentence_head = nn.Linear(width, len(LABELS))
        self.token_head = nn.Linear(width, len(LABELS))

    def forward(self, ids: Tensor, mask: Tensor, segments: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the logits of the whole, (inputs, 3), and of each token by both other heads.

        `ids`, `mask`, `segments`: as `pad_inputs` returns them, (inputs, length).

        The logits are (inputs, 3), (inputs, length, 3) and (inputs, length, 3), in the order of
        `LABELS`. Of the second, only markers mean something; of the third, only tokens of the
        claim.
        """
        has_segments = getattr(self.classifier.config, "type_vocab_size", 0) > 1
        output = self.classifier(
            **classifier_inputs(ids, mask, segments, has_segments, ids.device),
            output_hidden_states=True,
        )
        states = output.hidden_states[-1]
        return output.logits, self.sentence_head(states), self.token_head(states)

    def encoder_parameters(self) -> list[nn.Parameter]:
        """Return the parameters of the encoder, without those of the heads."""
        base = getattr(self.classifier, self.classifier.base_model_prefix)
        return [p for name, p in base.named_parameters() if not name.startswith("pooler.")]


def new_model(encoder: Path, seed: int) -> tuple[EvidenceModel, Any]:
    """Return an untrained model on a pretrained encoder, and the encoder's tokenizer.

    `encoder`: directory of the encoder in the Hugging Face format, with safetensors.

    Raises `ValueError` if it cannot be read.
    """
    torch.manual_seed(seed)
    names = dict(enumerate(LABELS))
    with explained(encoder), quiet_transformers():
        classifier = AutoModelForSequenceClassification.from_pretrained(
            encoder,
            local_files_only=True,
            use_safetensors=True,
            dtype=torch.float32,
            num_labels=len(LABELS),
            id2label=names,
            label2id={name: column for column, name in names.items()},
        )
        tokenizer = AutoTokenizer.from_pretrained(encoder, local_files_only=True)
    return EvidenceModel(classifier), tokenizer


def read_model(directory: Path) -> tuple[EvidenceModel, Any]:
    """Return a trained model and its tokenizer.

    Raises `ValueError` if files are missing or damaged, if the labels are others, or weights are
    not finite.
    """
    heads = directory / HEADS
    if not heads.is_file():
        raise ValueError(f"{heads}: no such file; this is not a verifier of AdMIRaL")
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    labels = {int(key): str(name) for key, name in config.get("id2label", {}).items()}
    if label_columns(labels, str(directory / "config.json")) != tuple(range(len(LABELS))):
        raise ValueError(f"{directory / 'config.json'}: the labels are in another order")
    model, tokenizer = new_model(directory, 0)
    with explained(directory):
        stored = {name: value.float() for name, value in load_file(heads).items()}
        model.load_state_dict(model.state_dict() | stored)
        check_finite(model)
    return model.eval(), tokenizer


def write_model(
    out: Path, model: EvidenceModel, tokenizer: Any, dtype: torch.dtype, max_length: int
) -> None:
    """Write a model and its tokenizer to an existing directory; the loaded one is not changed.

    `max_length`: maximum number of tokens of an input.
    """

    def stored(module: nn.Module, prefix: str = "") -> dict[str, Tensor]:
        state = module.state_dict().items()
        return {f"{prefix}{k}": v.detach().to("cpu", dtype).contiguous() for k, v in state}

    heads = stored(model.sentence_head, "sentence_head.") | stored(model.token_head, "token_head.")
    save_file(stored(model.classifier), out / "model.safetensors", metadata={"format": "pt"})
    save_file(heads, out / HEADS, metadata={"format": "pt"})
    record = model.classifier.config.to_dict() | {
        "architectures": [type(model.classifier).__name__],
        "dtype": str(dtype).removeprefix("torch."),
    }
    record.pop("_name_or_path", None)  # where it was started from, on this machine
    (out / "config.json").write_text(json.dumps(record, indent=2, sort_keys=True) + "\n")
    with quiet_transformers():
        tokenizer.save_pretrained(out)
    settings = out / "tokenizer_config.json"
    content = json.loads(settings.read_text(encoding="utf-8")) | {"model_max_length": max_length}
    settings.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n")


class TorchBackend:
    """Runs a model with torch, on the device of the model."""

    def __init__(self, model: EvidenceModel) -> None:
        self._model = model
        self._device = next(model.parameters()).device

    @torch.inference_mode()
    def __call__(self, item: EvidenceInput) -> Scores:
        """Return the logits (see `Backend`)."""
        ids = torch.tensor([item.ids], device=self._device)
        segments = torch.tensor([item.segments], device=self._device)
        outputs = self._model(ids, torch.ones_like(ids), segments)
        whole, sentences, tokens = (o[0].float().cpu().numpy() for o in outputs)
        return whole, sentences, tokens


def open_checkpoint(directory: Path, device: str = "cpu") -> EvidenceVerifier:
    """Open a trained verifier.

    Raises `ValueError` if a file is missing, damaged, or has other content; with the file and the
    remedy.
    """
    model, tokenizer = read_model(directory)
    backend = TorchBackend(model.to(device))
    positions = model.classifier.config.max_position_embeddings
    encoder = EvidenceEncoder.of(tokenizer, min(tokenizer.model_max_length, positions))
    return EvidenceVerifier(backend, encoder, read_calibration(directory))
