"""The fit of the document scorer: rules are recovered, constraints hold."""

from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest
import torch

from admiral import Admiral, Claim, RetrievalConfig
from admiral.gold import GoldClaim, read_gold
from admiral.retrieval.document_ranking import FEATURES, document_features
from admiral.retrieval.result import ranked_documents
from training.ranking import fit_document_scorer, ranking_example, ranking_examples

DEMO = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"
# Stages that take little time.
QUICK = {"reranker": "bm25", "judge": "never", "title_beams": 0, "beam_size": 4, "max_hops": 2}


def test_a_rule_is_recovered_and_generalises():
    """Gold documents have a high value of either of two features, of any scale."""
    rng = torch.Generator().manual_seed(0)
    scale = torch.logspace(-2, 2, len(FEATURES))

    def claims(count):
        rows = [torch.rand(12, len(FEATURES), generator=rng) for _ in range(count)]
        gold = [(one[:, 0] > 0.8) | (one[:, 5] > 0.9) for one in rows]
        usable = [at for at, one in enumerate(gold) if one.any() and not one.all()]
        return [rows[at] * scale for at in usable], [gold[at] for at in usable]

    fitted = fit_document_scorer(*claims(200))
    rows, gold = claims(100)
    right = 0
    for one, wanted in zip(rows, gold, strict=True):
        scores = torch.tensor([fitted.score(row) for row in one.tolist()])
        right += bool(scores[wanted].min() > scores[~wanted].max())
    assert right > 0.85 * len(rows)
    state = torch.get_rng_state()
    assert fit_document_scorer(rows, gold, seed=3) == fit_document_scorer(rows, gold, seed=3)
    assert fit_document_scorer(rows, gold, seed=3) != fit_document_scorer(rows, gold, seed=4)
    assert torch.equal(torch.get_rng_state(), state)  # the caller's generator is unchanged


@pytest.mark.parametrize(
    ("name", "may_count_against"),
    [("read_first", False), ("standing_last", False), ("named", True)],
)
def test_constrained_features_never_count_against_a_document(name, may_count_against):
    """Even if the gold documents are those with the lowest value of the feature."""
    rng = torch.Generator().manual_seed(0)
    features = [torch.rand(8, len(FEATURES), generator=rng) for _ in range(60)]
    column = FEATURES.index(name)
    fitted = fit_document_scorer(
        features, [one[:, column] <= one[:, column].min() for one in features]
    )
    low, high = ([0.5] * len(FEATURES) for _ in range(2))
    low[column], high[column] = 0.0, 1.0
    assert (fitted.score(high) < fitted.score(low)) == may_count_against


def test_only_the_alternative_that_was_found_is_gold(user_cache):
    with Admiral.from_pretrained(config=RetrievalConfig(**QUICK)) as system:
        (state,) = system.search_states([Claim("1", "Seth Meyers hosted the awards.")])
    first, second, third, *others = document_features(state)
    sets = (((first, None), ("No such title", None)), ((second, None),), ((third, None),))
    example = ranking_example(state, GoldClaim("1", "c", None, sets))
    assert example is not None
    features, gold = example
    # The other sets' documents are neither gold nor wrong.
    assert (len(features), gold.tolist()) == (len(others) + 1, [True] + [False] * len(others))
    assert ranking_example(state, GoldClaim("1", "c", None, ())) is None


def test_there_is_an_example_for_each_number_of_hops(user_cache):
    claims = [replace(c, id=str(n)) for n, c in enumerate(list(read_gold(DEMO))[:5])]
    with Admiral.from_pretrained(config=RetrievalConfig(**QUICK)) as system:
        by_claim = list(ranking_examples(system, claims))
        for examples, claim in zip(by_claim, claims, strict=True):
            for features, gold in examples:
                assert features.shape == (len(gold), len(FEATURES))
                assert 0 < int(gold.sum()) <= len(claim.titles)
        assert 2 in map(len, by_claim)
        # The search states are those of a retrieval.
        query = Claim("1", claims[0].claim)
        (state,) = system.search_states([query])
        result = system.retrieve(query)
        assert [hop.evidence for hop in state.hops] == [hop.evidence for hop in result.hops]
        # The first hop is the one of a run with one hop.
        (single,) = system.search_states([query], hops=1)
        first = state.first_hops(1)
        assert len(state.hops) == 2
        assert document_features(first) == document_features(single)
        assert ranked_documents(first, system.config, None) == ranked_documents(
            single, system.config, None
        )
