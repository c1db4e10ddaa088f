"""Texts that try to break out of the notation, numbers in words, and a small untrained model."""

from hypothesis import strategies as st

from tests.trie.helpers import bart as tiny_bart

NASTY = [
    "{", "}", "[", "]", "=", "!", "|", "#", "<", ">", "\\", "}}", "]]", "{a}", "[b]", "a]b", "</s>",
    "<s>", "[SEP]", "<pad>", "<e0>", "\x00", "\x1c", "\u200b", "\u0301", "e\u0301", "\ud800", "𝔘",
    "日本語", "žluťoučký", "İstanbul", "ﬁne", "(1873)", "3rd", "1,000.", "—", "don't", "…", "€5",
    "x" * 130, "the", "of", "was", "not", "never", "Irish", "Norwegian", "1873", "1874", "first",
    "Merrow", "lighthouse", "built", "Port", "engineer", "and", "by", "in", "who",
]  # fmt: skip
SPACES = [" ", "  ", "\n", "\t", "\u00a0", "\u2028", "\x1c", ""]


def texts(min_words=0, max_words=30):
    """Return a strategy of words and marks separated by any white space or by nothing."""
    word = st.one_of(st.sampled_from(NASTY), st.text(min_size=1, max_size=6))
    pair = st.tuples(word, st.sampled_from(SPACES))
    return st.lists(pair, min_size=min_words, max_size=max_words).map(
        lambda pairs: "".join(a + b for a, b in pairs)
    )


claims = texts(1, 25).filter(lambda text: bool(text.split()))
evidence = st.lists(st.tuples(texts(0, 4), texts(0, 25)), max_size=3)


_NAMES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
)
UNITS, TENS = _NAMES.split()[:20], _NAMES.split()[20:]


def spelled(number, joint=" "):
    """Return a number in words, with a joint between tens and units."""
    for scale, name in ((10**9, "billion"), (10**6, "million"), (1000, "thousand")):
        if number >= scale:
            rest = f" {spelled(number % scale, joint)}" if number % scale else ""
            return f"{spelled(number // scale, joint)} {name}{rest}"
    if number >= 100:
        rest = f" and {spelled(number % 100, joint)}" if number % 100 else ""
        return f"{UNITS[number // 100]} hundred{rest}"
    if number < 20:
        return UNITS[number]
    return TENS[number // 10 - 2] + (f"{joint}{UNITS[number % 10]}" if number % 10 else "")


def bart(tokens, seed=0, positions=512):
    """Return a small untrained model of a tokenizer's vocabulary whose scores are far apart."""
    return tiny_bart(
        seed,
        biased=False,
        vocab_size=tokens.size,
        d_model=32,
        decoder_layers=1,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=positions,
        pad_token_id=tokens.pad,
        bos_token_id=tokens.bos,
        eos_token_id=tokens.eos,
        decoder_start_token_id=tokens.start,
        init_std=0.5,
        dropout=0.0,
    )
