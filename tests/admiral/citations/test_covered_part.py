"""What a mark covers, as a claim of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.citations.citation_records import CitedClaim
from admiral.citations.claim_texts import covered_claim, covered_text

CASES = [
    ("[The Tarn Bridge was built by Ada Lane] and was opened in 1931.",
     "The Tarn Bridge was built by Ada Lane."),
    ("The Tarn Bridge was built by Ada Lane[ and was opened in 1931.]",
     "The Tarn Bridge was opened in 1931."),
    ("In 1931, the bridge was opened,[ but closed again in 1935.]",
     "The bridge closed again in 1935."),
    ("The film was released in May,[ and it earned $3 million.]", "It earned $3 million."),
    ("Smith, a painter from Oslo, moved to Paris[ and later taught in Lyon.]",
     "Smith taught in Lyon."),
    ("He married Jane Doe,[ who was born in Rome.]", "Jane Doe was born in Rome."),
    ("The mill,[ which was built in 1820,] burned down in 1911.", "The mill was built in 1820."),
    ("The company has offices in Paris,[ London,] and Rome.", "The company has offices in London."),
    ("The company has offices in Paris, London,[ and Rome.]", "The company has offices in Rome."),
    ("She plays the flute,[ the violin,] and the piano.", "She plays the violin."),
    ("It has been translated into French,[ into German,] and into Dutch.",
     "It has been translated into German."),
    ("[The towns of Alm,] Berg and Carn were destroyed by the flood.",
     "The towns of Alm were destroyed by the flood."),
    ("[Born in Leeds,] Carter studied law at Oxford.", "Carter was born in Leeds."),
    ("[Redesigned in 1931,] the bridge was closed.", "The bridge was redesigned in 1931."),
    ("Born in Leeds,[ Carter studied law at Oxford.]", "Carter studied law at Oxford."),
    ("[It dates back to 1932,] and is still used by trams.", "It dates back to 1932."),
    ("It dates back to 1932,[ and is still used by trams.]", "It is still used by trams."),
    ("[The line dates back to 1932,] and is still used.", "The line dates back to 1932."),
    ("The line dates back to 1932,[ and is still used.]",
     "The line dates back to 1932, and is still used."),
    ("The lake is 40 metres deep[ and 3 km long.]", "The lake is 3 km long."),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "expected"), CASES)
def test_parts_become_claims_of_their_own(marked, expected):
    start, end = marked.index("["), marked.index("]") - 1
    sentence = marked.replace("[", "").replace("]", "")
    assert covered_text(sentence, start, end) == expected


def test_a_claim_whose_mark_covers_all_of_it_stays_as_it_is():
    sentence = "It was opened in 1931 ."
    for span in (None, (0, len(sentence)), (0, len(sentence) - 2)):
        assert covered_claim(CitedClaim("1", sentence, span=span)).claim == sentence


@pytest.mark.parametrize(
    ("span", "expected"),
    [((0, 26), "The mill was built in 1820."), ((26, 51), "The mill burned down in 1911.")],
)
def test_a_claim_whose_mark_covers_its_beginning_or_its_end(span, expected):
    sentence = "The mill was built in 1820 and burned down in 1911."
    assert covered_claim(CitedClaim("1", sentence, span=span)).claim == expected


@given(st.text(max_size=80), st.integers(0, 80), st.integers(0, 80))
def test_any_span_of_any_text_has_a_claim(text, one, other):
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    result = covered_claim(CitedClaim("1", text, span=(start, end)))
    assert result.span is None
