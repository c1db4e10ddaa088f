"""The classifier without a proof: the head decides, and batches change nothing."""

import torch
from transformers import BartConfig, BartForConditionalGeneration

from proofs import Judgement
from proofs.classifier import ClassifierJudge, pooled_states
from trie import Seq2Seq, Tokens, evidence_input

CLAIMS = ["Ada was Irish.", "The lighthouse is old and white.", " ", "Ada built it."]
EVIDENCE = [[("Ada", "An engineer.")], [("Tower", "It was built."), ("Ada", "Old.")], [("a", "b")]]
EVIDENCE.append([])


def model(tokens: Tokens) -> Seq2Seq:
    torch.manual_seed(0)
    config = BartConfig(
        vocab_size=tokens.size,
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=128,
        pad_token_id=tokens.pad,
        bos_token_id=tokens.bos,
        eos_token_id=tokens.eos,
        decoder_start_token_id=tokens.start,
        forced_eos_token_id=None,
    )
    return Seq2Seq(BartForConditionalGeneration(config).eval())


def test_states_are_means_over_the_input_alone(tokens: Tokens) -> None:
    encoder = model(tokens)
    states = pooled_states(encoder, tokens, CLAIMS[:2], EVIDENCE[:2])
    for row, claim, texts in zip(states, CLAIMS, EVIDENCE, strict=False):
        ids = evidence_input(tokens, "prove", claim, texts, encoder.max_source).ids
        hidden, _ = encoder.hidden([ids])
        expected = torch.cat([hidden[0].mean(0), hidden[0, 0]])
        torch.testing.assert_close(row, expected, rtol=1e-4, atol=1e-5)


def test_the_head_decides(tokens: Tokens) -> None:
    encoder = model(tokens)
    one, other = pooled_states(encoder, tokens, CLAIMS[:2], EVIDENCE[:2])
    weight = one - other
    bias = -(weight @ (one + other)) / 2
    judge = ClassifierJudge(encoder, tokens, weight, bias)
    found = judge.judge(CLAIMS, EVIDENCE)
    assert found == [Judgement(said, None) for said in (True, False, False, False)]
    opposite = ClassifierJudge(encoder, tokens, -weight, -bias).judge(CLAIMS, EVIDENCE)
    assert [j.sufficient for j in opposite] == [False, True, False, False]
    assert judge.judge(CLAIMS[2:], EVIDENCE[2:]) == found[2:]
