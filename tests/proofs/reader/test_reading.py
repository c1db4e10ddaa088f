"""The reader at work: its proof is its verdict, quotes the evidence, and covers the claim."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.judges.reader_proof import reader_proof
from proofs.judges.verifier_judge import VerifierJudge
from proofs.logic import OPERATORS, NatOp, Verdict
from proofs.reader.automaton import verdict_shares
from proofs.reader.inputs import ReaderEncoder
from proofs.reader.model import new_reader
from proofs.reader.reading import ProofReader, ReaderScores
from proofs.verifier import Calibration, Scale
from proofs.verifier.exact_comparison import ExactVerifier
from tests.proofs.verifier.tiny_classifier import write_classifier_directory

CLAIM = "Paris is the capital of France and lies on the Tiber."
EVIDENCE = [("Paris", "Paris is the capital of France."), ("Rome", "Rome lies on the Tiber.")]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = write_classifier_directory(tmp_path_factory.mktemp("reader") / "base", labels=())
    return ReaderEncoder.of(new_reader(folder, 0)[1], 96)


def random_scores(seed, sharpness=3.0):
    def backend(item):
        rng = np.random.default_rng([seed, len(item.ids)])
        spans, sentences, length = len(item.spans), len(item.markers), len(item.ids)
        raw = rng.normal(size=(spans, len(OPERATORS))) * sharpness
        return ReaderScores(
            raw - np.log(np.exp(raw).sum(-1, keepdims=True)),
            rng.normal(size=(sentences, 3)),
            rng.normal(size=(spans, sentences)),
            rng.normal(size=(spans, length)),
            rng.normal(size=(spans, length)),
        )

    return backend


TEXT = st.text(st.sampled_from("ab Z19.,-'’é(\n\U0001f600]"), max_size=40) | st.sampled_from(
    ["Rome is a city.", "12 of 30 towns lie on the Tiber", "in March 2021", "of the", "?"]
)


@given(st.integers(0, 2**32 - 1), TEXT, st.lists(st.tuples(TEXT, TEXT), max_size=9))
def test_the_proof_is_the_verdict_of_any_claim_and_evidence(encoder, seed, claim, evidence):
    reader = ProofReader(random_scores(seed), encoder)
    (judgement,) = VerifierJudge(reader).judge([claim], [evidence])
    if judgement.proof is None or not evidence:
        return
    (reading,) = reader.read([claim], [evidence])
    assert reading.labels.sum() == pytest.approx(1)
    judgement.proof.validate(claim, evidence)
    # A text that is no claim, and one that shares no word with its evidence, is not decided.
    if judgement.verdict is not None:
        assert judgement.proof.verdict() is judgement.verdict


def test_the_verdict_is_that_of_the_best_of_all_proofs_when_one_is_certain(encoder):
    for operators in ("====", "==|=", "=!==", "==#=", "=>==", "<=<="):
        scores = random_scores(0)

        def backend(item, operators=operators, scores=scores):
            given = scores(item)
            given.operators[:] = np.log(1e-6)
            for row, symbol in zip(given.operators, operators, strict=True):
                row[[one.value for one in OPERATORS].index(symbol)] = np.log(1 - 5e-6)
            return given

        (judgement,) = VerifierJudge(ProofReader(backend, encoder)).judge([CLAIM], [EVIDENCE])
        assert "".join(o.value for o in judgement.proof.operators) == operators
        assert judgement.scored_verdict.confidence == pytest.approx(1, abs=1e-4)


def test_successive_independent_spans_are_one_step(encoder):
    def backend(item):
        given = random_scores(0)(item)
        given.operators[:] = np.log(0.01)
        given.operators[1:3, OPERATORS.index(NatOp.INDEPENDENCE)] = 0.0
        given.operators[[0, 3], OPERATORS.index(NatOp.EQUIVALENCE)] = 0.0
        return given

    (judgement,) = VerifierJudge(ProofReader(backend, encoder)).judge([CLAIM], [EVIDENCE])
    assert judgement.missing == ("is the capital of France and lies",)


def test_the_most_probable_words_are_quoted(encoder):
    item = encoder.encode([CLAIM], [EVIDENCE])[0]
    word = "Rome: Rome lies on the Tiber.".index("lies")
    first = item.markers[1] + 1 + next(n for n, o in enumerate(item.offsets[1]) if o[0] == word)
    last = item.markers[1] + len(item.offsets[1]) - 1  # before the full stop

    def backend(item):
        given = random_scores(0)(item)
        given.quoted[:, 1] = 30.0
        given.begins[:, first] = given.ends[:, last] = 30.0
        return given

    (reading,) = ProofReader(backend, encoder).read([CLAIM], [EVIDENCE])
    for quote, _ in reading.quotes:
        assert (quote.title, quote.sentence_id, quote.in_title) == ("Rome", 1, False)
        assert EVIDENCE[1][1][quote.start : quote.end].rstrip(".") == "lies on the Tiber"


def test_long_evidence_is_quoted_by_its_own_numbers(encoder):
    evidence = [("", f"Rome has {number} towns.") for number in range(20)]

    def backend(item):
        given = random_scores(0)(item)
        # The longer a sentence, the more it says.
        for row, offsets in zip(given.sentences, item.offsets, strict=True):
            row[:] = [len(offsets), 0, 0]
        return given

    (reading,) = ProofReader(backend, encoder).read([CLAIM], [evidence])
    assert reading.sentences.shape == (20, 3)
    proof = reader_proof(
        CLAIM,
        evidence,
        reading,
        VerifierJudge(ProofReader(backend, encoder)).judge([CLAIM], [evidence])[0].verdict,
    )
    for step in proof.steps:
        if step.evidence:
            assert step.evidence in evidence[step.sentence_id][1]


def test_what_cannot_be_quoted_is_independent(encoder):
    (reading,) = ProofReader(random_scores(1), encoder).read([CLAIM], [[("", "of the")]])
    assert reading.quotes == ((None, None),) * len(reading.spans)
    np.testing.assert_allclose(reading.labels, [0, 1, 0], atol=1e-6)


def test_a_calibration_is_of_the_verdict(encoder):
    def labels(scale):
        calibration = Calibration(documents=scale)
        return ProofReader(random_scores(2), encoder, calibration).read([CLAIM], [EVIDENCE])[0]

    open_shares = [labels(Scale(neutral=value)).labels[1] for value in (-4, -2, 0, 2, 4)]
    assert open_shares == sorted(open_shares)
    np.testing.assert_allclose(labels(Scale(temperature=99.0)).labels, 1 / 3, atol=0.05)
    whole = labels(Scale())
    np.testing.assert_allclose(whole.labels, verdict_shares(whole.operators))


@pytest.mark.parametrize(
    ("claim", "text", "verdict", "step"),
    [
        (
            "The bridge was opened in 1931.",
            "The bridge was opened on 9 May 1940.",
            Verdict.REFUTES,
            ("in 1931.", NatOp.ALTERNATION, "9 May 1940"),
        ),
        (
            "The bridge was opened in 1940.",
            "The bridge was opened on 9 May 1940.",
            Verdict.SUPPORTS,
            ("in 1940.", NatOp.FORWARD, "9 May 1940"),
        ),
    ],
)
def test_exact_reasoning_decides_through_the_proof(encoder, claim, text, verdict, step):
    evidence = [("Ostra", "Ostra is a town."), ("Bridge", text)]
    for seed in range(5):
        reader = ExactVerifier(ProofReader(random_scores(seed), encoder))
        (reading,) = reader.read([claim], [evidence])
        np.testing.assert_allclose(verdict_shares(reading.operators), reading.labels, atol=0.04)
        (judgement,) = VerifierJudge(reader).judge([claim], [evidence])
        assert judgement.verdict is judgement.proof.verdict() is verdict
        last = judgement.proof.steps[-1]
        assert (last.claim, last.operator, last.evidence) == step
