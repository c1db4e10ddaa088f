"""Labels of other pair classifiers, and batches of their inputs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.verifier.sequence_classifier import (
    label_columns,
    length_batches,
    pad_inputs,
    padded_positions,
    support_columns,
)


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        (("entailment", "neutral", "contradiction"), (0, 1, 2)),
        (("CONTRADICTION", "NEUTRAL", "ENTAILMENT"), (2, 1, 0)),
        (("SUPPORTED", "REFUTED", "NOT ENOUGH INFO"), (0, 2, 1)),
        (("refutes", "supports", "not_enough_info"), (1, 2, 0)),
        (("NEI", "Supports", "Refutes"), (1, 0, 2)),
    ],
)
def test_names_are_mapped_to_columns(names, columns):
    assert label_columns(dict(enumerate(names)), "config.json") == columns


@pytest.mark.parametrize(
    "names",
    [
        (),
        ("LABEL_0", "LABEL_1", "LABEL_2"),
        ("entailment", "not_entailment"),
        ("entailment", "supports", "neutral"),
        ("entailment", "neutral", "contradiction", "other"),
    ],
)
def test_other_names_are_refused_with_file_and_labels(names):
    with pytest.raises(ValueError, match=r"^x/config\.json: field 'id2label'") as caught:
        label_columns(dict(enumerate(names)), "x/config.json")
    assert all(repr(name) in str(caught.value) for name in names)


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        (("LABEL_0",), (0,)),
        ((), (1, 0)),
        (("LABEL_0", "LABEL_1"), (1, 0)),
        (("not_entailment", "entailment"), (1, 0)),
        (("SUPPORTED", "UNSUPPORTED"), (0, 1)),
        (("contradiction", "entailment"), (1, 0)),
    ],
)
def test_support_of_few_outputs(names, columns):
    assert support_columns(dict(enumerate(names)), "config.json") == columns


@pytest.mark.parametrize("names", [("yes", "no"), ("true", "supports")])
def test_unclear_outputs_are_refused(names):
    with pytest.raises(ValueError, match=r"^x/config\.json: field 'id2label'") as caught:
        support_columns(dict(enumerate(names)), "x/config.json")
    assert all(repr(name) in str(caught.value) for name in names)


@given(st.lists(st.integers(1, 40), max_size=30), st.integers(1, 100))
def test_batches_hold_every_input_once_and_fit(lengths, budget):
    batches = length_batches(lengths, budget)
    assert sorted(at for batch in batches for at in batch) == list(range(len(lengths)))
    for batch in batches:
        cost = len(batch) * max(lengths[at] for at in batch)
        assert cost <= budget or len(batch) == 1


def test_inputs_are_padded():
    ids, mask, segments = pad_inputs([[7, 8], [5, 6, 9]], [[0, 1], [0, 1, 1]], 4)
    assert ids.tolist() == [[7, 8, 4], [5, 6, 9]]
    assert mask.tolist() == [[1, 1, 0], [1, 1, 1]]
    assert segments.tolist() == [[0, 1, 0], [0, 1, 1]]


def test_positions_are_padded():
    positions, missing = padded_positions([[], [3, 5]])
    assert positions.tolist() == [[0, 0], [3, 5]]
    assert missing.tolist() == [[True, True], [False, False]]
