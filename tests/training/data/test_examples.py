"""Training examples: their file form, bad records, and weights by source."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError, RecordError
from proofs.verifier.reading import LABELS
from training.data.examples import (
    EXAMPLE_LABELS,
    NOT_ENTAILMENT,
    Example,
    check_weights,
    draw_examples,
    read_examples,
    summary_by_source,
    weighted,
    write_examples,
)

SENTENCES = st.lists(st.tuples(st.text(), st.text(), st.sampled_from((*EXAMPLE_LABELS, None))))


@st.composite
def some_examples(draw: st.DrawFn) -> Example:
    sentences, spans = (
        draw(SENTENCES),
        draw(st.lists(st.tuples(st.integers(0, 9), st.integers(10, 20)))),
    )
    return Example(
        draw(st.text()),
        tuple((title, text) for title, text, _ in sentences),
        draw(st.sampled_from((*LABELS, NOT_ENTAILMENT))),
        draw(st.sampled_from(("snli", "fever", "twins"))),
        tuple(name for _, _, name in sentences) if draw(st.booleans()) else (),
        tuple((begin, end, draw(st.sampled_from(LABELS))) for begin, end in spans),
        draw(st.text()),
        draw(st.floats(0, 9, allow_subnormal=False)),
    )


@given(st.lists(some_examples(), min_size=1, max_size=5))
def test_examples_round_trip(
    tmp_path_factory: pytest.TempPathFactory, examples: list[Example]
) -> None:
    path = tmp_path_factory.mktemp("examples") / "examples.jsonl"
    write_examples(path, examples)
    assert list(read_examples([path])) == examples


def test_files_are_read_after_each_other_and_empty_ones_are_an_error(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.jsonl", "b.jsonl")]
    one = Example("c", (("", "e"),), "neutral", "snli")
    write_examples(paths[0], [one])
    write_examples(paths[1], [])
    assert list(read_examples(paths)) == [one]
    with pytest.raises(AdmiralError, match=r"b\.jsonl: no examples; build them first"):
        list(read_examples(paths[1:]))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"claim": None}, "claim"),
        ({"evidence": 3}, "evidence"),
        ({"evidence": [["a", "b", "c"]]}, "evidence"),
        ({"evidence": "b"}, "evidence"),
        ({"label": "maybe"}, "label"),
        ({"label": "relevant"}, "label"),
        ({"weight": -1}, "weight"),
        ({"sentences": ["neutral", None]}, "sentences"),
        ({"sentences": ["maybe"]}, "sentences"),
        ({"spans": [[2, 1, "neutral"]]}, "spans"),
        ({"spans": [[0, 1, "relevant"]]}, "spans"),
    ],
)
def test_bad_records_name_file_line_and_field(
    tmp_path: Path, change: dict[str, object], field: str
) -> None:
    record = {"claim": "a", "evidence": [["", "b"]], "label": "neutral", "source": "snli"}
    path = tmp_path / "examples.jsonl"
    path.write_text(f"{json.dumps(record)}\n{json.dumps(record | change)}\n")
    with pytest.raises(RecordError, match=rf"examples\.jsonl:2.*{field}"):
        list(read_examples([path]))


def some(counts: dict[str, int]) -> list[Example]:
    return [Example("c", (), "neutral", name) for name, n in counts.items() for _ in range(n)]


def taken(examples: list[Example]) -> dict[str, float]:
    sums: Counter[str] = Counter()
    for example in examples:
        sums[example.source] += example.weight  # type: ignore[assignment]
    return {name: round(total, 3) for name, total in sums.items()}


def test_weights_are_factors_of_sources_and_labels_and_zero_leaves_out() -> None:
    examples = some({"a": 16, "b": 4, "c": 2})
    assert taken(weighted(examples, {})) == {"a": 16, "b": 4, "c": 2}
    label = examples[0].label
    count = sum(one.source == "b" and one.label == label for one in examples)
    found = taken(weighted(examples, {"a": 0, "b": 2.5, f"b/{label}": 0.5}))
    assert found == {"b": 10 - 1.25 * count, "c": 2}
    check_weights(examples, {"a": 0, f"b/{label}": 2})
    with pytest.raises(AdmiralError, match="weights: there are no examples of 'd'; the sources"):
        check_weights(examples, {"d": 1})


def test_whole_groups_of_each_source_are_drawn() -> None:
    examples = [
        Example(f"{source} {n}", (), "neutral", source, group=f"{n // 3}" if source == "a" else "")
        for source in ("a", "b")
        for n in range(30)
    ]
    drawn = draw_examples(examples, 10, 0)
    assert drawn == draw_examples(examples, 10, 0) != draw_examples(examples, 10, 1)
    assert drawn == [example for example in examples if example in drawn]
    counts = Counter(example.source for example in drawn)
    assert counts == {"a": 12, "b": 10}
    assert set(Counter(e.group for e in drawn if e.source == "a").values()) == {3}
    assert draw_examples(examples, 1000, 0) == examples


def test_sources_are_summed_up() -> None:
    labels = {"b": ("neutral", "entailment", "neutral"), "a": ("contradiction",)}
    examples = [
        Example("c", (), label, source, weight=1.5)
        for source, own in labels.items()
        for label in own
    ]
    assert summary_by_source(examples) == [
        ("a", "1 contradiction", "2"),
        ("b", "1 entailment, 2 neutral", "4"),
    ]
