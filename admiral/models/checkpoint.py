"""Checkpoints with their small heads, and the device and precision that they run with."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from logging import getLogger
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import (
    AutoConfig,
    AutoModelForSeq2SeqLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError, first_line
from admiral.requirements import MODELS, bundled_directory
from admiral.storage.atomic_files import sha256_of, write_atomically
from trie.safe_tokenizer import SafeTokenizer
from trie.seq2seq import Seq2Seq, bfloat16_is_fast, quiet_transformers

_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


def choose_device(name: str) -> str:
    """Return the torch device for a setting; ``auto`` is a CUDA GPU if there is one, else the CPU.

    Raises AdmiralError if the device does not exist on this machine.
    """
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if not _exists(name):
        found = torch.cuda.device_count()
        raise AdmiralError(f"device {name!r}: is not here ({found} CUDA GPUs); use --device cpu")
    return name


def _exists(name: str) -> bool:
    kind, _, number = name.partition(":")
    if kind == "cuda":
        # Parsed here, because torch takes cuda:256 for cuda:0.
        return torch.cuda.is_available() and int(number or 0) < torch.cuda.device_count()
    return kind != "mps" or torch.backends.mps.is_available()


def choose_precision(config: RetrievalConfig) -> str:
    """Return the precision of the settings; ``auto`` is bf16 if it is fast, else fp32.

    A GPU that this machine does not have may be on another node of a cluster; it is assumed to
    support bf16.
    """
    if config.precision != "auto":
        return config.precision
    if not _exists(config.device):
        return "bf16"
    return "bf16" if bfloat16_is_fast(torch.device(choose_device(config.device))) else "fp32"


def precision_of(dtype: torch.dtype) -> str:
    """Return the name of the precision for a data type of matrix products."""
    return next(name for name, value in _DTYPES.items() if value is dtype)


def choose_dtype(config: RetrievalConfig) -> torch.dtype:
    """Return the data type of matrix products for the precision of the settings."""
    return _DTYPES[choose_precision(config)]


RERANK_HEAD = "rerank_head.safetensors"
SUFFICIENCY_HEAD = "sufficiency_head.safetensors"  # of the judge `classifier`
# The errors that libraries raise for files that are damaged or have other content.
LOADING_ERRORS = (OSError, ValueError, RuntimeError, SafetensorError, KeyError)


class RerankHead(nn.Module):
    """Score every token of the encoder output; a sentence's score is the mean over its tokens.

    Source: token-level evidence selection (Stammbach 2021). `width`: dimension of the encoder
    states.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.score = nn.Linear(width, 1)
        nn.init.zeros_(self.score.bias)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return logits, (..., tokens), of encoder states, (..., tokens, width)."""
        scores: torch.Tensor = self.score(hidden).squeeze(-1)
        return scores


def load_head(path: Path, width: int) -> RerankHead | None:
    """Load the rerank head of a checkpoint directory; return None if there is none.

    Raises AdmiralError if the file is damaged or belongs to a model of another width.
    """
    file = path / RERANK_HEAD
    if not file.is_file():
        return None
    head = RerankHead(width)
    try:
        head.load_state_dict({k: v.float() for k, v in load_file(file).items()})
    except LOADING_ERRORS as error:
        raise AdmiralError(
            f"{file}: not a rerank head of this model ({first_line(error)}); restore it"
        ) from error
    return head


def save_head(path: Path, head: RerankHead, dtype: torch.dtype) -> None:
    """Save the rerank head to a checkpoint directory in `dtype`; the head itself is not changed."""
    weights = {k: v.detach().to("cpu", dtype).contiguous() for k, v in head.state_dict().items()}
    save_file(weights, path / RERANK_HEAD, metadata={"format": "pt"})


def load_sufficiency_head(path: Path, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Load the binary sufficiency classifier of a checkpoint directory.

    - `path`: the directory.
    - `width`: dimension of the encoder states.
    - Returns `weight`: the weights of the classifier, (width,).
    - Returns `bias`: its bias, ().

    Raises AdmiralError if the file is missing or damaged, or belongs to another model.
    """
    file = path / SUFFICIENCY_HEAD
    try:
        tensors = load_file(file)
        weight, bias = tensors["weight"], tensors["bias"]
        if weight.shape != (width,) or bias.shape != ():
            raise ValueError(f"its shape is {tuple(weight.shape)}, not {(width,)}")
        return weight, bias
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise AdmiralError(
            f"{file}: not a sufficiency classifier of this model ({first_line(error)}); "
            "fit one with training.sufficiency, or choose another judge"
        ) from error


logger = getLogger(__name__)

