"""Labels of other pair classifiers: those that can be mapped, and those that are refused."""

from __future__ import annotations

import pytest

from proofs.verifier.label_names import label_columns, support_columns


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
def test_names_are_mapped_to_columns(names: tuple[str, ...], columns: tuple[int, ...]) -> None:
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
def test_other_names_are_refused_with_file_and_labels(names: tuple[str, ...]) -> None:
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
def test_support_of_few_outputs(names: tuple[str, ...], columns: tuple[int, ...]) -> None:
    assert support_columns(dict(enumerate(names)), "config.json") == columns


@pytest.mark.parametrize("names", [("yes", "no"), ("true", "supports")])
def test_unclear_outputs_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"^x/config\.json: field 'id2label'") as caught:
        support_columns(dict(enumerate(names)), "x/config.json")
    assert all(repr(name) in str(caught.value) for name in names)
