"""Gold claims and answers are brought together, and what does not fit is said."""

from __future__ import annotations

import pytest

from admiral import AdmiralError
from admiral.evaluation.pairing import pair_up
from admiral.evaluation.predictions import Prediction
from tests.admiral.evaluation.cases import answer, gold


def test_missing_and_unknown_ids_are_said() -> None:
    claims = [gold([("A", 0)], id=id) for id in "123"]
    found = pair_up(claims, {id: answer(("A", 0), ranking="A", id=id) for id in "2xyzw"})
    assert [pair.answer is None for pair in found.pairs] == [True, False, True]
    assert found.missing == ("1", "3") and found.unknown == ("x", "y", "z", "w")
    assert found.notes() == [
        "2 claims ('1', '3') without an answer, counted as wrong",
        "4 answers ('w', 'x', 'y', ...) to claims that are not in the gold file",
    ]
    assert pair_up(claims[:1], {"1": answer()}).notes() == []


def test_titles_are_compared_composed() -> None:
    (pair,) = pair_up([gold([("Zoe\u0308", 0)])], {"1": answer(("Zo\u00eb", 0))}).pairs
    assert pair.title_sets == [frozenset(["Zo\u00eb"])]


def test_files_of_different_data_sets_are_refused() -> None:
    with pytest.raises(AdmiralError, match=r"ids there are such as '1', here '8', '9'"):
        pair_up([gold([("A", 0)])], {"8": answer(id="8"), "9": answer(id="9")})
    other = Prediction("1", (), claim="Another claim.")
    with pytest.raises(AdmiralError, match=r"claim '1': .*another claim \('Another claim.'\) than"):
        pair_up([gold([("A", 0)])], {"1": other})
    pair_up([gold([("A", 0)])], {"1": Prediction("1", (), claim=" c\n")})
