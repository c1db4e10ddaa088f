"""Fitting the final ranking: a known rule is found again, from claims to a file of weights."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result

from admiral import Admiral, Claim, RetrievalConfig
from admiral.gold import read_gold
from admiral.ranking.document_scorer import NetworkDocumentScorer
from admiral.ranking.features import FEATURES, document_features
from admiral.retrieval.result import ranked_documents
from training.data.claim_sources import Source, drawn
from training.fitting.judge_fits import fit_document_scorer
from training.ranking import examples, main

DEMO = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"
# Stages that take little time.
QUICK = {"reranker": "bm25", "judge": "never", "title_beams": 0, "beam_size": 4, "max_hops": 2}


def test_a_rule_is_found_again_for_other_claims() -> None:
    """Gold are the documents that one clue or another speaks for, on any scale."""
    rng = torch.Generator().manual_seed(0)
    scale = torch.logspace(-2, 2, len(FEATURES))

    def claims(count: int) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
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
    assert torch.equal(torch.get_rng_state(), state)  # nothing of the caller's is disturbed


@pytest.mark.parametrize(
    ("name", "may_count_against"),
    [("read_first", False), ("standing_last", False), ("named", True)],
)
def test_what_a_hop_thinks_better_of_is_not_behind(name: str, may_count_against: bool) -> None:
    """Even where gold are the documents with the least of a clue."""
    rng = torch.Generator().manual_seed(0)
    clues = [torch.rand(8, len(FEATURES), generator=rng) for _ in range(60)]
    place = FEATURES.index(name)
    fitted = fit_document_scorer(clues, [one[:, place] <= one[:, place].min() for one in clues])
    low, high = ([0.5] * len(FEATURES) for _ in range(2))
    low[place], high[place] = 0.0, 1.0
    assert (fitted.score(high) < fitted.score(low)) == may_count_against


def test_claims_are_drawn_of_every_source(tmp_path: Path, user_cache: None) -> None:
    creak = tmp_path / "creak.jsonl"
    gold = next(iter(read_gold(DEMO)))
    rows = [
        {"ex_id": "a", "sentence": "A.", "label": "true", "entity": gold.titles[0]},
        {"ex_id": "a", "sentence": "B.", "label": "true", "entity": "No such document"},
    ]
    creak.write_text("".join(json.dumps(row) + "\n" for row in rows))
    sources = [Source.parse(f"gold:{DEMO}"), Source.parse(f"creak:{creak}")]
    with Admiral.from_pretrained(config=RetrievalConfig(**QUICK)) as system:  # type: ignore[arg-type]
        found = drawn(sources, system.kb, 5, seed=0)
        assert len(found) == 6 and {one.id for one in found} == set("012345")
        assert [one.claim for one in found if one.claim in ("A.", "B.")] == ["A."]
        assert found == drawn(sources, system.kb, 5, seed=0)
        assert found != drawn(sources, system.kb, 5, seed=1)
        learnt = list(examples(system, found))
        for one, claim in zip(learnt, found, strict=True):
            for clues, right in one:
                assert clues.shape == (len(right), len(FEATURES))
                assert 0 < int(right.sum()) <= len(claim.titles)
        assert 2 in map(len, learnt)  # an example for every number of hops
        # What the hops found is what the answers rank.
        claim = Claim("1", found[0].claim)
        (progress,) = system.search_states([claim])
        result = system.retrieve(claim)
        assert [hop.evidence for hop in progress.hops] == [hop.evidence for hop in result.hops]
        # What the first of them found is what a run of one hop finds.
        (alone,) = system.search_states([claim], hops=1)
        first = progress.first_hops(1)
        assert len(progress.hops) == 2 and document_features(first) == document_features(alone)
        assert ranked_documents(first, system.config, None) == ranked_documents(
            alone, system.config, None
        )


def run(*arguments: object) -> Result:
    settings = [part for key, value in QUICK.items() for part in ("--set", f"{key}={value}")]
    return CliRunner().invoke(main, [*map(str, arguments), *settings])


def test_the_command_writes_weights_that_are_used(tmp_path: Path, user_cache: None) -> None:
    out = tmp_path / "ranking.json"
    done = run("--source", f"gold:{DEMO}", "--limit", 6, "--out", out)
    assert done.exit_code == 0 and f"{out}: fitted on " in done.output, done.output
    assert len(NetworkDocumentScorer.read(out).units) == 8
    config = RetrievalConfig(**QUICK, ranking_weights=str(out))  # type: ignore[arg-type]
    with Admiral.from_pretrained(config=config) as system:
        documents = system.retrieve("The Eiffel Tower is in Paris.").documents
    scores = [one.score for one in documents]
    assert len(documents) > 10 and scores == sorted(scores, reverse=True)
    before = out.read_bytes()
    assert run("--source", f"gold:{DEMO}", "--limit", 6, "--out", out).exit_code == 0
    assert out.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--source", "gold"), "is not FORMAT:FILE"),
        (("--source", "gold:{tmp}/none.jsonl"), "none.jsonl"),
        (("--source", "gold:{demo}", "--kb", "{tmp}/no"), "no: "),
        (("--source", "gold:{demo}", "--limit", "0"), "--limit"),
        (("--source", "gold:{tmp}/foreign.jsonl"), "no gold document was found in demo"),
    ],
)
def test_what_cannot_be_fitted_is_told(
    tmp_path: Path, user_cache: None, arguments: tuple[str, ...], says: str
) -> None:
    foreign = {"id": 1, "claim": "No.", "label": "SUPPORTS", "evidence": [["Nowhere", 0]]}
    (tmp_path / "foreign.jsonl").write_text(json.dumps(foreign) + "\n")
    done = run(
        *(one.format(tmp=tmp_path, demo=DEMO) for one in arguments), "--out", tmp_path / "w.json"
    )
    assert done.exit_code != 0 and says in done.output, done.output
    assert isinstance(done.exception, SystemExit)
    assert not (tmp_path / "w.json").exists()


def test_weights_do_not_replace_what_is_read(tmp_path: Path, user_cache: None) -> None:
    claims = tmp_path / "claims.jsonl"
    claims.write_bytes(DEMO.read_bytes())
    done = run("--source", f"gold:{claims}", "--out", claims)
    assert done.exit_code != 0 and "is the input as well" in done.output
    assert claims.read_bytes() == DEMO.read_bytes()
