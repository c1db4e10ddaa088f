"""Judgements, and the judges that need no weights of a verifier."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs import GeneratedProofJudge, Judgement, LexicalJudge, NatOp, ProofGenerator, Verdict
from proofs.drafting import lexical_proof
from proofs.judges.claim_form import form_warning
from proofs.judges.generated import ClassifierJudge, pooled_states
from proofs.judges.verifier_judge import VerifierJudge
from proofs.lexicons import default_lexicon
from proofs.logic import REFUTING_OPERATORS
from proofs.logic.words import word_list, word_spans
from proofs.verifier import LABELS, Reading
from tests.proofs.helpers import bart, claims, evidence
from trie import Seq2Seq

CLAIM = "The lighthouse at Port Merrow was built by an Irish engineer."
LIGHTHOUSE = ("Port Merrow Lighthouse", "The lighthouse at Port Merrow was built by Ada Quill.")
ENGINEER = ("Ada Quill", "Ada Quill was an Irish engineer.")


def test_lexical_judge_finds_missing_spans():
    enough, partly = LexicalJudge().judge([CLAIM] * 2, [[LIGHTHOUSE, ENGINEER], [LIGHTHOUSE]])
    assert enough.sufficient
    assert not partly.sufficient
    assert partly.proof is not None
    assert partly.proof.missing == ("by an Irish engineer.",)
    partly.proof.validate(CLAIM, [LIGHTHOUSE])


def test_without_evidence_the_whole_claim_is_missing():
    for claim in (CLAIM, " \n"):
        (judgement,) = LexicalJudge().judge([claim], [[]])
        assert not judgement.sufficient
        if claim.strip():
            assert judgement.proof is not None
            assert judgement.proof.operators == (NatOp.INDEPENDENCE,)
            judgement.proof.validate(claim, [])
        else:
            assert judgement.proof is None
    assert LexicalJudge().judge([""], [[ENGINEER]]) == [Judgement(False, None)]


CLAIMS = ["Ada was Irish.", "The lighthouse is old and white.", " ", "Ada built it."]
EVIDENCE = [[("Ada", "An engineer.")], [("Tower", "It was built."), ("Ada", "Old.")], [("a", "b")]]
EVIDENCE.append([])


def test_linear_head_decides(tokens):
    encoder = Seq2Seq(bart(tokens))
    first, second = pooled_states(encoder, tokens, CLAIMS[:2], EVIDENCE[:2])
    weight = first - second
    bias = -(weight @ (first + second)) / 2
    judge = ClassifierJudge(encoder, tokens, weight, bias)
    judgements = judge.judge(CLAIMS, EVIDENCE)
    assert judgements == [Judgement(decision, None) for decision in (True, False, False, False)]
    opposite = ClassifierJudge(encoder, tokens, -weight, -bias).judge(CLAIMS, EVIDENCE)
    assert [j.sufficient for j in opposite] == [False, True, False, False]
    assert judge.judge(CLAIMS[2:], EVIDENCE[2:]) == judgements[2:]


# Words with names, values, negations and relations that claims and evidence share by chance.
_WORDS = sorted(
    word_list(
        """
        Ada Quill Bo Lind Oslo Rome Torvik 1873 1874 five six first not never was were is born died
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
    scored = judgement.scored_verdict
    assert scored is not None
    assert scored.confidence == shares[scored.label]
    assert judgement.sufficient == (verdict is not Verdict.NOT_ENOUGH_INFO)
    if judgement.sufficient:
        assert judgement.probability >= stop_at
    if scored.outweighed is None:
        assert scored.confidence == max(shares.values())
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
        assert step.claim_start is not None
        assert claim[step.claim_start : step.claim_end] == step.claim
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
    if form_warning(claim) is not None:
        assert judgement.verdict is judgement.proof is judgement.verdicts is None
    elif texts and claim.split():
        check(judgement, claim, texts, stop_at)
    else:
        assert not judgement.sufficient


HOSTILE_CLAIM = "The lighthouse at Port Merrow was built by an Irish engineer born in 1873."
BORN_ENGINEER = ("Ada Quill", "Ada Quill (born 1873 in Cork) was an Irish engineer.")


def judged(claim, texts):
    """Return the judgement of a lexical proof, which is checked in every form of output."""
    proof = lexical_proof(claim, texts, lexicon=default_lexicon())
    proof.validate(claim, texts)
    proof.to_html(texts).encode("utf-8")
    assert type(proof).parse(proof.to_text()) == proof
    return Judgement(proof.sufficient, proof)


@given(claims, evidence)
def test_any_text_gives_a_valid_proof(claim, texts):
    judgement = judged(claim, texts)
    assert judgement.sufficient is (not judgement.missing)
    if not judgement.sufficient:
        assert judgement.verdict is Verdict.NOT_ENOUGH_INFO


def test_no_model_runs_without_evidence(tokens):
    model, runs = bart(tokens), []
    for module in model.modules():
        module.register_forward_pre_hook(lambda *_: runs.append(1))
    generated = GeneratedProofJudge(ProofGenerator(Seq2Seq(model), tokens))
    for judge in (generated, LexicalJudge()):
        (judgement,) = judge.judge([HOSTILE_CLAIM], [[]])
        assert not judgement.sufficient
        assert judgement.missing == (HOSTILE_CLAIM,)
        assert judgement.verdict is Verdict.NOT_ENOUGH_INFO
    assert not runs
    generated.judge([HOSTILE_CLAIM], [[BORN_ENGINEER]])
    assert runs
