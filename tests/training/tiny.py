"""A tiny BART in the layout of the hub, a tiny knowledge base, and samples, for training tests."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import BartConfig, BartForConditionalGeneration

from admiral.kb import build
from admiral.models.checkpoint import quiet_transformers
from proofs import NatOp, Proof, ProofStep
from training.data.samples import (
    ProveSample,
    RerankDocument,
    RerankSample,
    RetrieveSample,
    Sample,
    write_samples,
)
from training.loop.run_config import TrainConfig

TITLES = ["Rome", "Paris", "Oslo", "Bern"]
RIVERS = dict(zip(TITLES, ("Tiber", "Seine", "Aker", "Aare"), strict=True))
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def write_hub_directory(folder: Path, positions: int = 128) -> Path:
    """Write a BART in the hub's layout: byte-pair tokens, special ids 0 to 2, no task tokens."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=SPECIALS,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    text = [f"{t} is a city. The {r} is a river. [ ] {{ }}" for t, r in RIVERS.items()]
    core.train_from_iterator(text * 4, trainer)
    core.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    folder.mkdir(parents=True)
    core.save(str(folder / "tokenizer.json"))
    core.model.save(str(folder))  # vocab.json and merges.txt
    torch.manual_seed(0)
    config = BartConfig(
        vocab_size=core.get_vocab_size(),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=positions,
        bos_token_id=0,
        pad_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=2,
        forced_eos_token_id=2,
        init_std=0.2,  # with smaller weights, a model of this size learns nothing
    )
    with quiet_transformers():
        BartForConditionalGeneration(config).save_pretrained(folder)
    return folder


def some_samples() -> list[Sample]:
    """Return 16 and 4 retrieval samples of hops 0 and 1, 4 reranking and 8 proof samples."""
    samples: list[Sample] = []
    documents = [(t, (f"{t} is a city.", f"The {RIVERS[t]} is a river.")) for t in TITLES]
    for title, sentences in documents:
        claim = f"{title} is a city."
        other = TITLES[(TITLES.index(title) + 1) % len(TITLES)]
        evidence = ((title, sentences[0]), (other, f"The {RIVERS[other]} is a river."))
        samples += [RetrieveSample(claim, (), 0, (title,))] * 4
        samples += [RetrieveSample(f"The {RIVERS[title]} is a river.", evidence, 1, (title, other))]
        samples += [
            RerankSample(
                claim, (), tuple(RerankDocument(t, s, (0,) * (t == title)) for t, s in documents)
            )
        ]
        samples += [
            ProveSample(claim, evidence[:1], Proof((ProofStep(claim, claim, NatOp.EQUIVALENCE),))),
            ProveSample(claim, evidence[1:], Proof((ProofStep(claim, "", NatOp.INDEPENDENCE),))),
        ]
    return samples


def prepare(folder: Path) -> TrainConfig:
    """Write checkpoint, samples and knowledge base, and return the settings of a short run."""
    write_hub_directory(folder / "start")
    write_samples(folder / "samples.jsonl", some_samples())
    corpus = folder / "corpus.jsonl"
    corpus.write_text(
        "".join(json.dumps({"title": t, "sentences": [f"{t} is a city."]}) + "\n" for t in TITLES)
    )
    build(corpus, folder / "kb", bm25="none", progress=False)
    return TrainConfig(
        start=str(folder / "start"),
        samples=str(folder / "samples.jsonl"),
        dev=str(folder / "samples.jsonl"),
        kb=str(folder / "kb"),
        out=str(folder / "out"),
        steps=12,
        batch_tokens=256,
        rerank_tokens=512,
        max_source=96,
        max_target=96,
        encoder_lr=1e-2,
        decoder_lr=1e-2,
        warmup_steps=2,
        precision="fp32",
        device="cpu",
        eval_every=0,
        eval_samples=4,
        eval_beams=4,
        proof_beams=1,
        save_every=3,
        log_every=2,
        tracker="none",
    )


def to_yaml(config: TrainConfig, path: Path) -> Path:
    """Write settings to a file."""
    path.write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in vars(config).items()))
    return path


def lines(config: TrainConfig) -> list[dict[str, float]]:
    """Return the log records of a run."""
    log = Path(f"{config.out}.run") / "log.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def elsewhere(config: TrainConfig, out: str) -> TrainConfig:
    """Return the same settings with another output directory next to it."""
    return replace(config, out=str(Path(config.out).with_name(out)))


@contextmanager
def full_disk(bytes_left: int) -> Iterator[None]:
    """Let the system refuse to write files beyond a size, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_left, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
