"""Invariants of judgements, whatever the verifier says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs import NatOp, Verdict
from proofs.judges.judgement import decide, form_warning, probabilities
from proofs.judges.verifier_judge import VerifierJudge
from proofs.logic.operators import REFUTING_OPERATORS
from proofs.logic.words import word_list, word_spans
from proofs.verifier.reading import LABELS, Reading
from tests.proofs.hostile_texts import claims, evidence

# Words with names, values, negations and relations that claims and evidence share by chance.
_WORDS = sorted(
    word_list(
        """
        Ada Quill Bo Lind Oslo Rome Kallby 1873 1874 five six first not never was were is born died
        in by of the a an who whose and wrote directed film book director Norwegian city on May 9
        """
    )
)
_texts = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=16).map(
    lambda words: " ".join(words) + "."
)
_titles = st.sampled_from(["Ada Quill", "Bo Lind", "Oslo", "Rome (film)", ""])
_worded = st.lists(st.tuples(_titles, _texts), min_size=1, max_size=6)


class RandomVerifier:
    """Says of claims, sentences and words what a seed makes up."""

    def __init__(self, seed, *, words):
        self._random, self._words = np.random.default_rng(seed), words

    def read(self, claims, evidences):
        return [self._read(c, e) for c, e in zip(claims, evidences, strict=True)]

    def _read(self, claim, evidence):
        def rows(count):
            return self._random.dirichlet(np.full(len(LABELS), 0.5), count)

        places = tuple(word_spans(claim)) if self._words else ()
        return Reading(rows(1)[0], rows(len(evidence)), rows(len(places)), places)


def check(judgement, claim, texts, stop_at):
    """Assert what holds of a judgement of a claim that has words, and of evidence."""
    assert judgement.verdicts is not None
    assert judgement.proof is not None
    assert judgement.probability is not None
    verdict, proof = judgement.verdict, judgement.proof
    proof.validate(claim, texts)
    # Decision and probability agree.
    shares = judgement.verdicts
    assert sum(shares.values()) == pytest.approx(1, abs=3e-6)
    assert judgement.confidence == shares[verdict] if verdict is not None else False
    assert judgement.sufficient == (verdict is not Verdict.NOT_ENOUGH_INFO)
    if judgement.sufficient:
        assert judgement.probability >= stop_at
    if judgement.outweighed is None:
        assert judgement.confidence == max(shares.values())
    else:
        assert not judgement.sufficient
        assert judgement.probability < stop_at
    # The automaton over the steps gives the verdict, and each verdict has its reason.
    assert proof.verdict() is verdict
    operators = set(proof.operators)
    if verdict is Verdict.SUPPORTS:
        assert operators <= {NatOp.EQUIVALENCE, NatOp.FORWARD}
        assert not judgement.missing
    elif verdict is Verdict.REFUTES:
        against = [step for step in proof.steps if step.operator in REFUTING_OPERATORS]
        assert len(against) == 1
        assert against[0].quotation is not None
        assert not judgement.missing
    else:
        assert judgement.missing
    # Quotations stand where the steps say.
    for step in proof.steps:
        assert step.start is not None
        assert claim[step.start : step.start + len(step.claim)] == step.claim
        assert (step.quotation is None) == (not step.evidence)
        if step.quotation is not None:
            title, text = texts[step.quotation.sentence_id]
            assert title == step.quotation.title
            whole = title if step.quotation.in_title else text
            assert whole[step.quotation.start : step.quotation.end] == step.evidence


_THRESHOLDS = st.sampled_from([0.0, 0.3, 0.5, 0.7, 0.9, 1.0])


@given(_texts | claims, _worded | evidence, _THRESHOLDS, st.integers(0, 9999), st.booleans())
def test_every_judgement_agrees_with_itself(claim, texts, stop_at, seed, words):
    judge = VerifierJudge(RandomVerifier(seed, words=words), stop_at=stop_at)
    (judgement,) = judge.judge([claim], [texts])
    judgement = judgement.located(claim, texts)
    if form_warning(claim) is not None and texts:
        assert judgement.verdict is judgement.proof is judgement.verdicts is None
    elif texts and claim.split():
        check(judgement, claim, texts, stop_at)
    else:
        assert not judgement.sufficient


@given(st.lists(st.floats(0.001, 1), min_size=3, max_size=3), st.floats(0, 1))
def test_one_threshold_decides(weights, stop_at):
    shares = probabilities(weight / sum(weights) for weight in weights)
    likeliest = max(shares.values())
    verdict = decide(shares, stop_at)
    if verdict is not Verdict.NOT_ENOUGH_INFO:
        assert shares[verdict] == likeliest
        assert decide(shares, 0.0) is verdict
        assert decide(shares, stop_at / 2) is verdict  # a lower threshold changes nothing
    elif stop_at <= 0.5:
        assert shares[verdict] == likeliest


def test_an_unknown_word_beside_a_contradiction_does_not_hide_it():
    """Spans that the evidence leaves open belong to the step that it refutes."""
    claim = "Ada Quill, who loved chess, was born in Rome in 1873."
    texts = [("Ada Quill", "Ada Quill was born in Oslo in 1873.")]
    denied = [(0.1, 0.1, 0.8) if word == "Rome" else (0.8, 0.1, 0.1) for word in claim.split()]

    class Denying(RandomVerifier):
        def _read(self, claim, evidence):
            row = np.array([0.05, 0.05, 0.9])
            return Reading(row, row[None], np.array(denied), tuple(word_spans(claim)))

    (judgement,) = VerifierJudge(Denying(0, words=True)).judge([claim], [texts])
    assert judgement.proof is not None
    assert [(s.claim, s.evidence, s.operator) for s in judgement.proof.steps] == [
        ("Ada Quill,", "Ada Quill", NatOp.EQUIVALENCE),
        ("who loved chess, was born in Rome", "in Oslo", NatOp.ALTERNATION),
        ("in 1873.", "in 1873", NatOp.EQUIVALENCE),
    ]
