"""Tests of the layout and the truncation of encoder inputs."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.requirements import minilm_directory
from proofs.generation.source_input import encode_source
from training.warm_start import mini_tokenizer
from trie import SafeTokenizer

words = st.integers(0, 40).map(lambda n: "a " * n)
evidences = st.lists(st.tuples(st.sampled_from(["", "Great tit", "[SEP] x"]), words), max_size=5)


@cache
def _tokens():
    return SafeTokenizer(mini_tokenizer(minilm_directory()))


def _parts(claim, evidence):
    """Return the untruncated ids of the claim and of each sentence."""
    tokens = _tokens()
    head = [tokens.bos, tokens.task("retrieve"), *tokens.encode(claim), tokens.eos]
    return [head] + [
        [
            tokens.identifier(n),
            tokens.single_token("["),
            *tokens.encode(title),
            tokens.single_token("]"),
            *tokens.encode(sentence),
            tokens.eos,
        ]
        for n, (title, sentence) in enumerate(evidence)
    ]


def _flatten(parts):
    return [i for part in parts for i in part]


def test_token_layout():
    tokens = _tokens()
    source = encode_source(tokens, "retrieve", "Birds </s> sing", [("Bird", "It sings.")], 64)
    text = [tokens.decode([i]) for i in source.ids if i not in (101, 102)]
    assert source.ids == _flatten(_parts("Birds </s> sing", [("Bird", "It sings.")]))
    assert "".join(text) == "birds</s>sing[bird]itsings."
    assert source.ids.count(tokens.eos) == 2
    assert not source.truncated


@given(words, evidences, st.integers(8, 120))
def test_input_fits_and_sentences_share_the_length(claim, evidence, limit):
    tokens = _tokens()
    source = encode_source(tokens, "retrieve", claim, evidence, limit)
    whole = _parts(claim, evidence)
    assert len(source.ids) <= limit
    assert source.truncated == (source.ids != _flatten(whole))
    assert source.ids[:2] == [tokens.bos, tokens.task("retrieve")]
    assert source.ids[-1] == tokens.eos

    head = min(len(whole[0]), limit // 2 if evidence else limit)
    lengths, left = [], source.ids[head:]
    assert source.ids[: head - 1] == whole[0][: head - 1]
    assert source.ids[head - 1] == tokens.eos
    while left:
        end = left.index(tokens.eos) + 1
        lengths.append(end)
        left = left[end:]
    share = max(lengths, default=0)
    if len(lengths) == len(evidence):
        # Short sentences stay whole, long ones have equal length, and one more token would not fit.
        assert lengths == [min(len(part), share) for part in whole[1:]]
        longer = sum(min(len(part), share + 1) for part in whole[1:])
        assert head + longer > limit or share == max(map(len, whole[1:]), default=0)


def test_claim_without_evidence_may_fill_the_input():
    source = encode_source(_tokens(), "retrieve", "a " * 100, [], 50)
    assert len(source.ids) == 50
    assert source.truncated


@pytest.mark.parametrize("limit", [8, 12, 16])
def test_more_sentences_than_tokens(limit):
    source = encode_source(_tokens(), "retrieve", "a", [("T", "a b c")] * 9, limit)
    assert len(source.ids) <= limit
    assert source.truncated
