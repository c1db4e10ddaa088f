"""Tiny untrained models and a tokenizer, constraints state by state, and what the CPU can do."""

import numpy as np
import torch
import transformers
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)
from transformers import PreTrainedTokenizerFast

PAD, EOS, VOCABULARY = 0, 1, 30
#: Versions of T5, and its relatives; classes of transformers and fields of their configurations.
KINDS = {
    "t5": ("T5", {}),
    "t5 v1.1": ("T5", {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}),
    "mt5": ("MT5", {}),
    "umt5": ("UMT5", {}),
    "longt5": ("LongT5", {"local_radius": 5, "global_block_size": 4}),
    "longt5 global": (
        "LongT5",
        {"local_radius": 5, "global_block_size": 4, "encoder_attention_type": "transient-global"},
    ),
}


def t5(seed, kind="t5", **changes):
    """Return a model whose scores are far apart; inputs and outputs have up to 24 tokens."""
    name, fields = KINDS[kind]
    settings = {
        "vocab_size": VOCABULARY,
        "d_model": 16,
        "d_kv": 6,  # heads times this size is not the size of the states
        "d_ff": 24,
        "num_layers": 2,
        "num_decoder_layers": 3,
        "num_heads": 2,
        # Inputs are long enough for every bucket.
        "relative_attention_num_buckets": 8,
        "relative_attention_max_distance": 12,
        "pad_token_id": PAD,
        "eos_token_id": EOS,
        "decoder_start_token_id": PAD,
        "n_positions": 24,
        "dropout_rate": 0.3,
    }
    torch.manual_seed(seed)
    config = getattr(transformers, f"{name}Config")(**{**settings, **fields, **changes})
    model = getattr(transformers, f"{name}ForConditionalGeneration")(config)
    for field, parameter in model.named_parameters():
        if "norm" in field:
            torch.nn.init.normal_(parameter, mean=1.0, std=0.2)
        elif "relative" in field or "shared" in field:
            torch.nn.init.normal_(parameter, std=2.0)
    if kind == "t5 v1.1":  # as in the published checkpoints; transformers ties new models
        model.lm_head.weight = torch.nn.Parameter(torch.randn(model.lm_head.weight.shape))
    return model


def unigram_tokenizer(words, characters, added=()):
    """Return a tokenizer in the form of T5's: pieces with scores for words and for characters.

    As in T5, special tokens are pieces of the vocabulary, pieces of words begin with a mark, and
    there is no begin token.
    """
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("\u2581", -4.0)]
    pieces += [(f"\u2581{word}", -5.0) for word in sorted(set(words))]
    pieces += [(character, -6.0) for character in sorted(set(characters))]
    backend = Tokenizer(models.Unigram(pieces, unk_id=2))
    backend.normalizer = normalizers.NFKC()
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    backend.decoder = decoders.Metaspace()
    backend.add_special_tokens(
        [AddedToken(token, special=True) for token in ("<pad>", "</s>", "<unk>", *added)]
    )
    backend.post_processor = processors.TemplateProcessing(
        single=["$A", "</s>"], special_tokens=[("</s>", EOS)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )


def following(constraint, state):
    """Return the tokens that may follow, ascending, and the state after each."""
    found = constraint.transitions(np.array([state]))
    assert found.tokens.dtype == found.next_states.dtype == found.sizes.dtype == np.int64
    assert found.sizes.tolist() == [found.tokens.size] == [found.next_states.size]
    assert np.all(found.tokens[1:] > found.tokens[:-1])
    return dict(zip(found.tokens.tolist(), found.next_states.tolist(), strict=True))


def language(constraint, eos):
    """Return all sequences that a constraint accepts, and the state after each."""
    accepted = {}
    todo = [((), constraint.start)]
    while todo:
        ids, state = todo.pop()
        successors = following(constraint, state)
        assert bool(successors) == (ids[-1:] != (eos,)), "a dead end, or no end"
        if not successors:
            accepted[ids] = state
        todo += [((*ids, token), after) for token, after in successors.items()]
    return accepted


SAME_BITS = torch.cpu._is_avx512_bf16_supported() and not torch.cpu._is_amx_tile_supported()
"""Whether products have the same bits in any batch; measured only on CPUs with these features."""


def bart(seed=0, *, biased=True, **changes):
    """Return a BART whose scores are far apart; by default of 20 tokens and 24 positions."""
    torch.manual_seed(seed)
    settings = {
        "vocab_size": 20,
        "d_model": 16,
        "encoder_layers": 1,
        "decoder_layers": 2,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 16,
        "decoder_ffn_dim": 16,
        "max_position_embeddings": 24,
        "init_std": 0.3,
        "pad_token_id": 1,
        "bos_token_id": 0,
        "eos_token_id": 2,
        "decoder_start_token_id": 2,
        "forced_eos_token_id": None,
    }
    model = transformers.BartForConditionalGeneration(
        transformers.BartConfig(**{**settings, **changes})
    )
    if biased:
        model.final_logits_bias.normal_()
    return model.eval()
