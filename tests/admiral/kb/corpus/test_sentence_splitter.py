import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.kb.corpus.sentence_splitter import sentence_spans, split_sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ["Dr. J. R. Smith met Mr. Brown in Washington, D.C. on Jan. 5.", "They talked."],
        ["The mass is 3.5 kg.", "The price is $1.25 per lb."],
        ["He worked for Acme Inc. in Ohio.", "She left."],
        ["She joined Acme Inc.", "The firm grew."],
        ["He was king after Elizabeth I.", "He died."],
        ['"Who is it?" she asked.', '"Me!"', "He came in."],
        ["It ended (at last.)", "Then came peace."],
        ["St. Mary's Church, built c. 1200, is in St. Ives.", "It is small."],
        ["See No. 5, vol. 2, pp. 10-12.", "The answer is no.", "Nobody knew."],
        ["It runs on example.com and uses U.S.-made parts.", "OK?", "Yes!"],
        ["1984 is a novel.", "1985 is another one."],
        ["Wait... what did you say?", "Nothing..."],
        ["東京は首都です。", "大きい。"],
        ["The iPhone is sold by Apple Inc.", "It is a phone."],
        ['The album "Better!" , by a band, sold well.', "It did."],
        ["A. Smith et al. describe it.", "É. Zola wrote it."],
    ],
)
def test_splits(sentences: list[str]) -> None:
    assert split_sentences(" ".join(sentences)) == sentences


def test_blank_lines_split_and_single_line_ends_do_not() -> None:
    assert split_sentences("A heading\n\nOne line\nand more\n \nlast") == [
        "A heading",
        "One line\nand more",
        "last",
    ]


@given(st.text(st.sampled_from("aB1 .!?…\"')(\n\t。U.Dr"), max_size=80))
def test_spans_omit_only_white_space(text: str) -> None:
    spans = sentence_spans(text)
    end = 0
    for start, stop in spans:
        assert not text[end:start].strip()
        assert start < stop
        assert text[start:stop] == text[start:stop].strip()
        end = stop
    assert not text[end:].strip()


@pytest.mark.parametrize("text", ["." * 300_000, ". " * 150_000, "\n" * 300_000, '."' * 150_000])
def test_hostile_texts_take_linear_time(text: str) -> None:
    began = time.process_time()
    sentence_spans(text)
    assert time.process_time() - began < 5
