"""The judges that the settings name, with their weights and lexicons."""

from dataclasses import replace

import pytest
import torch
from safetensors.torch import save_file

from admiral import AdmiralError, RetrievalConfig
from admiral.models.heads import SUFFICIENCY_HEAD
from admiral.retrieval.proving import build_judge, open_lexicon
from proofs import NatOp, NeverSufficient
from proofs.judges.calibrated import WEIGHTS, Weights
from proofs.judges.verifier_judge import VerifierJudge
from tests.proofs.verifier.tiny_classifier import write_classifier_directory

CLAIM = "Ada Lovelace was born in London in 1815."
EVIDENCE = [("Ada Lovelace", "Ada Lovelace was born in London in 1815.")]


@pytest.fixture
def checkpoint(system, tmp_path):
    """The bundled checkpoint, as if loaded from an empty directory."""
    return replace(system.checkpoint, path=tmp_path)


@pytest.mark.parametrize(
    ("name", "with_proof"), [("never", False), ("always", False), ("lexical", True)]
)
def test_some_judges_use_no_model(system, checkpoint, name, with_proof):
    judge = build_judge(checkpoint, replace(system.config, judge=name))
    (judgement,) = judge.judge([CLAIM], [EVIDENCE])
    assert judgement.sufficient == (name != "never")
    assert (judgement.proof is not None) == with_proof


def test_the_calibrated_judge_needs_no_file_of_the_checkpoint(system, checkpoint):
    judge = build_judge(checkpoint, replace(system.config, judge="calibrated"))
    covered, not_covered = judge.judge([CLAIM] * 2, [EVIDENCE, [("Rain", "It rains.")]])
    assert covered.proof is not None
    assert covered.sufficient
    assert not not_covered.sufficient


def test_the_weights_of_the_calibrated_judge_are_a_setting(system, checkpoint, tmp_path):
    path = tmp_path / "weights.json"
    settings = replace(system.config, judge="calibrated", verifier="", judge_weights=str(path))
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


def test_a_verifier_adds_probabilities(system, checkpoint, tmp_path):
    folder = write_classifier_directory(tmp_path / "model")
    settings = replace(system.config, judge="calibrated", verifier=str(folder))
    judge = build_judge(checkpoint, settings)
    assert isinstance(judge, VerifierJudge)
    (judgement,) = judge.judge([CLAIM], [EVIDENCE])
    assert judgement.probability is not None
    assert judgement.verdicts is not None
    for stop_at, expected in ((1e-6, True), (1.0, False)):
        strict = build_judge(checkpoint, replace(settings, stop_at=stop_at))
        (decided,) = strict.judge([CLAIM], [EVIDENCE])
        assert decided.sufficient is expected
    # Other judges do not read it.
    assert isinstance(build_judge(checkpoint, replace(settings, judge="never")), NeverSufficient)


def test_a_bad_verifier_is_named(system, checkpoint, tmp_path):
    settings = replace(system.config, judge="calibrated", verifier=str(tmp_path / "none"))
    with pytest.raises(
        AdmiralError, match=r"^setting 'verifier': .*none': no such directory; give that of a"
    ):
        build_judge(checkpoint, settings)
    folder = write_classifier_directory(tmp_path / "model")
    (folder / "calibration.json").write_text("[]")
    with pytest.raises(AdmiralError, match=r"^setting 'verifier': .*expected the fields"):
        build_judge(checkpoint, replace(settings, verifier=str(folder)))


def test_the_classifier_loads_its_head(system, checkpoint):
    settings = replace(system.config, judge="classifier")
    with pytest.raises(AdmiralError, match="fit one with"):
        build_judge(checkpoint, settings)
    width = 2 * 384
    for bias in (1.0, -1.0):
        head = {"weight": torch.zeros(width), "bias": torch.tensor(bias)}
        save_file(head, checkpoint.path / SUFFICIENCY_HEAD)
        (judgement,) = build_judge(checkpoint, settings).judge([CLAIM], [EVIDENCE])
        assert judgement.sufficient == (bias > 0)
        assert judgement.proof is None


def test_the_generated_proof_may_stop_early(system, checkpoint):
    claims, evidence = [CLAIM] * 2, [EVIDENCE, [("Rain", "It rains.")]]
    settings = replace(system.config, judge="generated")
    whole = build_judge(checkpoint, settings).judge(claims, evidence)
    early = build_judge(checkpoint, replace(settings, early_exit=True)).judge(claims, evidence)
    assert all(judgement.proof is not None for judgement in whole)
    for judgement in early:
        assert (judgement.proof is None) == (not judgement.sufficient)
    assert not early[1].sufficient


def test_word_lists_extend_the_built_in_lexicon(tmp_path):
    antonyms, paraphrases = tmp_path / "antonyms.txt", tmp_path / "paraphrases.txt"
    antonyms.write_text("en_alive en_dead\n")
    paraphrases.write_text("wed married\n")
    plain = open_lexicon(RetrievalConfig())
    lists = RetrievalConfig(antonyms=str(antonyms), paraphrases=str(paraphrases))
    lexicon = open_lexicon(lists)
    for first, second, operator in [
        ("alive", "dead", NatOp.NEGATION),
        ("married", "wed", NatOp.EQUIVALENCE),
    ]:
        assert lexicon.relation(first, second) is operator
        assert plain.relation(first, second) is None
    assert lexicon.relation("in 1873", "in 1874") is NatOp.ALTERNATION
    assert lists.settings() != RetrievalConfig().settings()


@pytest.mark.parametrize("key", ["antonyms", "paraphrases"])
def test_errors_in_word_lists_name_the_setting_and_the_file(tmp_path, key):
    path = tmp_path / "list.txt"
    settings = {key: str(path)}
    with pytest.raises(AdmiralError, match=rf"'{key}': .*list\.txt: cannot be read: No such file"):
        open_lexicon(RetrievalConfig(**settings))
    path.write_text("a b\nlonely\n")
    with pytest.raises(AdmiralError, match=rf"'{key}': .*list\.txt:2: expected two words"):
        open_lexicon(RetrievalConfig(**settings))
