"""Claims written from a knowledge base: gold chains, no leaked names, the same for one seed."""

from __future__ import annotations

from itertools import islice, pairwise

from training.mentions import base_title
from training.synthetic import ClaimWriter

CORPUS = {
    "Lantern Night": ["Lantern Night is a 1988 film directed by Ada Brook about a miller."],
    "Ada Brook": [
        "Ada Brook is a Welsh film director and painter from the north.",
        "She was born in the old harbour town of Porthgain as the third of six.",
    ],
    "Porthgain": ["Porthgain is a small harbour village in the west of Wales."],
    "Empty": [],
}


def test_claims_hide_the_names_of_later_documents() -> None:
    for claim in islice(ClaimWriter(CORPUS, 3).claims(), 50):
        titles = [title for title, _ in claim.chain]
        assert 2 <= len(titles) <= 4
        assert len(set(titles)) == len(titles)
        assert base_title(titles[0]) in claim.claim
        assert not any(base_title(t) in claim.claim for t in titles[1:])
        for title, after in pairwise(titles):
            index = dict(claim.chain)[title]
            assert base_title(after) in CORPUS[title][index]


def test_chains_of_three_occur_and_hold_the_last_documents_description() -> None:
    claims = list(islice(ClaimWriter(CORPUS, 0).claims(), 200))
    long = [c for c in claims if len(c.chain) == 3]
    assert long
    assert all("small harbour village" in c.claim for c in long)


def test_the_same_seed_gives_the_same_claims() -> None:
    first = list(islice(ClaimWriter(CORPUS, 7).claims(), 20))
    assert first == list(islice(ClaimWriter(CORPUS, 7).claims(), 20))
