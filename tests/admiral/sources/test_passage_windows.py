"""Windows of words: exact offsets, full cover, at ends of sentences where one is near."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.io.sentence_splitter import split_sentences
from admiral.sources.passage_windows import SLACK, windows

_WORDS = st.lists(
    st.sampled_from(["one", "two,", "Three", "end.", "Stop!", "U.S.", "\n", "\n\n", "x" * 250]),
    max_size=120,
)
_SIZES = st.integers(1, 60).flatmap(lambda w: st.tuples(st.just(w), st.integers(1, w)))


@given(_WORDS, _SIZES)
def test_windows_cover_the_text_with_words_whole(words, size):
    text = " ".join(words)
    length, stride = size
    spans = windows(text, length, stride)
    covered = bytearray(len(text))
    for start, end in spans:
        assert 0 <= start < end <= len(text)
        assert not text[start].isspace()
        assert not text[end - 1].isspace()
        covered[start:end] = b"\1" * (end - start)
    assert all(covered[place] or char.isspace() for place, char in enumerate(text))
    assert spans == sorted(set(spans))
    starts = [start for start, _ in spans]
    assert starts == sorted(set(starts))


@given(st.lists(st.sampled_from(["a", "bb.", "C", "\n"]), max_size=90), st.integers(1, 20))
def test_without_overlap_windows_are_those_of_side(words, length):
    text = " ".join(words)
    plain = text.split()
    expected = [plain[first : first + length] for first in range(0, len(plain), length)]
    assert [text[start:end].split() for start, end in windows(text, length, length)] == expected


@given(_WORDS, st.integers(30, 60))
def test_overlapping_windows_are_at_most_twenty_words_longer(words, length):
    text = " ".join(word for word in words if len(word) < 100)
    for start, end in windows(text, length, length // 2):
        assert len(text[start:end].split()) <= length + SLACK


def test_boundaries_lie_at_ends_of_sentences():
    text = "The tower is very tall indeed. " * 40
    sentences = set(split_sentences(text))
    for start, end in windows(text, 100, 50):
        assert set(split_sentences(text[start:end])) == sentences


@pytest.mark.parametrize(("words", "stride"), [(0, 0), (10, 0), (10, 11), (-1, -1)])
def test_windows_that_leave_gaps_are_refused(words, stride):
    with pytest.raises(AdmiralError, match="stride"):
        windows("text", words, stride)
