"""Pairing of gold claims with predictions."""

from __future__ import annotations

import pytest

from admiral import AdmiralError
from admiral.evaluation.pairing import pair_claims
from admiral.evaluation.predictions import Prediction
from tests.admiral.evaluation.small_runs import answer, gold


def test_missing_and_unknown_ids_are_noted():
    claims = [gold([("A", 0)], id=id) for id in "123"]
    found = pair_claims(claims, {id: answer(("A", 0), ranking="A", id=id) for id in "2xyzw"})
    assert [pair.prediction is None for pair in found.pairs] == [True, False, True]
    assert found.missing_ids == ("1", "3")
    assert found.unknown_ids == ("x", "y", "z", "w")
    assert found.notes() == [
        "2 claims ('1', '3') without an answer, counted as wrong",
        "4 answers ('w', 'x', 'y', ...) to claims that are not in the gold file",
    ]
    assert pair_claims(claims[:1], {"1": answer()}).notes() == []


def test_files_of_different_data_sets_are_rejected():
    with pytest.raises(
        AdmiralError, match=r"its ids are such as '1', those of the predictions such as '8', '9'"
    ):
        pair_claims([gold([("A", 0)])], {"8": answer(id="8"), "9": answer(id="9")})
    other = Prediction("1", (), claim="Another claim.")
    with pytest.raises(AdmiralError, match=r"claim '1': .*another claim \('Another claim.'\) than"):
        pair_claims([gold([("A", 0)])], {"1": other})
    pair_claims([gold([("A", 0)])], {"1": Prediction("1", (), claim=" c\n")})
