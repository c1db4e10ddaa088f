from functools import cache
from string import ascii_letters, digits

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from admiral.requirements import minilm_directory
from tests.trie.helpers import unigram_tokenizer
from training.warm_start import mini_tokenizer
from trie import SafeTokenizer

SPECIALS = [f"[{name}]" for name in ("CLS", "SEP", "PAD", "MASK")]
SPECIALS += [f"<{name}>" for name in ("s", "/s", "pad", "mask", "prove", "e1")]
KINDS = ["wordpiece", "bpe", "unigram"]
text = st.lists(
    st.sampled_from(
        [*SPECIALS, "Great", "tit", " ", "  ", "\n", "\x00", "é", "鳥", "\ud800", "[", "]"]
    )
    | st.text(st.characters(), max_size=4),
    max_size=8,
).map("".join)


@cache
def _fast(kind):
    if kind == "wordpiece":
        return mini_tokenizer(minilm_directory())
    if kind == "unigram":
        words = ["the", "great", "tit", "a", "bird", "=", "0"]
        characters = ascii_letters + digits + "[]{=!"
        return unigram_tokenizer(words, characters, added=["<prove>", "<e1>"])
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<prove>", "<e1>"],
    )
    backend.train_from_iterator(["the great tit is a great bird"] * 3, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
    )


@cache
def _tokens(kind):
    return SafeTokenizer(_fast(kind))


def _added(kind):
    """Return all added tokens except the unknown token."""
    fast = _fast(kind)
    return set(fast.get_added_vocab().values()) - {fast.unk_token_id}


@pytest.mark.parametrize("kind", KINDS)
@given(value=text)
@example(value="".join(SPECIALS))
@example(value=" ".join(SPECIALS))
def test_text_never_becomes_a_special_token(kind, value):
    tokens = _tokens(kind)
    ids = tokens.encode(value)
    assert not _added(kind) & set(ids)
    assert all(0 <= i < tokens.size for i in ids)
    assert tokens.encode_batch([value, "x", value]) == [ids, tokens.encode("x"), ids]
    assert tokens.encode_with_offsets(value)[0] == ids


@pytest.mark.parametrize("kind", KINDS)
@given(value=text)
@example(value="  Great  tit \ud800 é[x]")
def test_offsets_ascend_within_the_text(kind, value):
    ids, spans = _tokens(kind).encode_with_offsets(value)
    assert len(ids) == len(spans)
    previous = 0
    for start, end in spans:
        assert previous <= start <= end <= len(value)
        assert start == end or not value[start].isspace()
        previous = start


@given(text)
def test_byte_level_tokens_are_lossless(value):
    tokens = _tokens("bpe")
    ids, spans = tokens.encode_with_offsets(value)
    kept = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in value)
    assert tokens.decode(ids) == " " + kept
    covered = {i for start, end in spans for i in range(start, end)}
    assert covered >= {i for i, c in enumerate(value) if not c.isspace()}


def test_marks_identifiers_and_tasks():
    tokens, fast = _tokens("wordpiece"), _fast("wordpiece")
    for mark in "[]{}#=!|":
        assert fast.convert_ids_to_tokens(tokens.single_token(mark)) == mark
    assert [fast.convert_ids_to_tokens(tokens.identifier(n)) for n in (0, 9)] == ["<e0>", "<e9>"]
    assert fast.convert_ids_to_tokens(tokens.task("prove")) == "<prove>"
    assert (tokens.bos, tokens.eos, tokens.pad) == (101, 102, 0)
    assert tokens.start == tokens.eos
    assert SafeTokenizer(fast, decoder_start=7).start == 7
    with pytest.raises(ValueError, match="no single token"):
        tokens.single_token("great tit")
    with pytest.raises(ValueError, match="no single token for '12345678'"):
        tokens.identifier(12345678)
    with pytest.raises(ValueError, match="unknown task"):
        tokens.task("dance")
    assert _tokens("bpe").task("retrieve") is None


def test_titles_of_a_unigram_vocabulary_are_spelt_as_in_mid_sentence():
    """Spaces around them make no difference, and their pieces spell them."""
    tokens, fast = _tokens("unigram"), _fast("unigram")
    assert (tokens.bos, tokens.input_head) == (None, [])
    assert fast.convert_ids_to_tokens(tokens.encode("great"))[0] == "\u2581great"
    for title in ("great tit", "a bird", "tree [ 2 ]"):
        ids = tokens.encode(title)
        assert tokens.encode(f"  {title} ") == ids == tokens.encode_batch([f" {title}"])[0]
        assert tokens.decode(ids) == title
        assert tokens.encode(f"the {title}")[-len(ids) :] == ids


def test_marks_of_a_unigram_vocabulary_have_tokens():
    """Without the space before them, if no piece begins with it."""
    tokens, fast = _tokens("unigram"), _fast("unigram")
    for mark in "[]{=!0":
        piece = fast.convert_ids_to_tokens(tokens.single_token(mark))
        assert piece.removeprefix("\u2581") == mark
    for missing in "}|":
        with pytest.raises(ValueError, match="no single token"):
            tokens.single_token(missing)


@pytest.mark.parametrize("spelling", ["</s>", "a</s>", "\uff1c/s\uff1e", "<pad>", "<unk>"])
def test_pieces_that_are_special_tokens_become_unknown(spelling):
    """Also where the tokenizer normalises other characters to those of a special token."""
    tokens, fast = _tokens("unigram"), _fast("unigram")
    assert fast.convert_tokens_to_ids(["<pad>", "</s>", "<unk>"]) == [0, 1, 2]
    ids = tokens.encode(spelling)
    assert 2 in ids
    assert not {0, 1} & set(ids)


def test_a_unigram_tokenizer_needs_an_unknown_token():
    fast = unigram_tokenizer(["a"], "a")
    fast.unk_token = None
    with pytest.raises(ValueError, match="no unknown token"):
        SafeTokenizer(fast)


def test_fingerprints_differ_between_tokenizers():
    assert _tokens("bpe").fingerprint != _tokens("wordpiece").fingerprint
    assert SafeTokenizer(_fast("bpe")).fingerprint == _tokens("bpe").fingerprint
    assert len(_tokens("bpe").fingerprint) == 16
