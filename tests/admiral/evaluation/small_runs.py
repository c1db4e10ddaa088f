"""Small gold claims, predictions and result files for the evaluation tests."""

import json

from admiral.evaluation import Pair, PairedClaims, Prediction
from admiral.gold import GoldClaim, Label
from proofs import Verdict

Sentence = tuple[str, int]


def gold(*sets, label=Label.SUPPORTS, id="1", hops=0):
    return GoldClaim(id, "c", label, tuple(map(tuple, sets)), hops or None)


def answer(*sentences, ranking="", verdict=Verdict.SUPPORTS, id="1"):
    return Prediction(id, tuple(ranking), sentences, verdict)


def pairs(*members):
    return PairedClaims(tuple(Pair(*member) for member in members), ())


def values(measures):
    return {m.name: m.columns[:, 0].tolist() for m in measures if m.columns.shape[1] == 1}


def record(id, *sentences, ranking="", operator="="):
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


def written(path, records):
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path
