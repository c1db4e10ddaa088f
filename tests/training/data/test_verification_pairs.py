"""Training pairs: their file form, bad records, and weights by source."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError, RecordError
from training.data.verification_pairs import PAIR_LABELS, Pair, read_pairs, weighted, write_pairs

PAIRS = st.builds(
    Pair,
    st.text(),
    st.text(),
    st.sampled_from(PAIR_LABELS),
    st.sampled_from(("snli", "fever", "twins")),
    st.floats(0, 9, allow_subnormal=False),
    st.sampled_from((True, False, None)),
)


@given(st.lists(PAIRS, min_size=1, max_size=5))
def test_pairs_round_trip(tmp_path_factory: pytest.TempPathFactory, pairs: list[Pair]) -> None:
    path = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    write_pairs(path, pairs)
    assert list(read_pairs(path)) == pairs


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"claim": None}, "claim"),
        ({"evidence": 3}, "evidence"),
        ({"label": "maybe"}, "label"),
        ({"weight": -1}, "weight"),
        ({"weight": True}, "weight"),
        ({"weight": "2"}, "weight"),
        ({"relevance": 1}, "relevance"),
    ],
)
def test_bad_records_name_file_line_and_field(
    tmp_path: Path, change: dict[str, object], field: str
) -> None:
    record = {"claim": "a", "evidence": "b", "label": "neutral", "source": "snli"}
    path = tmp_path / "pairs.jsonl"
    path.write_text(f"{json.dumps(record)}\n{json.dumps(record | change)}\n")
    with pytest.raises(RecordError, match=rf"pairs\.jsonl:2.*{field}"):
        list(read_pairs(path))


def some(counts: dict[str, int]) -> list[Pair]:
    return [Pair("c", "e", "neutral", name) for name, n in counts.items() for _ in range(n)]


def taken(pairs: list[Pair]) -> dict[str, float]:
    sums: Counter[str] = Counter()
    for pair in pairs:
        sums[pair.source] += pair.weight  # type: ignore[assignment]
    return {name: round(total, 3) for name, total in sums.items()}


def test_the_temperature_balances_sources() -> None:
    pairs = some({"a": 16, "b": 4})
    assert taken(list(weighted(pairs, {}, 1.0))) == {"a": 16, "b": 4}
    assert taken(list(weighted(pairs, {}, 0.0))) == {"a": 10, "b": 10}
    half = taken(list(weighted(pairs, {}, 0.5)))
    assert half["a"] == pytest.approx(2 * half["b"], rel=1e-3)


def test_given_weights_take_precedence_and_zero_leaves_out() -> None:
    pairs = some({"a": 16, "b": 4, "c": 2})
    assert taken(list(weighted(pairs, {"a": 0, "b": 2.5}, 0.0))) == {"b": 10, "c": 2}
    with pytest.raises(AdmiralError, match="--weight d: there are no pairs"):
        list(weighted(pairs, {"d": 1}, 1.0))
