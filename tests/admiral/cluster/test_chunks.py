"""The ledger of a run under any order of answers and failures, beside what must come out."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.cluster.chunks import Failure, Ledger, Lot, Record
from admiral.records import Claim


def claims(count: int) -> list[Claim]:
    return [Claim(f"c{number}", f"Claim {number}.") for number in range(count)]


def record(claim: Claim) -> Record:
    return {"id": claim.id}


@given(data=st.data())
def test_every_claim_comes_out_once_in_order_and_only_poison_is_passed_over(
    data: st.DataObject,
) -> None:
    count = data.draw(st.integers(0, 40))
    size, workers = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 4))
    ahead, attempts = size + data.draw(st.integers(0, 20)), data.draw(st.integers(1, 3))
    poison = data.draw(st.sets(st.integers(0, max(count - 1, 0))))
    # How often a healthy lot loses its node; each loss may hit any lot that is being answered.
    losses = data.draw(st.integers(0, 5))
    ledger = Ledger(claims(count), size=size, ahead=ahead, attempts=attempts)
    told: list[Record | Failure] = []
    busy: list[Lot] = []
    alone: Counter[str] = Counter()
    lost_alone: Counter[str] = Counter()
    while not ledger.done:
        while len(busy) < workers and (lot := ledger.take()):
            assert len(lot.claims) <= size
            assert lot.first + len(lot.claims) <= len(told) + ahead
            busy.append(lot)
        assert busy, "nothing is under way, and nothing is done"
        lot = busy.pop(data.draw(st.integers(0, len(busy) - 1)))
        poisoned = any(int(claim.id[1:]) in poison for claim in lot.claims)
        lost = losses > 0 and data.draw(st.booleans())
        if poisoned or lost:
            losses -= not poisoned
            if len(lot.claims) == 1:
                alone[lot.claims[0].id] += 1
                lost_alone[lot.claims[0].id] += not poisoned
            ledger.failed(lot, "fell over")
        else:
            ledger.answered(lot, [record(claim) for claim in lot.claims])
        told += ledger.in_order()
    ids = [one.claim.id if isinstance(one, Failure) else one["id"] for one in told]
    assert ids == [claim.id for claim in claims(count)]
    for one in told:
        if isinstance(one, Failure):
            assert (one.attempts, one.error) == (attempts, "fell over")
            assert alone[one.claim.id] == attempts
            blamed = int(one.claim.id[1:]) in poison
            assert blamed or lost_alone[one.claim.id] == attempts
        else:
            assert int(one["id"][1:]) not in poison


def test_a_lot_is_tried_again_whole_then_claim_by_claim() -> None:
    ledger = Ledger(claims(3), size=2, ahead=4, attempts=2)
    first = ledger.take()
    assert first == Lot(0, tuple(claims(3)[:2]))
    ledger.failed(first, "node")
    again = ledger.take()
    assert again == Lot(0, first.claims, 1), "before claims that nobody has tried"
    ledger.failed(again, "node")
    one, other = ledger.take(), ledger.take()
    assert one is not None
    assert other is not None
    assert [one.claims, other.claims] == [(claims(3)[0],), (claims(3)[1],)]
    ledger.answered(other, [record(other.claims[0])])
    assert list(ledger.in_order()) == [], "the first has no outcome yet"
    ledger.failed(one, "first")
    assert ledger.take() == Lot(0, one.claims, 1)
    ledger.failed(Lot(0, one.claims, 1), "second")
    told = list(ledger.in_order())
    assert told == [Failure(claims(3)[0], 2, "second"), {"id": "c1"}]
    assert not ledger.done


def test_a_lot_whose_worker_hung_is_taken_apart_at_once() -> None:
    ledger = Ledger(claims(2), size=2, ahead=4, attempts=1)
    lot = ledger.take()
    assert lot is not None
    ledger.failed(lot, "no answer", apart=True)
    assert [ledger.take(), ledger.take()] == [Lot(n, (claims(2)[n],)) for n in range(2)]


def test_claims_are_read_no_further_ahead_than_asked() -> None:
    read = []

    def stream() -> object:
        for claim in claims(100):
            read.append(claim)
            yield claim

    ledger = Ledger(stream(), size=4, ahead=10, attempts=1)  # type: ignore[arg-type]
    lots = []
    while lot := ledger.take():
        lots.append(lot)
    assert [len(lot.claims) for lot in lots] == [4, 4, 2]
    assert len(read) == 11, "the next one is looked at, to know whether there is one"
    for lot in lots[1:]:
        ledger.answered(lot, [record(claim) for claim in lot.claims])
    assert ledger.take() is None, "the first lot is still awaited"
    ledger.answered(lots[0], [record(claim) for claim in lots[0].claims])
    assert len(list(ledger.in_order())) == 10
    assert ledger.take() is not None


def test_records_of_other_claims_are_refused() -> None:
    ledger = Ledger(claims(2), size=2, ahead=2, attempts=1)
    lot = ledger.take()
    assert lot is not None
    with pytest.raises(ValueError, match="for other claims"):
        ledger.answered(lot, [{"id": "c1"}, {"id": "c0"}])
    with pytest.raises(ValueError, match="for other claims"):
        ledger.answered(lot, [{"id": "c0"}])
