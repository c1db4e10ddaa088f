"""The program that fits the weights of the ranking `learned`."""

import json
from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner

from admiral import Admiral
from admiral.config import RetrievalConfig
from admiral.retrieval.document_ranking import NetworkDocumentScorer
from training import ranking

DEMO = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"
# Stages that take little time.
RANKING_SETTINGS = {
    "reranker": "bm25",
    "judge": "never",
    "title_beams": 0,
    "beam_size": 4,
    "max_hops": 2,
}


def run(*arguments):
    settings = [
        part for key, value in RANKING_SETTINGS.items() for part in ("--set", f"{key}={value}")
    ]
    return CliRunner().invoke(ranking.main, [*map(str, arguments), *settings])


def test_the_weights_can_be_used(tmp_path, user_cache):
    out = tmp_path / "ranking.json"
    done = run("--source", f"gold:{DEMO}", "--limit", 3, "--out", out)
    assert done.exit_code == 0 and f"{out}: fitted on " in done.output, done.output
    assert len(NetworkDocumentScorer.read(out).units) == 8
    config = RetrievalConfig(**RANKING_SETTINGS, ranking_weights=str(out))
    with Admiral.from_pretrained(config=config) as system:
        documents = system.retrieve("The Eiffel Tower is in Paris.").documents
    scores = [one.score for one in documents]
    assert len(documents) > 10 and scores == sorted(scores, reverse=True)


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
def test_errors_name_the_file_or_the_option(tmp_path, user_cache, arguments, says):
    foreign = {"id": 1, "claim": "No.", "label": "SUPPORTS", "evidence": [["Nowhere", 0]]}
    (tmp_path / "foreign.jsonl").write_text(json.dumps(foreign) + "\n")
    done = run(
        *(one.format(tmp=tmp_path, demo=DEMO) for one in arguments), "--out", tmp_path / "w.json"
    )
    assert done.exit_code != 0 and says in done.output, done.output
    assert isinstance(done.exception, SystemExit)
    assert not (tmp_path / "w.json").exists()
