"""Files of a verifier: a Hugging Face sequence classifier, and beside it the relevance head.

The relevance head is a file of its own, as the heads of other checkpoints are, so that the
directory stays one that `AutoModelForSequenceClassification` reads: three labels, safetensors only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import nn
from transformers import AutoModelForSequenceClassification, AutoTokenizer, PreTrainedModel

from proofs.verifier.label_names import label_columns, support_columns
from proofs.verifier.temperature import read_temperature
from proofs.verifier.weight_checks import LOADING_ERRORS, check_finite, explained
from trie.model.quiet_transformers import quiet_transformers

RELEVANCE_HEAD = "relevance_head.safetensors"
_MAX_LENGTH = 512


@dataclass(frozen=True, slots=True)
class ClassifierFiles:
    """The loaded files of a pair classifier.

    Attributes
    ----------
    model
        A sequence classifier in fp32, on the CPU.
    tokenizer
        Its tokenizer, as transformers loads it.
    columns
        The column of each of `LABELS` in its output; for a classifier with one or two outputs, that
        of support and that of the rest, if there is one.
    relevance
        The relevance head, which scores the first state of the encoder; None if there is none.
    temperature
        What its output is divided by to calibrate its probabilities.
    """

    model: PreTrainedModel
    tokenizer: Any
    columns: tuple[int, ...]
    relevance: nn.Linear | None
    temperature: float = 1.0

    @property
    def config(self) -> Any:
        """The configuration of the model."""
        return self.model.config

    @property
    def core_tokenizer(self) -> Tokenizer:
        """The tokenizer without the wrapper of transformers."""
        core: Tokenizer = self.tokenizer.backend_tokenizer
        return core

    @property
    def has_segments(self) -> bool:
        """Whether the model tells the two texts of a pair apart by segments."""
        return getattr(self.config, "type_vocab_size", 0) > 1

    @property
    def max_length(self) -> int:
        """Maximum number of tokens of a pair."""
        positions: int = getattr(self.config, "max_position_embeddings", _MAX_LENGTH)
        if "roberta" in self.config.model_type or self.config.model_type == "camembert":
            positions -= self.tokenizer.pad_token_id + 1  # their positions begin after it
        given: int = self.tokenizer.model_max_length
        return min(_MAX_LENGTH, given, positions)


def read_classifier(directory: Path, *, binary: bool = False) -> ClassifierFiles:
    """Read a pair classifier from local files.

    Parameters
    ----------
    directory
        Its directory.
    binary
        Whether a classifier may also have one or two outputs (see `support_columns`).

    Raises
    ------
    ValueError
        If the files are missing or damaged, or its labels are others than the verifier's; with the
        file.
    """
    config, weights = directory / "config.json", directory / "model.safetensors"
    for file in (config, weights):
        if not file.is_file():
            raise ValueError(
                f"{file}: no such file; give a directory with a Hugging Face sequence classifier "
                "in safetensors"
            )
    try:
        names = json.loads(config.read_text(encoding="utf-8")).get("id2label") or {}
        labels = {int(key): str(name) for key, name in names.items()}
    except (OSError, AttributeError, json.JSONDecodeError) as error:
        raise ValueError(f"{config}: is not a model configuration ({error}); restore it") from error
    mapped = support_columns if binary and len(labels) <= 2 else label_columns
    columns = mapped(labels, str(config))
    with explained(directory), quiet_transformers():
        model, report = AutoModelForSequenceClassification.from_pretrained(
            directory,
            local_files_only=True,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
        )
        tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True)
        missing = sorted(report["missing_keys"])
        if missing:
            raise ValueError(f"it lacks {missing[0]}")
        check_finite(model)
        if tokenizer.pad_token_id is None:
            raise ValueError("its tokenizer has no padding token")
        head = _read_head(directory / RELEVANCE_HEAD, model.config.hidden_size)
    return ClassifierFiles(model, tokenizer, columns, head, read_temperature(directory))


def new_relevance_head(width: int) -> nn.Linear:
    """Return a relevance head that gives all evidence the probability one half."""
    head = nn.Linear(width, 1)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    return head


def _read_head(file: Path, width: int) -> nn.Linear | None:
    if not file.is_file():
        return None
    head = new_relevance_head(width)
    try:
        head.load_state_dict({name: value.float() for name, value in load_file(file).items()})
    except LOADING_ERRORS as error:
        raise ValueError(f"{file.name} is damaged or belongs to another model") from error
    return head