# The files of a checkpoint, including those of checkpoints saved by other programs.
_FILES = {
    *("config.json", "generation_config.json", "model.safetensors"),
    *(RERANK_HEAD, SUFFICIENCY_HEAD),
    # Of a verifier.
    *("evidence_heads.safetensors", "calibration.json"),
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("vocab.json", "vocab.txt", "merges.txt", "spiece.model"),
    *("README.md", "SHA256SUMS", ".gitattributes"),
}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A loaded checkpoint, ready for inference."""

    path: Path  # its directory
    model: Seq2Seq  # model, tokens: the model and its tokenizer
    tokens: SafeTokenizer
    head: RerankHead | None  # the rerank head; None if the checkpoint has none


def locate_checkpoint(name: str | Path) -> Path:
    """Return the directory of a checkpoint.

    `name`: the name of a bundled checkpoint (``mini``), which takes precedence, or a directory.
    Raises AdmiralError if there is no such checkpoint, or it has no safetensors file.
    """
    path = Path(name)
    if str(name) in MODELS:
        path = bundled_directory(str(name))
        if not path.is_dir():
            raise AdmiralError(
                f"model {str(name)!r}: the bundled checkpoint is not in this installation; "
                "train one as the README says, and give its directory by --model"
            )
    if not (path / "config.json").is_file():
        raise AdmiralError(
            f"model {str(name)!r}: no such checkpoint; "
            f"give {' or '.join(MODELS)}, or a directory with config.json and model.safetensors"
        )
    if not (path / "model.safetensors").is_file():
        raise AdmiralError(
            f"{path}: no model.safetensors; pickled weights are not read, "
            "convert them with `admiral convert hf-to-safetensors`"
        )
    return path


def is_checkpoint(path: Path) -> bool:
    """Return whether a directory holds only a checkpoint, so that it may be replaced."""
    names = {file.name for file in path.iterdir()} if path.is_dir() else set()
    return {"config.json", "model.safetensors"} <= names <= _FILES


def count_weights(path: Path) -> int:
    """Return the number of weights in the directory of a checkpoint, with those of its heads.

    Raises AdmiralError if a file is damaged.
    """
    count = 0
    for file in sorted(path.glob("*.safetensors")):
        try:
            with safe_open(file, "np") as tensors:
                shapes = [tensors.get_slice(key).get_shape() for key in tensors.keys()]  # noqa: SIM118
                count += sum(map(math.prod, shapes))
        except LOADING_ERRORS as error:
            raise AdmiralError(f"{file}: damaged ({first_line(error)}). Restore it") from error
    return count


def load_checkpoint(
    name: str | Path, device: str = "cpu", dtype: torch.dtype = torch.float32
) -> Checkpoint:
    """Load a checkpoint for inference, from local files only.

    Raises AdmiralError in the same cases as `load_seq2seq`, if the tokenizer is missing, or if the
    tokenizer or head is damaged or belongs to another model.
    """
    path = locate_checkpoint(name)
    logger.debug("%s: loading on %s in %s", path, device, dtype)
    model = load_seq2seq(path)
    try:
        tokens = SafeTokenizer.load(path, model.config.decoder_start_token_id)
        tokens.single_token("[")  # a tokenizer whose file is missing has no tokens
        head = load_head(path, model.config.hidden_size)
        if head is not None:
            head.to(device).eval()
        model.to(device)  # type: ignore[arg-type]
        return Checkpoint(path, Seq2Seq(model, dtype=dtype), tokens, head)
    except LOADING_ERRORS as error:
        raise _unusable(path, model.config.model_type, error) from error


def load_seq2seq(path: Path, **config: Any) -> PreTrainedModel:
    """Load the model of a checkpoint directory in fp32, from its safetensors file.

    `path`: the directory. `**config`: fields that replace those of ``config.json``. Raises
    AdmiralError if the model is damaged, has another architecture, or lacks weights.
    """
    model_type = read_config(path).model_type
    try:
        with quiet_transformers():
            loaded: Any = AutoModelForSeq2SeqLM.from_pretrained(
                path,
                dtype=torch.float32,
                local_files_only=True,
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
                **config,
            )
        model, report = loaded
        Seq2Seq(model)  # raises for variants that can be loaded but not used
    except LOADING_ERRORS as error:
        raise _unusable(path, model_type, error) from error
    # transformers initialises missing weights with random numbers.
    if missing := report["missing_keys"]:
        raise AdmiralError(
            f"{path}: model.safetensors lacks {len(missing)} weights of a "
            f"{ARCHITECTURES[model_type]} seq2seq model, such as {min(missing)}. "
            "Give another checkpoint."
        )
    seq2seq: PreTrainedModel = model
    return seq2seq


def _unusable(path: Path, model_type: str, error: Exception) -> AdmiralError:
    return AdmiralError(
        f"{path}: not a usable {ARCHITECTURES[model_type]} checkpoint ({first_line(error)}); "
        "restore or convert it"
    )


def has_output_embedding(model: PreTrainedModel) -> bool:
    """Return whether a model writes with another embedding than it reads, as T5 v1.1 does.

    transformers keeps the two apart when it loads such a model, but not in other operations.
    """
    output: Any = model.get_output_embeddings()
    embeddings: Any = model.get_input_embeddings()
    return output.weight is not embeddings.weight


def save_checkpoint(
    out: Path,
    model: PreTrainedModel,
    head: RerankHead | None,
    tokenizer: PreTrainedTokenizerBase,
    dtype: torch.dtype = torch.float16,
) -> None:
    """Save a checkpoint to a directory; the model itself is not changed.

    `out`: the directory; created if necessary. `model`, `head`, `tokenizer`: the parts of the
    checkpoint; `head` may be None. `dtype`: data type of the saved weights.
    """
    out.mkdir(parents=True, exist_ok=True)
    with torch.device("meta"):
        converted = type(model)(copy.deepcopy(model.config))
    # Converted one tensor at a time in host memory, so that no second copy is on the GPU.
    state = {k: v.detach().to("cpu", dtype) for k, v in model.state_dict().items()}
    converted.load_state_dict(state, assign=True)
    if has_output_embedding(model):
        converted.set_input_embeddings(converted.get_input_embeddings())
    else:
        converted.tie_weights()
    converted.generation_config = model.generation_config
    with quiet_transformers():
        converted.save_pretrained(out)
        tokenizer.save_pretrained(out)
    if head is not None:
        save_head(out, head, dtype)


#: Names of the architectures of checkpoints, by the field `model_type`.
ARCHITECTURES = {"bart": "BART", "t5": "T5", "mt5": "mT5", "umt5": "UMT5", "longt5": "LongT5"}


def read_config(directory: Path, architectures: Mapping[str, str] = ARCHITECTURES) -> Any:
    """Read the ``config.json`` of a model of one of some architectures.

    Raises AdmiralError if the file is missing or damaged, or describes another architecture.
    """
    path = directory / "config.json"
    if not path.is_file():
        raise AdmiralError(f"{path}: no such file. Name a Hugging Face model directory.")
    fields: dict[str, Any] = read_object(path)
    model_type = fields.pop("model_type", None)
    if model_type not in architectures:
        raise AdmiralError(
            f"{path}: field 'model_type': {model_type!r} is not "
            f"{' or '.join(map(repr, architectures))}. "
            f"Give a {' or '.join(architectures.values())} checkpoint."
        )
    try:
        return AutoConfig.for_model(model_type, **fields)
    except Exception as error:  # transformers raises many kinds of errors
        raise AdmiralError(
            f"{path}: is not a {architectures[model_type]} config ({error}). Correct the field."
        ) from error


def read_object(path: Path) -> dict[str, object]:
    """Read a file that contains one JSON object; raise `AdmiralError` if it does not."""
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise AdmiralError(f"{path}: cannot be read ({error}). Download it again.") from error
    if not isinstance(fields, dict):
        raise AdmiralError(f"{path}: is not a JSON object. Download it again.")
    return fields


SUMS = "SHA256SUMS"
# Users edit the model card, and the checksum file cannot contain its own checksum.
_UNCHECKED = {"README.md", SUMS}


def write_sums(directory: Path) -> None:
    """Write the checksums of a checkpoint's files, replacing older ones."""
    lines = (f"{sha256_of(file)}  {file.name}\n" for file in _files(directory))
    write_atomically(directory / SUMS, [line.encode() for line in lines])


def verify_checkpoint(name: str | Path) -> list[str]:
    """Check the files of a checkpoint against their checksums and return the problems found.

    Raises AdmiralError if there is no such checkpoint, or it has no checksums.
    """
    directory = locate_checkpoint(name)
    path = directory / SUMS
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        raise AdmiralError(
            f"{path}: missing or damaged, so the checkpoint cannot be verified. `sha256sum * > "
            f"{SUMS}` in its directory creates it, if you know that the checkpoint is intact"
        ) from error
    recorded = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    files = {file.name: file for file in _files(directory)}
    missing = sorted(recorded.keys() - files.keys() - _UNCHECKED)
    return [f"{directory / name}: is missing" for name in missing] + [
        f"{file}: changed since its checksum was written, or has none"
        for name, file in files.items()
        if recorded.get(name) != sha256_of(file)
    ]


def _files(directory: Path) -> list[Path]:
    return sorted(
        path
        for path in directory.iterdir()
        if path.is_file() and path.name not in _UNCHECKED and not path.name.startswith(".")
    )
