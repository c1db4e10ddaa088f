"""A hand-written fairseq BART folder, and fairseq's forward pass as the oracle."""

from __future__ import annotations

import argparse
import itertools
import json
import math
from dataclasses import dataclass, field

import pytest
import torch
import torch.nn.functional as F

# Enough merges for tokens of several lengths, with and without the space before (U+0120).
MERGES = [
    *(("t", "h"), ("th", "e"), ("\u0120", "the"), ("a", "n"), ("\u0120", "an"), ("e", "r")),
    *(("i", "n"), ("in", "g"), ("\u0120", "b"), ("\u0120b", "er"), ("\u0120", "[")),
    ("\u0120", "]"),
]


def letters():
    """Return GPT-2's byte-to-character table, in which printable bytes represent themselves."""
    table, spare = {}, 0
    for byte in range(256):
        if 33 <= byte <= 126 or 161 <= byte <= 172 or 174 <= byte <= 255:
            table[byte] = chr(byte)
        else:
            table[byte] = chr(256 + spare)
            spare += 1
    return table


def encoder_json():
    """Return GPT-2's ids of bytes, merges and the end token."""
    table = letters()
    order = [b for b in range(256) if table[b] == chr(b)] + [
        b for b in range(256) if table[b] != chr(b)
    ]
    tokens = [table[b] for b in order] + [a + b for a, b in MERGES] + ["<|endoftext|>"]
    return {token: number for number, token in enumerate(tokens)}


@dataclass
class Shape:
    """Shape of a small BART whose encoder and decoder differ."""

    width: int = 16
    layers: tuple[int, int] = (2, 3)
    heads: tuple[int, int] = (4, 2)
    inner: tuple[int, int] = (24, 40)
    positions: int = 20
    scaled: bool = False
    activation: str = "gelu"
    mask: str = "row"  # "row": as bart.large; "line": in dict.txt; "none": as GENRE
    extra: list[str] = field(default_factory=lambda: ["madeupword0000", "madeupword0001"])
    dtype: torch.dtype = torch.float32
    seed: int = 0


def dictionary_lines(shape):
    generator = torch.Generator().manual_seed(shape.seed)
    numbers = torch.randperm(len(encoder_json()), generator=generator).tolist()
    return [str(n) for n in numbers] + shape.extra + ["<mask>"] * (shape.mask == "line")


def random_state(shape):
    generator = torch.Generator().manual_seed(shape.seed + 1)

    def draw(*size):
        return (torch.randn(*size, generator=generator) * 0.3).to(shape.dtype)

    rows = 4 + len(dictionary_lines(shape)) + (shape.mask == "row")
    embedding = draw(rows, shape.width)
    state = {"encoder.version": torch.tensor([3.0]), "decoder.version": torch.tensor([3.0])}
    for side, layers, inner in zip(("encoder", "decoder"), shape.layers, shape.inner, strict=True):
        state[f"{side}.embed_tokens.weight"] = embedding
        state[f"{side}.embed_positions.weight"] = draw(shape.positions + 2, shape.width)
        norms = [f"{side}.layernorm_embedding"]
        for layer in range(layers):
            place = f"{side}.layers.{layer}"
            attentions = ["self_attn"] + ["encoder_attn"] * (side == "decoder")
            linears = [f"{a}.{p}_proj" for a in attentions for p in ("q", "k", "v", "out")]
            for name, out, into in [
                *((n, shape.width, shape.width) for n in linears),
                ("fc1", inner, shape.width),
                ("fc2", shape.width, inner),
            ]:
                state[f"{place}.{name}.weight"] = draw(out, into)
                state[f"{place}.{name}.bias"] = draw(out)
            norms += [f"{place}.{a}_layer_norm" for a in attentions]
            norms.append(f"{place}.final_layer_norm")
        for name in norms:
            state[f"{name}.weight"] = 1 + draw(shape.width)
            state[f"{name}.bias"] = draw(shape.width)
    state["decoder.output_projection.weight"] = embedding
    return state


def arguments(shape):
    """Return the arguments that fairseq-train saves, as far as the conversion uses them."""
    args = argparse.Namespace(
        arch="bart_large",
        task="translation" if shape.mask == "none" else "denoising",
        activation_fn=shape.activation,
        no_scale_embedding=not shape.scaled,
        layernorm_embedding=True,
        share_all_embeddings=True,
        dropout=0.1,
        attention_dropout=0.2,
        relu_dropout=0.05,
        max_source_positions=shape.positions,
        max_target_positions=shape.positions,
        adam_betas="(0.9, 0.999)",
        lr=[3e-05],
    )
    for number, side in enumerate(("encoder", "decoder")):
        setattr(args, f"{side}_layers", shape.layers[number])
        setattr(args, f"{side}_attention_heads", shape.heads[number])
        setattr(args, f"{side}_ffn_embed_dim", shape.inner[number])
        setattr(args, f"{side}_embed_dim", shape.width)
        setattr(args, f"{side}_normalize_before", False)
        setattr(args, f"{side}_learned_pos", True)
    return args


