"""Hypothesis strategies of texts that try to break out of the notation."""

from hypothesis import strategies as st

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
