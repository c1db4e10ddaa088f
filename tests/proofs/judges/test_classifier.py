"""The classifier without a proof: the head decides, and batches change nothing."""

import torch

from proofs import Judgement
from proofs.generation.source_input import evidence_input
from proofs.judges.classifier import ClassifierJudge, pooled_states
from tests.proofs.models import bart
from trie import SafeTokenizer, Seq2Seq

CLAIMS = ["Ada was Irish.", "The lighthouse is old and white.", " ", "Ada built it."]
EVIDENCE = [[("Ada", "An engineer.")], [("Tower", "It was built."), ("Ada", "Old.")], [("a", "b")]]
EVIDENCE.append([])


def test_states_are_means_over_the_input_alone(tokens: SafeTokenizer) -> None:
    encoder = Seq2Seq(bart(tokens))
    states = pooled_states(encoder, tokens, CLAIMS[:2], EVIDENCE[:2])
    for row, claim, texts in zip(states, CLAIMS, EVIDENCE, strict=False):
        ids = evidence_input(tokens, "prove", claim, texts, encoder.max_source).ids
        hidden, _ = encoder.hidden([ids])
        expected = torch.cat([hidden[0].mean(0), hidden[0, 0]])
        torch.testing.assert_close(row, expected, rtol=1e-4, atol=1e-5)


def test_the_head_decides(tokens: SafeTokenizer) -> None:
    encoder = Seq2Seq(bart(tokens))
    one, other = pooled_states(encoder, tokens, CLAIMS[:2], EVIDENCE[:2])
    weight = one - other
    bias = -(weight @ (one + other)) / 2
    judge = ClassifierJudge(encoder, tokens, weight, bias)
    found = judge.judge(CLAIMS, EVIDENCE)
    assert found == [Judgement(said, None) for said in (True, False, False, False)]
    opposite = ClassifierJudge(encoder, tokens, -weight, -bias).judge(CLAIMS, EVIDENCE)
    assert [j.sufficient for j in opposite] == [False, True, False, False]
    assert judge.judge(CLAIMS[2:], EVIDENCE[2:]) == found[2:]
