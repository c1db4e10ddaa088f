"""Training a tiny natural-logic reader: what spans may be, the loss, learning, and resuming."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

from admiral.errors import AdmiralError
from proofs.logic import OPERATORS
from proofs.reader.inputs import ReaderEncoder
from proofs.reader.model import new_reader
from proofs.verifier import sentence_text
from tests.proofs.verifier.tiny_classifier import write_classifier_directory
from tests.training.tiny import SHORT_RUN, lines, page_of_settings, to_yaml
from training.__main__ import main
from training.data.examples import Example
from training.data.records import write_records
from training.loop.training_loop import run_training
from training.reading import ANY_OPERATOR, collate, encoded_by, possible_operators
from training.reading.adapters import load_reader, with_adapters
from training.reading.reader_program import ReaderConfig, ReaderLoss, ReaderProgram
from training.verification import marginal_losses, read_example_set


def train(config):
    run_training(config, partial(ReaderProgram, config))


ROOT = Path(__file__).parents[3]
CITIES = ("Rome", "Paris", "Oslo", "Bern")
CLAIM = "Rome is a city in Italy and lies on the Tiber."
SENTENCES = (("Rome", "Rome is a city in Italy."), ("", "Paris was never on the Tiber."))


def some_examples():
    examples = []
    for name in CITIES:
        claim = f"{name} is a city in Italy."
        town, no = (name, f"{name} is a city in Italy."), (name, f"{name} is not a city.")
        other = ("", "Oslo was never on the Tiber.")
        denied = ((0, len(name), "entailment"), (len(name) + 1, len(claim), "contradiction"))
        examples += [
            Example(
                claim, (town, other), "entailment", "cities", ("entailment", "neutral"), (), name
            ),
            Example(claim, (no,), "contradiction", "cities", ("contradiction",), denied, name),
            Example(claim, (other,), "neutral", "rivers", ("neutral",)),
            Example(f"{name} lies on the Tiber.", (no,), "not_entailment", "rivers", weight=2.0),
        ]
    return examples


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reader")
    write_classifier_directory(folder / "base", labels=())
    write_records(folder / "examples.jsonl", some_examples())
    return ReaderConfig(
        base=str(folder / "base"),
        examples=str(folder / "examples.jsonl"),
        dev=str(folder / "examples.jsonl"),
        out=str(folder / "out"),
        rank=4,
        batch_tokens=96,
        max_length=48,
        lr=1e-2,
        head_lr=1e-2,
        **SHORT_RUN,
    )


@pytest.fixture(scope="module")
def encoder(settings):
    return ReaderEncoder.of(new_reader(Path(settings.base), 0)[1], 48)


def read_items(path, encoder):
    """Return the examples of a file as the reader learns from them."""
    return read_example_set("train", [Path(path)], encoder, encoded_by(encoder)).items


def symbols(bits):
    return "".join(operator.value for at, operator in enumerate(OPERATORS) if bits >> at & 1)


@pytest.mark.parametrize(
    ("label", "spans", "expected"),
    [
        ("entailment", (), ["=<"] * 5),
        ("neutral", (), ["=", "", "", "", ""]),  # the title of a sentence
        ("not_entailment", ((0, 4, "entailment"),), ["=<", "", "", "", ""]),
        ("contradiction", ((18, 23, "contradiction"),), ["=", "", "!|", "", ""]),
        (
            "contradiction",
            ((0, 4, "entailment"), (18, 23, "contradiction"), (24, 46, "neutral")),
            ["=<>", "", "!|", "", ""],
        ),
        # Two denials would support the claim, so they are left to the automaton.
        ("contradiction", ((18, 23, "contradiction"), (40, 45, "contradiction")), ["=", *[""] * 4]),
        ("neutral", ((0, 23, "entailment"), (35, 45, "neutral")), ["=<", "=<", "=<", "", "#"]),
        # Which of several open spans lacks evidence is not known.
        ("neutral", ((0, 23, "entailment"), (24, 45, "neutral")), ["=<", "=<", "=<", "", ""]),
    ],
)
def test_operators_follow_what_is_known_of_the_claim(encoder, label, spans, expected):
    example = Example(CLAIM, SENTENCES, label, "s", spans=spans)
    (read,) = encoder.encode([CLAIM], [SENTENCES])
    assert [CLAIM[b:e] for b, e in read.places] == [
        *("Rome", "is a city", "in Italy", "and lies", "on the Tiber.")
    ]
    possible = possible_operators(example, read)
    assert [symbols(bits) if bits != ANY_OPERATOR else "" for bits in possible] == expected


def test_words_of_a_span_teach_where_it_is_quoted(encoder, tmp_path):
    """Of several places, those with most of its words count; half of them are needed."""
    evidence = (("Rome", "Rome is an old city."), ("", "The city is in Italy."), ("", "Rome is a"))
    example = Example(CLAIM, evidence, "entailment", "s")
    write_records(tmp_path / "one.jsonl", [example])
    (item,) = read_items(tmp_path / "one.jsonl", encoder)
    places = torch.tensor(item.quotations.tolist()).view(-1, 3).tolist()
    (read,) = encoder.encode([CLAIM], [evidence])
    claim = [CLAIM[begin:end] for begin, end in read.places]
    found = {}
    for span, first, last in places:
        sentence = max(n for n, marker in enumerate(read.markers) if marker < first)
        offsets = read.offsets[sentence]
        begin, end = (offsets[at - read.markers[sentence] - 1] for at in (first, last))
        text = sentence_text(evidence[sentence])[begin[0] : end[1]]
        found.setdefault(claim[span], []).append((sentence, text))
    assert found == {
        "Rome": [(0, "Rome"), (0, "Rome"), (2, "Rome")],
        "is a city": [(0, "city"), (1, "city")],
        "in Italy": [(1, "Italy")],
    }


@given(
    st.lists(st.floats(-9, 9), min_size=6, max_size=6), st.integers(1, (1 << len(OPERATORS)) - 1)
)
def test_a_loss_is_that_of_the_sum_of_possible_answers(scores, bits):
    logits = torch.tensor(scores, dtype=torch.float64)
    total = sum(p for at, p in enumerate(logits.softmax(0).tolist()) if bits >> at & 1)
    loss = float(marginal_losses(logits, torch.tensor(bits)))
    assert loss == pytest.approx(-torch.tensor(total, dtype=torch.float64).log().item(), abs=1e-9)


@pytest.mark.parametrize("heads", ["both", "automaton", "whole"])
def test_only_the_chosen_heads_teach_the_encoder(settings, encoder, heads):
    items = read_items(settings.examples, encoder)
    batch = collate(items, encoder.special.pad)
    reader, _ = new_reader(Path(settings.base), 0)
    ReaderLoss(reader, heads)(batch).backward()
    assert (reader.whole[0].weight.grad is not None) == (heads != "automaton")
    assert float(reader.operators[0].weight.grad.abs().max()) > 0
    # If only operators are known, their gradient reaches the encoder unless the whole head leads.
    reader.zero_grad()
    unknown = torch.full_like(batch.labels, 0b111)
    few = replace(batch, labels=unknown, sentences=torch.full_like(batch.sentences, 0b111))
    ReaderLoss(reader, heads)(few).backward()
    taught = max(
        float(p.grad.abs().max()) for p in reader.encoder.parameters() if p.grad is not None
    )
    assert (taught > 0) == (heads != "whole")


def test_the_automaton_is_drawn_towards_the_whole_head_and_not_the_reverse(settings, encoder):
    """Without labels, nothing else teaches the operators."""
    items = read_items(settings.examples, encoder)
    batch = collate(items, encoder.special.pad)
    batch = replace(
        batch,
        labels=torch.full_like(batch.labels, 0b111),
        operators=torch.full_like(batch.operators, ANY_OPERATOR),
        quotable=torch.zeros_like(batch.quotable),
    )
    reader, _ = new_reader(Path(settings.base), 0)
    ReaderLoss(reader, "both")(batch).backward()
    assert float(reader.operators[0].weight.grad.abs().max()) > 0
    assert float(reader.whole[0].weight.grad.abs().max()) == 0


def test_a_reader_learns_and_its_adapters_are_all_that_is_kept(settings, tmp_path):
    config = settings.changed(out=str(tmp_path / "out"), steps=150, eval_every=150)
    train(config)
    log = lines(config)
    losses = [record["reader"] for record in log if "reader" in record]
    assert losses[-1] < losses[0] / 10
    scores = next(record for record in log if "dev/score" in record)
    assert scores["dev/cities/accuracy"] == 1
    assert scores["dev/cities/pairs"] == 1
    weights = load_file(tmp_path / "out" / "model.safetensors")
    assert all("lora_" in name or not name.startswith("encoder.") for name in weights)
    card = (tmp_path / "out" / "README.md").read_text()
    assert "| cities | 4 contradiction, 4 entailment | 8 |" in card

    loaded, _ = new_reader(Path(settings.base), 1)
    with_adapters(loaded, 4)
    load_reader(loaded, tmp_path / "out")
    state = loaded.state_dict()
    for name, value in weights.items():
        assert torch.equal(state[name], value.float())
    other, _ = new_reader(Path(settings.base), 1)
    with_adapters(other, 2)
    with pytest.raises((AdmiralError, RuntimeError)):
        load_reader(other, tmp_path / "out")


@pytest.mark.parametrize("rank", [0, 4])
def test_a_resumed_run_ends_where_a_whole_one_does(settings, tmp_path, rank):
    whole = settings.changed(out=str(tmp_path / "whole"), rank=rank)
    train(whole)
    halves = settings.changed(out=str(tmp_path / "halves"), rank=rank)
    train(halves.changed(steps=6, lr_schedule="constant"))
    train(halves)
    one, two = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "halves"))
    assert one.keys() == two.keys()
    for name, value in one.items():
        assert torch.equal(value, two[name]), name


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"base": "nowhere"}, r"base: nowhere: there is no encoder; get it with python -m"),
        ({"best_metric": "seas/accuracy", "eval_every": 1}, "cannot be measured there"),
    ],
)
def test_bad_settings_are_errors_with_a_remedy(settings, tmp_path, changed, message):
    with pytest.raises(AdmiralError, match=message):
        train(settings.changed(out=str(tmp_path / "out"), **changed))


def test_the_program_runs_from_a_file_of_settings(settings, tmp_path):
    config = to_yaml(settings.changed(out=str(tmp_path / "out"), steps=1), tmp_path / "c.yaml")
    result = CliRunner().invoke(main, ["reader", "--config", str(config)])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "model.safetensors").is_file()


def test_the_shipped_settings_are_valid_and_documented():
    """To update the page, paste the expected text."""
    own = ReaderConfig.read(ROOT / "configs" / "reader.yaml")
    assert (own.base, own.out, own.heads, own.rank) == ("runs/base", "runs/reader", "both", 0)
    _, _, documented = (ROOT / "docs" / "reader.md").read_text().partition("\n## Settings\n")
    assert documented == page_of_settings(ReaderConfig)
