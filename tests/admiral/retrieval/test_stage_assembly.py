"""What the settings name can be built: every judge, and the weights of the ranking."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from admiral import Admiral, AdmiralError
from admiral.models.checkpoint import Checkpoint
from admiral.models.heads import SUFFICIENCY_HEAD
from admiral.ranking.document_scorer import Relevance
from admiral.retrieval.stage_assembly import build_judge, build_relevance, build_stages
from proofs.judges.calibrated import WEIGHTS, Weights

CLAIM = "Ada Lovelace was born in London in 1815."
EVIDENCE = [("Ada Lovelace", "Ada Lovelace was born in London in 1815.")]


@pytest.fixture()
def checkpoint(system: Admiral, tmp_path: Path) -> Checkpoint:
    """The bundled checkpoint, read as if it lay in an empty directory."""
    return replace(system.checkpoint, path=tmp_path)


def test_no_more_evidence_than_the_vocabulary_has_names_for(quick: Admiral) -> None:
    """Behind its ten identifiers, ``mini`` names sentences by the numbers that are one token."""
    settings = replace(quick.config, evidence=342, evidence_per_document=342)
    system = Admiral(quick.kb, quick.checkpoint, settings)
    assert len(system.retrieve(CLAIM, hops=2).hops) == 2
    with pytest.raises(AdmiralError, match=r"'evidence': 343 is .* so give 342 or less$"):
        build_stages(quick.kb, quick.checkpoint, replace(settings, evidence=343))


@pytest.mark.parametrize(
    ("name", "with_proof"), [("never", False), ("always", False), ("lexical", True)]
)
def test_judges_without_a_model(
    system: Admiral, checkpoint: Checkpoint, name: str, with_proof: bool
) -> None:
    judge = build_judge(checkpoint, replace(system.config, judge=name))
    (judgement,) = judge.judge([CLAIM], [EVIDENCE])
    assert judgement.sufficient == (name != "never")
    assert (judgement.proof is not None) == with_proof


def test_the_scored_proof_needs_no_file_of_the_checkpoint(
    system: Admiral, checkpoint: Checkpoint
) -> None:
    judge = build_judge(checkpoint, replace(system.config, judge="calibrated"))
    covered, not_covered = judge.judge([CLAIM] * 2, [EVIDENCE, [("Rain", "It rains.")]])
    assert covered.proof is not None and covered.sufficient
    assert not not_covered.sufficient


def test_weights_of_the_scored_proof_may_be_given(
    system: Admiral, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    path = tmp_path / "weights.json"
    settings = replace(system.config, judge="calibrated", judge_weights=str(path))
    with pytest.raises(AdmiralError, match=r"'judge_weights': .*weights\.json: not a file of"):
        build_judge(checkpoint, settings)
    fitted = Weights.read(WEIGHTS)
    evidence = [("Ada Lovelace", "Ada Lovelace was born in London."), ("Rain", "In 1815.")]
    for threshold in (1e6, -1e6):
        path.write_text(replace(fitted, threshold=threshold).to_json())
        (judgement,) = build_judge(checkpoint, settings).judge([CLAIM], [evidence])
        assert judgement.sufficient == (threshold > 0)
    path.write_text("{}")
    with pytest.raises(AdmiralError, match=r"'judge_weights': .*field 'threshold': is missing"):
        build_judge(checkpoint, settings)


def test_the_classifier_reads_its_head(system: Admiral, checkpoint: Checkpoint) -> None:
    settings = replace(system.config, judge="classifier")
    with pytest.raises(AdmiralError, match="fit one with"):
        build_judge(checkpoint, settings)
    width = 2 * 384
    for bias in (1.0, -1.0):
        head = {"weight": torch.zeros(width), "bias": torch.tensor(bias)}
        save_file(head, checkpoint.path / SUFFICIENCY_HEAD)
        (judgement,) = build_judge(checkpoint, settings).judge([CLAIM], [EVIDENCE])
        assert judgement.sufficient == (bias > 0) and judgement.proof is None


def test_the_generated_proof_may_end_early(system: Admiral, checkpoint: Checkpoint) -> None:
    claims, evidence = [CLAIM] * 2, [EVIDENCE, [("Rain", "It rains.")]]
    settings = replace(system.config, judge="generated")
    whole = build_judge(checkpoint, settings).judge(claims, evidence)
    early = build_judge(checkpoint, replace(settings, early_exit=True)).judge(claims, evidence)
    assert all(one.proof is not None for one in whole)
    for one in early:
        assert (one.proof is None) == (not one.sufficient)
    assert not early[1].sufficient


def test_weights_of_the_ranking_may_be_given(system: Admiral, tmp_path: Path) -> None:
    path = tmp_path / "ranking.json"
    config = replace(system.config, ranking_weights=str(path))
    with pytest.raises(AdmiralError, match=r"'ranking_weights': .*ranking\.json: not a file of"):
        build_relevance(config)
    other = Relevance(Relevance.bundled().units[:1])
    path.write_text(other.to_json())
    assert build_relevance(config) == other
    assert build_relevance(system.config) == Relevance.bundled()
    for ranking in ("fused", "last-hop"):
        assert build_relevance(replace(config, ranking=ranking)) is None
