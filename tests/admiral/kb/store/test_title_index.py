from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.kb.store.title_index import TitleIndex, write_titles

TITLES = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1),
    min_size=1,
    unique=True,
)


@settings(max_examples=50, deadline=None)
@given(TITLES, st.text(st.characters(exclude_categories=["Cs"])))
def test_rows_and_titles_are_inverse(titles, other):
    with TemporaryDirectory() as folder:
        write_titles(Path(folder), lambda: iter(titles))
        index = TitleIndex(Path(folder))
        assert len(index) == len(titles)
        assert [index.row(title) for title in titles] == list(range(len(titles)))
        assert [index.title(row) for row in range(len(titles))] == titles
        assert index.row(other) == (titles.index(other) if other in titles else None)
        for row in (-1, len(titles)):
            with pytest.raises(IndexError):
                index.title(row)


@settings(max_examples=50, deadline=None)
@given(TITLES, st.text("ab\u00e9\U0001f426", max_size=2))
def test_completion(titles, prefix):
    titles = list(dict.fromkeys([*titles, *(prefix + title[:1] for title in titles), prefix + "!"]))
    with TemporaryDirectory() as folder:
        write_titles(Path(folder), lambda: iter(titles))
        completions = list(TitleIndex(Path(folder)).complete(prefix))
    expected = sorted(title for title in titles if title.startswith(prefix))
    assert completions == [(title, titles.index(title)) for title in expected]


def test_files_that_do_not_fit_together(tmp_path):
    write_titles(tmp_path, lambda: iter(["a", "b"]))
    np.save(tmp_path / "titles-rows.npy", np.zeros(3, np.uint32))
    with pytest.raises(AdmiralError, match="do not fit together"):
        TitleIndex(tmp_path)
    (tmp_path / "titles-rows.npy").write_bytes(b"junk")
    with pytest.raises(AdmiralError, match=r"titles\.marisa: damaged"):
        TitleIndex(tmp_path)
    (tmp_path / "titles.marisa").unlink()
    with pytest.raises(AdmiralError, match=r"titles\.marisa: damaged"):
        TitleIndex(tmp_path)


@pytest.mark.parametrize("key", [2, 1 << 31, (1 << 32) - 1])
def test_keys_that_the_trie_does_not_have(tmp_path, key):
    write_titles(tmp_path, lambda: iter(["a", "b"]))
    np.save(tmp_path / "titles-keys.npy", np.array([0, key], np.uint32))
    index = TitleIndex(tmp_path)
    assert index.title(0) == "a"
    with pytest.raises(AdmiralError, match=r"titles\.marisa: damaged"):
        index.title(1)