def write_folder(directory, shape):
    """Write ``model.pt``, the dictionary and the byte pairs."""
    directory.mkdir(parents=True)
    names = ["dict.source.txt", "dict.target.txt"] if shape.mask == "none" else ["dict.txt"]
    for name in names:
        (directory / name).write_text(
            "".join(f"{line} {9 - n % 9}\n" for n, line in enumerate(dictionary_lines(shape)))
        )
    (directory / "encoder.json").write_text(json.dumps(encoder_json()))
    (directory / "vocab.bpe").write_text(
        "#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in MERGES), encoding="utf-8"
    )
    torch.save(
        {
            "args": arguments(shape),
            "model": random_state(shape),
            "optimizer_history": [{"num_updates": 7, "optimizer_name": "FairseqAdam"}],
            "extra_state": {"train_iterator": {"epoch": 2}},
            "last_optimizer_state": {"state": {0: {"exp_avg": torch.zeros(3)}}},
        },
        directory / "model.pt",
    )
    return directory


def fairseq_ids(text, lines):
    """Encode as fairseq does: GPT-2's byte pairs, whose ids are symbols of the dictionary."""
    import regex

    ranks = {pair: rank for rank, pair in enumerate(MERGES)}
    table, encoder = letters(), encoder_json()
    row = {line: 4 + n for n, line in enumerate(lines)}
    pattern = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    ids = [0]
    for word in regex.findall(pattern, text):
        parts = [table[byte] for byte in word.encode()]
        while True:
            pairs = [(ranks[p], n) for n, p in enumerate(itertools.pairwise(parts)) if p in ranks]
            if not pairs:
                break
            _, place = min(pairs)
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        ids += [row[str(encoder[part])] for part in parts]
    return [*ids, 2]


def fairseq_logits(state, shape, source, previous):
    """Compute the logits (batch, target length, rows) of fairseq's BART (post layer norm)."""
    act = {
        "gelu": lambda x: x * 0.5 * (1 + torch.erf(x / math.sqrt(2))),
        "gelu_accurate": lambda x: (
            0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
        ),
        "relu": lambda x: x.clamp(min=0),
    }

    def linear(x, name):
        return x @ state[f"{name}.weight"].T + state[f"{name}.bias"]

    def norm(x, name):
        return F.layer_norm(x, (shape.width,), state[f"{name}.weight"], state[f"{name}.bias"], 1e-5)

    def attend(x, y, hidden, heads, name):
        def split(z):
            return z.view(*z.shape[:2], heads, -1).transpose(1, 2)

        query = split(linear(x, f"{name}.q_proj") * (shape.width // heads) ** -0.5)
        key, value = split(linear(y, f"{name}.k_proj")), split(linear(y, f"{name}.v_proj"))
        scores = (query @ key.transpose(2, 3)).masked_fill(hidden, -math.inf)
        mixed = (scores.softmax(-1) @ value).transpose(1, 2).reshape(x.shape)
        return linear(mixed, f"{name}.out_proj")

    def embed(tokens, side):
        real = tokens.ne(1).long()
        positions = real.cumsum(1) * real + 1  # fairseq counts from the padding's id
        scale = math.sqrt(shape.width) if shape.scaled else 1.0
        x = scale * state[f"{side}.embed_tokens.weight"][tokens]
        x = x + state[f"{side}.embed_positions.weight"][positions]
        return norm(x, f"{side}.layernorm_embedding") * real.unsqueeze(-1)

    def feed(x, name):
        return linear(act[shape.activation](linear(x, f"{name}.fc1")), f"{name}.fc2")

    padding = source.eq(1)[:, None, None, :]
    x = embed(source, "encoder")
    for layer in range(shape.layers[0]):
        name = f"encoder.layers.{layer}"
        x = norm(
            x + attend(x, x, padding, shape.heads[0], f"{name}.self_attn"),
            f"{name}.self_attn_layer_norm",
        )
        x = norm(x + feed(x, name), f"{name}.final_layer_norm")
    length = previous.shape[1]
    future = torch.ones(length, length).triu(1).bool()
    y = embed(previous, "decoder")
    for layer in range(shape.layers[1]):
        name = f"decoder.layers.{layer}"
        y = norm(
            y + attend(y, y, future, shape.heads[1], f"{name}.self_attn"),
            f"{name}.self_attn_layer_norm",
        )
        y = norm(
            y + attend(y, x, padding, shape.heads[1], f"{name}.encoder_attn"),
            f"{name}.encoder_attn_layer_norm",
        )
        y = norm(y + feed(y, name), f"{name}.final_layer_norm")
    return y @ state["decoder.output_projection.weight"].T


@dataclass
class Fairseq:
    """The helpers above, for tests, which cannot import this file."""

    Shape = Shape
    write = staticmethod(write_folder)
    state = staticmethod(random_state)
    arguments = staticmethod(arguments)
    lines = staticmethod(dictionary_lines)
    encode = staticmethod(fairseq_ids)
    logits = staticmethod(fairseq_logits)
    merges = MERGES
    encoder = staticmethod(encoder_json)


@pytest.fixture(scope="session")
def fairseq():
    return Fairseq()
