"""Training proofs agree with the label and with the verifier."""

from importlib import resources
from pathlib import Path

import pytest

from admiral.gold.gold_claims import Label
from proofs import NatOp, Verdict
from tests.proofs.verifier.fixed_verifier import FixedVerifier
from tests.proofs.verifier.tiny_classifier import write_classifier_directory
from tests.training.demo_program import run_program
from training.build_proofs import confirmed_proofs, main
from training.data.samples import ProveSample, read_samples
from training.data.sufficiency_examples import VerdictExample

DEMO = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"
QUILL = ("Ada Quill", "Ada Quill was an Irish engineer.")
TOWER = ("Port Merrow Lighthouse", "The lighthouse was built by Ada Quill.")
CLAIM = "The lighthouse was built by an American engineer."


@pytest.mark.parametrize(
    ("label", "said", "verdict"),
    [
        (Label.SUPPORTS, "entailment", Verdict.SUPPORTS),
        (Label.REFUTES, "contradiction", Verdict.REFUTES),
        (Label.NOT_SUPPORTED, "contradiction", Verdict.REFUTES),
        (Label.NOT_ENOUGH_INFO, "neutral", Verdict.NOT_ENOUGH_INFO),
        (Label.SUPPORTS, "neutral", None),
        (Label.NOT_SUPPORTED, "entailment", None),
    ],
)
def test_a_proof_has_the_verdict_that_label_and_verifier_agree_on(label, said, verdict):
    example = VerdictExample(CLAIM, (TOWER, QUILL), label)
    proofs = list(confirmed_proofs(FixedVerifier.certain(said), [example] * 20))
    if verdict is None:
        assert not proofs
        return
    assert len(proofs) == 20
    for sample in proofs:
        sample.proof.validate(CLAIM, sample.evidence)
        assert sample.proof.verdict() is verdict
        independent = NatOp.INDEPENDENCE in sample.proof.operators
        assert independent is (verdict is Verdict.NOT_ENOUGH_INFO)


def test_the_program_writes_samples_that_training_reads(user_cache, tmp_path):
    verifier, out = write_classifier_directory(tmp_path / "model"), tmp_path / "proofs.jsonl"
    gold = tmp_path / "gold.jsonl"
    gold.write_text("".join(DEMO.read_text().splitlines(keepends=True)[::5]))
    given = ("--source", f"gold:{gold}", "--verifier", verifier, out)
    run_program(main, *given)
    samples = list(read_samples(out))
    assert samples
    assert all(isinstance(sample, ProveSample) for sample in samples)
    first = out.read_bytes()
    run_program(main, *given)
    assert out.read_bytes() == first
    run_program(main, "--hold-out", 0.5, *given)
    assert 0 < len(list(read_samples(out))) < len(samples)
