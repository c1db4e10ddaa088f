"""The natural-logic reader: its input, its automaton, and what it says of spans."""

from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from proofs.logic import OPERATORS, verdict
from proofs.reader.automaton import STATES, best_path
from proofs.reader.inputs import MAX_SPANS, ReaderEncoder
from proofs.reader.model import AutomatonLayer, new_reader
from tests.proofs.verifier.tiny_classifier import write_classifier_directory

SENTENCES = (("Rome", "Rome is a city in Italy."), ("", "Oslo was never on the Tiber."))
CLAIM = "Paris is the capital of France and lies on the Tiber."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_classifier_directory(tmp_path_factory.mktemp("reader") / "base", labels=())


@pytest.fixture(scope="module")
def reader(folder):
    model, tokenizer = new_reader(folder, 0)
    return model.eval(), ReaderEncoder.of(tokenizer, 64)


def oracle(log_probabilities):
    """Return the probabilities of the verdicts, by running the automaton on every proof."""
    chances = torch.zeros(len(STATES), dtype=torch.float64)
    for path in product(range(len(OPERATORS)), repeat=len(log_probabilities)):
        state = verdict(OPERATORS[at] for at in path)
        logs = [row[at] for row, at in zip(log_probabilities, path, strict=True)]
        chances[STATES.index(state)] += torch.stack(logs).sum().exp()
    return chances


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_the_layer_sums_over_all_proofs(seed, lengths):
    generator = torch.Generator().manual_seed(seed)
    shape = (len(lengths), max(lengths), len(OPERATORS))
    scores = torch.randn(shape, generator=generator, dtype=torch.float64) * 3
    operators = scores.log_softmax(-1)
    present = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    verdicts = AutomatonLayer().double()(operators, present).exp()
    for row, length in enumerate(lengths):
        assert verdicts[row].tolist() == pytest.approx(
            oracle(operators[row, :length]).tolist(), abs=1e-9
        )


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.sampled_from(STATES))
def test_the_best_path_is_the_best_of_all_that_end_there(seed, length, state):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(length, len(OPERATORS), generator=generator) * 2
    operators = scores.log_softmax(-1).tolist()
    found = best_path(operators, state)
    assert verdict(found) is state

    def total(path):
        return sum(row[OPERATORS.index(one)] for row, one in zip(operators, path, strict=True))

    paths = (path for path in product(OPERATORS, repeat=length) if verdict(path) is state)
    assert total(found) == pytest.approx(max(map(total, paths)))


def test_certain_operators_give_the_verdict_of_the_automaton_and_finite_gradients():
    for path in product(range(len(OPERATORS)), repeat=3):
        scores = torch.full((1, 3, len(OPERATORS)), -40.0)
        for span, at in enumerate(path):
            scores[0, span, at] = 40.0
        scores.requires_grad_()
        verdicts = AutomatonLayer()(scores.log_softmax(-1), torch.ones(1, 3, dtype=torch.bool))
        assert STATES[int(verdicts.argmax())] is verdict(OPERATORS[at] for at in path)
        verdicts.sum().backward()
        assert torch.isfinite(scores.grad).all()


@given(st.text(max_size=80), st.lists(st.text(max_size=60), max_size=3))
def test_spans_divide_the_tokens_of_any_claim(folder, claim, texts):
    encoder = ReaderEncoder.of(new_reader(folder, 0)[1], 64)
    (read,) = encoder.encode([claim], [[("", text) for text in texts]])
    assert 1 <= len(read.spans) <= MAX_SPANS
    assert len(read.spans) == len(read.places)
    for (_, end), (begin, _) in zip(read.spans, read.spans[1:], strict=False):
        assert end == begin
    assert read.spans[-1][1] <= len(read.ids)


def test_spans_and_markers_point_to_their_words(reader):
    _, encoder = reader
    (read,) = encoder.encode([CLAIM], [SENTENCES])
    assert not read.cut
    assert [CLAIM[begin:end] for begin, end in read.places] == [
        *("Paris", "is the capital of France", "and lies", "on the Tiber.")
    ]
    assert [read.ids[at] for at in read.markers] == [encoder.special.marker] * 2
    assert [offsets[0] for offsets in read.offsets] == [(0, 4), (0, 4)]
    assert read.spans[-1][1] == len(read.ids) - 1  # before the last separator


def test_values_are_read_in_one_form_and_places_are_those_of_the_claim(reader):
    _, encoder = reader
    claim, sentence = "Paris has 12,000 towns on the Tiber.", "Paris: 12000 towns"
    (read,) = encoder.encode([claim], [[("", sentence)]])
    assert [claim[b:e] for b, e in read.places] == ["Paris", "has 12,000 towns", "on the Tiber."]
    (same,) = encoder.encode([claim.replace(",", "")], [[("", sentence)]])
    assert same.ids == read.ids
    assert [claim.replace(",", "")[b:e] for b, e in same.places][1] == "has 12000 towns"
    (quoted,) = encoder.encode(["Paris"], [[("Rome", "built in twelve hundred days")]])
    words = {"Rome: built in twelve hundred days"[b:e] for b, e in quoted.offsets[0]}
    assert "twelve hundred days" in words


@torch.no_grad()
def test_padding_changes_nothing(reader):
    model, encoder = reader
    (read,) = encoder.encode([CLAIM], [SENTENCES])
    alone = (
        torch.tensor([read.ids]),
        torch.ones(1, len(read.ids), dtype=torch.long),
        torch.tensor([read.spans]),
        torch.tensor([read.markers]),
    )
    padded = (
        torch.nn.functional.pad(alone[0], (0, 5), value=encoder.special.pad),
        torch.nn.functional.pad(alone[1], (0, 5)),
        torch.nn.functional.pad(alone[2], (0, 0, 0, 3)),
        torch.nn.functional.pad(alone[3], (0, 2)),
    )
    one, two = model(*alone), model(*padded)
    spans, sentences = len(read.spans), len(read.markers)
    for left, right in (
        (one.verdicts, two.verdicts),
        (one.operators, two.operators[:, :spans]),
        (one.quoted, two.quoted[:, :spans, :sentences]),
        (one.begins, two.begins[:, :spans, : len(read.ids)]),
    ):
        assert torch.allclose(left, right, atol=1e-4)
