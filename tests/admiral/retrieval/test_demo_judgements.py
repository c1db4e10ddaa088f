"""Judgements of the bundled verifier agree with themselves, whatever evidence the demo gives."""

import json
from pathlib import Path

import pytest

from admiral.config import RetrievalConfig
from admiral.retrieval.proving import open_judge
from tests.proofs.judges.test_judgement import check

DEMO = Path(__file__).parents[3] / "admiral" / "data" / "demo"
SENTENCES = {
    document["title"]: document["sentences"]
    for document in map(json.loads, (DEMO / "documents.jsonl").read_text().splitlines())
}
CLAIMS = [json.loads(line) for line in (DEMO / "claims.jsonl").read_text().splitlines()][::4]


@pytest.mark.parametrize("stop_at", [0.5, 0.7])
def test_every_demo_claim_is_judged_without_contradiction(stop_at):
    judge = open_judge(RetrievalConfig(stop_at=stop_at))
    complete = [
        [(title, SENTENCES[title][number]) for title, number in claim["evidence"]]
        for claim in CLAIMS
    ]
    # All gold sentences, all but the last, and the first ones with those of another claim.
    for evidence in (
        complete,
        [texts[:-1] or texts for texts in complete],
        [[*texts[:2], *complete[at - 1]] for at, texts in enumerate(complete)],
    ):
        claims = [claim["claim"] for claim in CLAIMS]
        for claim, texts, judged in zip(
            claims, evidence, judge.judge(claims, evidence), strict=True
        ):
            check(judged.located(claim, texts), claim, texts, stop_at)
