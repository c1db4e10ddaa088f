"""The set of titles that a build has seen."""

from hypothesis import given
from hypothesis import strategies as st

from admiral.kb.corpus.duplicates import TitleSet


@given(st.lists(st.text(max_size=3)))
def test_a_title_set_equals_a_dictionary(titles):
    seen, oracle = TitleSet(), dict[str, int]()
    for row, title in enumerate(titles):
        assert seen.find_or_add(title, row) == oracle.get(title)
        oracle.setdefault(title, row)
    assert len(seen) == len(oracle)


def test_a_large_title_set():
    seen = TitleSet()
    for row in range(20_000):
        assert seen.find_or_add(f"t{row}", row) is None
    assert all(seen.find_or_add(f"t{row}", 0) == row for row in range(20_000))


def test_titles_that_look_the_same_are_the_same():
    titles = TitleSet()
    assert titles.find_or_add("Caf\u00e9", 0) is None
    assert titles.find_or_add("Cafe\u0301", 1) == 0
    assert "Cafe\u0301" in titles
