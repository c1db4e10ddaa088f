"""Tests of the classifier judge."""

import torch

from proofs import Judgement
from proofs.generation.source_input import encode_source
from proofs.judges.classifier import ClassifierJudge, pooled_states
from tests.proofs.untrained_bart import bart
from trie import SafeTokenizer, Seq2Seq

CLAIMS = ["Ada was Irish.", "The lighthouse is old and white.", " ", "Ada built it."]
EVIDENCE = [[("Ada", "An engineer.")], [("Tower", "It was built."), ("Ada", "Old.")], [("a", "b")]]
EVIDENCE.append([])


def test_pooled_states_ignore_padding(tokens: SafeTokenizer) -> None:
    encoder = Seq2Seq(bart(tokens))
    states = pooled_states(encoder, tokens, CLAIMS[:2], EVIDENCE[:2])
    for row, claim, texts in zip(states, CLAIMS, EVIDENCE, strict=False):
        ids = encode_source(tokens, "prove", claim, texts, encoder.max_source).ids
        hidden, _ = encoder.run_encoder([ids])
        expected = torch.cat([hidden[0].mean(0), hidden[0, 0]])
        torch.testing.assert_close(row, expected, rtol=1e-4, atol=1e-5)


def test_linear_head_decides(tokens: SafeTokenizer) -> None:
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
