"""Hugging Face sequence classifiers in local folders, read with care.

One, two or three outputs are read: the log-odds of support; support and the rest; or entailment,
neutral and contradiction.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import AutoModelForSequenceClassification, AutoTokenizer, PreTrainedModel

from proofs.verifier.label_names import label_columns, support_columns
from proofs.verifier.reading import VerifierError
from proofs.verifier.weight_checks import check_finite, explained
from trie.model.quiet_transformers import quiet_transformers

# Longer inputs are of little use for sentences, and take much time.
_MAX_LENGTH = 512
_REMEDY = "give a directory with a Hugging Face sequence classifier in safetensors"


@dataclass(frozen=True, slots=True)
class SequenceClassifier:
    """A loaded classifier of pairs of texts.

    Attributes
    ----------
    model
        The model in fp32, on the CPU.
    tokenizer
        Its tokenizer.
    pad
        The padding token.
    columns
        The column of each of `LABELS` in its output; of one or two outputs, that of support, and
        that of the rest if there is one.
    has_segments
        Whether the model tells the two texts of a pair apart by segments.
    max_length
        Maximum number of tokens of a pair.
    """

    model: PreTrainedModel
    tokenizer: Tokenizer
    pad: int
    columns: tuple[int, ...]
    has_segments: bool
    max_length: int


def read_sequence_classifier(directory: Path) -> SequenceClassifier:
    """Read a classifier from local files.

    Parameters
    ----------
    directory
        Its directory.

    Raises
    ------
    VerifierError
        If files are missing or damaged, weights are not finite, or the labels cannot be mapped;
        with the file, the field and the remedy.
    """
    config, weights = directory / "config.json", directory / "model.safetensors"
    for file in (config, weights):
        if not file.is_file():
            raise VerifierError(f"{file}: no such file; {_REMEDY}")
    try:
        columns = _columns(config)
        with explained(directory), quiet_transformers():
            return _load(directory, columns)
    except ValueError as error:
        raise VerifierError(str(error)) from error


def _columns(config: Path) -> tuple[int, ...]:
    try:
        names = json.loads(config.read_text(encoding="utf-8")).get("id2label") or {}
        labels = {int(key): str(name) for key, name in names.items()}
    except (OSError, AttributeError, ValueError, RecursionError) as error:
        raise ValueError(f"{config}: is not a model configuration ({error}); restore it") from error
    mapped = support_columns if len(labels) <= 2 else label_columns
    return mapped(labels, str(config))


def _load(directory: Path, columns: tuple[int, ...]) -> SequenceClassifier:
    model, report = AutoModelForSequenceClassification.from_pretrained(
        directory,
        local_files_only=True,
        use_safetensors=True,
        trust_remote_code=False,
        dtype=torch.float32,
        output_loading_info=True,
    )
    tokenizer = AutoTokenizer.from_pretrained(
        directory, local_files_only=True, trust_remote_code=False
    )
    if missing := sorted(report["missing_keys"]):
        raise ValueError(f"it lacks {missing[0]}")
    check_finite(model)
    pad, core = tokenizer.pad_token_id, getattr(tokenizer, "backend_tokenizer", None)
    if core is None:
        raise ValueError("there is no tokenizer.json")
    if pad is None:
        raise ValueError("its tokenizer has no padding token")
    positions: int = getattr(model.config, "max_position_embeddings", _MAX_LENGTH)
    if "roberta" in model.config.model_type or model.config.model_type == "camembert":
        positions -= pad + 1  # their positions begin after it
    has_segments = getattr(model.config, "type_vocab_size", 0) > 1
    length = min(_MAX_LENGTH, tokenizer.model_max_length, positions)
    return SequenceClassifier(model.eval(), core, pad, columns, has_segments, length)
