"""Small gold claims, predictions and result files for the evaluation tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from admiral.evaluation.pairing import Pair, PairedClaims
from admiral.evaluation.predictions import Prediction
from admiral.gold import GoldClaim, Label
from proofs import Verdict

Sentence = tuple[str, int]


def gold(
    *sets: Sequence[Sentence], label: Label | None = Label.SUPPORTS, id: str = "1", hops: int = 0
) -> GoldClaim:
    return GoldClaim(id, "c", label, tuple(map(tuple, sets)), hops or None)


def answer(
    *sentences: Sentence,
    ranking: str = "",
    verdict: Verdict | None = Verdict.SUPPORTS,
    id: str = "1",
) -> Prediction:
    return Prediction(id, tuple(ranking), sentences, verdict)


def pairs(*members: tuple[GoldClaim, Prediction | None]) -> PairedClaims:
    return PairedClaims(tuple(Pair(*member) for member in members), ())


def values(measures: Iterable[Any]) -> dict[str, list[float]]:
    """Return the value of each claim under every single-column measure."""
    return {m.name: m.columns[:, 0].tolist() for m in measures if m.columns.shape[1] == 1}


def record(id: str, *sentences: Sentence, ranking: str = "", operator: str | None = "=") -> Any:
    """Return a result record with the fields that evaluation reads."""
    proof = operator and [{"claim": "c", "evidence": "e", "operator": operator}]
    return {
        "id": id,
        "claim": "c",
        "documents": [{"title": title, "score": 1.0, "hop": 1} for title in ranking],
        "evidence": [
            {"title": t, "sentence_id": n, "text": "e", "score": 0.0} for t, n in sentences
        ],
        "hops": [
            {"number": 1, "document_sets": [], "evidence": [], "proof": proof, "sufficient": True}
        ],
        "stopped": "sufficient",
    }


def written(path: Path, records: Iterable[Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path
