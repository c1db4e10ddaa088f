"""A tiny BART and T5 in the layout of the hub, a tiny knowledge base, and training samples."""

import json
import resource
from contextlib import contextmanager
from functools import partial
from importlib import resources
from pathlib import Path
from string import ascii_letters, digits

import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import BartConfig, BartForConditionalGeneration

from admiral.errors import AdmiralError
from admiral.io.settings_docs import settings_tables
from admiral.kb import build
from proofs import NatOp, Proof, ProofStep
from tests.trie.helpers import t5, unigram_tokenizer
from training.data.records import write_records
from training.data.samples import ProveSample, RerankDocument, RerankSample, RetrieveSample
from training.loop.training_loop import run_training
from training.multitask.multitask_program import MultiTaskProgram
from training.multitask.multitask_settings import TrainConfig
from trie.seq2seq import quiet_transformers

#: Settings of a short run of either trainer.
SHORT_RUN = {
    "steps": 12,
    "warmup_steps": 2,
    "precision": "fp32",
    "device": "cpu",
    "eval_every": 0,
    "save_every": 3,
    "log_every": 2,
    "tracker": "none",
}
TITLES = ["Rome", "Paris", "Oslo", "Bern"]
RIVERS = dict(zip(TITLES, ("Tiber", "Seine", "Aker", "Aare"), strict=True))
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def write_hub_directory(folder, positions=128):
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


def write_t5_directory(folder, kind="t5", positions=128):
    """Write a model of T5's family (see `tests.trie.helpers`) in the layout of the hub.

    As in the hub, the vocabulary has no braces and no ``<``, and the embedding has spare rows.
    """
    words = [f"{t} is a city. The {r} is a river.".split() for t, r in RIVERS.items()]
    characters = ascii_letters + digits + ".,[]=!|#>"
    tokenizer = unigram_tokenizer([word for line in words for word in line], characters)
    folder.mkdir(parents=True)
    tokenizer.save_pretrained(folder)
    path = folder / "tokenizer_config.json"
    fields = {"tokenizer_class": "T5Tokenizer", "extra_ids": 0}
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))
    model = t5(
        0,
        kind,
        vocab_size=len(tokenizer) + 4,
        num_layers=1,
        num_decoder_layers=1,
        relative_attention_max_distance=64,
        n_positions=positions,
        initializer_factor=0.3,
    )
    with quiet_transformers():
        model.save_pretrained(folder)
    return folder


def some_samples():
    """Return 16 and 4 retrieval samples of hops 0 and 1, 4 reranking and 8 proof samples."""
    samples = []
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


def prepare(folder, write_start=write_hub_directory):
    """Write checkpoint, samples and knowledge base, and return the settings of a short run."""
    write_start(folder / "start")
    write_records(folder / "samples.jsonl", some_samples())
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
        batch_tokens=256,
        rerank_tokens=512,
        max_source=96,
        max_target=96,
        encoder_lr=1e-2,
        decoder_lr=1e-2,
        eval_samples=4,
        eval_beams=4,
        proof_beams=1,
        **SHORT_RUN,
    )


def to_yaml(config, path):
    """Write settings to a file."""
    path.write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in vars(config).items()))
    return path


def lines(config):
    """Return the log records of a run."""
    log = Path(f"{config.out}.run") / "log.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def elsewhere(config, out):
    """Return the same settings with another output directory next to it."""
    return config.changed(out=str(Path(config.out).with_name(out)))


def weights(config):
    """Return the weights of the exported model and its heads."""
    files = sorted(Path(config.out).glob("*.safetensors"))
    return {f"{path.stem}/{key}": w for path in files for key, w in load_file(path).items()}


def same_weights(one, other):
    """Return whether two runs exported the same weights."""
    ours, theirs = weights(one), weights(other)
    return ours.keys() == theirs.keys() and all(torch.equal(ours[k], theirs[k]) for k in ours)


def check_named(load, folder, text, key):
    """Check that a file of settings with one bad value is refused by file and key."""
    path = folder / "bad.yaml"
    path.write_text(text)
    with pytest.raises(AdmiralError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: key {key!r}: ")


CLAIMS = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"


def run_program(program, *arguments):
    """Run a program with command line arguments."""
    return CliRunner().invoke(program, [str(argument) for argument in arguments])


def page_of_settings(kind):
    """Return what a page says of the settings of a program whose others are those of training."""
    rows = {
        each: [
            line
            for line in settings_tables(each, lambda name: None).splitlines()
            if line.startswith("| `")
        ]
        for each in (kind, TrainConfig)
    }
    shared = [line.split("|")[1].strip() for line in rows[kind] if line in rows[TrainConfig]]
    own = [line for line in rows[kind] if line not in rows[TrainConfig]]
    return "\n".join(
        [
            "",
            f"{', '.join(shared[:-1])} and {shared[-1]}",
            "are those of [training](training.md#settings). The others:",
            "",
            "| setting | default | meaning |",
            "|---|---|---|",
            *own,
            "",
        ]
    )


def train(config, tasks, overwrite=False):
    """Train the multi-task model."""
    run_training(config, partial(MultiTaskProgram, config, tasks=tasks), overwrite=overwrite)


@contextmanager
def full_disk(bytes_left):
    """Let the system refuse to write files beyond a size, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_left, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
