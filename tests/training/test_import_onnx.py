"""The importer of quantised ONNX encoders, beside what onnxruntime computes from the same file."""

import json

import numpy as np
import onnx
import pytest
import torch
from click.testing import CliRunner
from onnx import TensorProto, helper, numpy_helper
from transformers import AutoModel, BertConfig, BertModel

from admiral.errors import AdmiralError
from admiral.requirements import minilm_directory
from training.import_onnx import agreement, import_encoder, locate_encoder, main, read_state

WIDTH, HEADS, LAYERS, LENGTH = 24, 4, 2, 64


class Graph:
    """Builds the ONNX graph of a BERT encoder as dynamic quantisation leaves it.

    It is written node by node, so that it shares no code with the importer.
    """

    def __init__(self, model):
        self._state = {k: v.numpy() for k, v in model.state_dict().items()}
        self.nodes = []
        self.initializers = []

    def constant(self, name, values):
        self.initializers.append(numpy_helper.from_array(values, name))
        return name

    def node(self, kind, inputs, name, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [f"{name}_out"], name=name, **attributes))
        return f"{name}_out"

    def quantised(self, name, values):
        scale = np.float32(np.ptp(values) / 255)
        zero = np.uint8(np.clip(np.round(-values.min() / scale), 0, 255))
        rounded = np.clip(np.round(values / scale) + zero, 0, 255).astype(np.uint8)
        self.constant(f"{name}_quantized", rounded)
        self.constant(f"{name}_scale", scale)
        self.constant(f"{name}_zero_point", zero)

    def embedding(self, name, ids):
        self.quantised(name, self._state[name])
        values = self.node(
            "DequantizeLinear",
            [f"{name}_quantized", f"{name}_scale", f"{name}_zero_point"],
            f"{name}_dq",
        )
        return self.node("Gather", [values, ids], f"{name}_gather")

    def linear(self, states, module, number):
        base, path = f"onnx::MatMul_{number}", module.replace(".", "/")
        self.quantised(base, np.ascontiguousarray(self._state[f"{module}.weight"].T))
        self.nodes.append(
            helper.make_node(
                "DynamicQuantizeLinear",
                [states],
                [f"{path}_x", f"{path}_xs", f"{path}_xz"],
                name=f"/{path}/quantise",
            )
        )
        product = self.node(
            "MatMulInteger",
            [f"{path}_x", f"{base}_quantized", f"{path}_xz", f"{base}_zero_point"],
            f"/{path}/MatMul_quant",
        )
        product = self.node("Cast", [product], f"/{path}/cast", to=TensorProto.FLOAT)
        scale = self.node("Mul", [f"{path}_xs", f"{base}_scale"], f"/{path}/scale")
        product = self.node("Mul", [product, scale], f"/{path}/scaled")
        bias = self.constant(f"{module}.bias", self._state[f"{module}.bias"])
        return self.node("Add", [product, bias], f"/{path}/add")

    def norm(self, states, module):
        names = [
            self.constant(f"{module}.{n}", self._state[f"{module}.{n}"]) for n in ("weight", "bias")
        ]
        return self.node("LayerNormalization", [states, *names], f"{module}_ln", epsilon=1e-12)

    def heads(self, states, name, order):
        shape = self.constant(f"{name}_shape", np.array([1, -1, HEADS, WIDTH // HEADS]))
        split = self.node("Reshape", [states, shape], f"{name}_reshape")
        return self.node("Transpose", [split], f"{name}_transpose", perm=order)


def onnx_encoder(path, model):
    """Write a BERT encoder as a quantised ONNX file."""
    graph, number = Graph(model), 100
    words = graph.embedding("embeddings.word_embeddings.weight", "input_ids")
    types = graph.embedding("embeddings.token_type_embeddings.weight", "token_type_ids")
    ones = graph.constant("one", np.array(1))
    places = graph.node("CumSum", ["attention_mask", ones], "cumsum")
    places = graph.node("Sub", [places, ones], "places")
    positions = graph.embedding("embeddings.position_embeddings.weight", places)
    states = graph.node("Add", [words, types], "words_types")
    states = graph.norm(graph.node("Add", [states, positions], "sum"), "embeddings.LayerNorm")
    for layer in range(LAYERS):
        own = f"encoder.layer.{layer}"
        parts = {}
        for part in ("query", "key", "value"):
            number += 1
            parts[part] = graph.linear(states, f"{own}.attention.self.{part}", number)
        query = graph.heads(parts["query"], f"{own}.q", [0, 2, 1, 3])
        key = graph.heads(parts["key"], f"{own}.k", [0, 2, 3, 1])
        value = graph.heads(parts["value"], f"{own}.v", [0, 2, 1, 3])
        scores = graph.node("MatMul", [query, key], f"{own}.scores")
        root = graph.constant(f"{own}.root", np.float32((WIDTH / HEADS) ** 0.5))
        weights = graph.node(
            "Softmax", [graph.node("Div", [scores, root], f"{own}.div")], f"{own}.softmax", axis=-1
        )
        mixed = graph.node("MatMul", [weights, value], f"{own}.mixed")
        mixed = graph.node("Transpose", [mixed], f"{own}.back", perm=[0, 2, 1, 3])
        flat = graph.constant(f"{own}.flat", np.array([1, -1, WIDTH]))
        mixed = graph.node("Reshape", [mixed, flat], f"{own}.join")
        mixed = graph.linear(mixed, f"{own}.attention.output.dense", number + 1)
        states = graph.norm(
            graph.node("Add", [mixed, states], f"{own}.residual"),
            f"{own}.attention.output.LayerNorm",
        )
        inner = graph.linear(states, f"{own}.intermediate.dense", number + 2)
        inner = graph.node("Gelu", [inner], f"{own}.gelu")
        outer = graph.linear(inner, f"{own}.output.dense", number + 3)
        number += 3
        states = graph.norm(
            graph.node("Add", [outer, states], f"{own}.residual2"), f"{own}.output.LayerNorm"
        )
    graph.node("Identity", [states], "last_hidden_state")
    shape = [1, None]
    made = helper.make_graph(
        graph.nodes,
        "bert",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, shape)
            for name in ("input_ids", "attention_mask", "token_type_ids")
        ],
        [
            helper.make_tensor_value_info(
                "last_hidden_state_out", TensorProto.FLOAT, [1, None, WIDTH]
            )
        ],
        graph.initializers,
    )
    file = helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(file, path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (path.parent / name).write_bytes((minilm_directory() / name).read_bytes())
    return path


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=30522,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=2 * WIDTH,
        max_position_embeddings=LENGTH,
        initializer_range=0.3,
    )
    model = BertModel(config, add_pooling_layer=False).eval()
    path = onnx_encoder(tmp_path_factory.mktemp("onnx") / "model.onnx", model)
    return path, model


def test_the_weights_are_those_of_the_model(encoder):
    path, model = encoder
    state = read_state(path)
    own = {k: v for k, v in model.state_dict().items() if v.is_floating_point()}
    assert state.keys() == own.keys()
    for name, value in own.items():
        step = (value.max() - value.min()) / 255
        assert torch.allclose(state[name], value, atol=float(step) + 1e-6), name


def test_the_folder_agrees_with_onnxruntime(encoder, tmp_path):
    out = tmp_path / "bert"
    done = CliRunner().invoke(main, [str(encoder[0]), str(out), "--attention-heads", str(HEADS)])
    assert done.exit_code == 0, done.output
    assert "cosine of 0.99" in done.output or "cosine of 1.00" in done.output
    assert agreement(encoder[0], out) > 0.99
    loaded = AutoModel.from_pretrained(out, local_files_only=True)
    assert loaded.config.num_hidden_layers == LAYERS
    assert json.loads((out / "config.json").read_text())["architectures"] == ["BertModel"]


def test_a_wrong_number_of_heads_is_noticed(encoder, tmp_path):
    with pytest.raises(AdmiralError, match="--attention-heads 2 right"):
        import_encoder(encoder[0], tmp_path / "bert", 2)
    assert not (tmp_path / "bert").exists()


def test_other_files_are_refused(encoder, tmp_path):
    other = tmp_path / "model.onnx"
    other.write_bytes(b"no graph")
    with pytest.raises(AdmiralError, match="is not an ONNX file"):
        read_state(other)
    empty = helper.make_model(helper.make_graph([], "nothing", [], []))
    onnx.save(empty, other)
    with pytest.raises(AdmiralError, match="no quantised BERT encoder"):
        read_state(other)
    other.write_bytes(encoder[0].read_bytes())
    with pytest.raises(AdmiralError, match=r"tokenizer\.json: no such file"):
        import_encoder(other, tmp_path / "bert", HEADS)


@pytest.mark.slow
def test_the_encoder_of_the_wheel(tmp_path):
    """The real file; skipped where the package of 72 MB is not installed."""
    try:
        path = locate_encoder("bge-small")
    except AdmiralError as error:
        pytest.skip(str(error))
    assert import_encoder(path, tmp_path / "bge-small") > 0.99
