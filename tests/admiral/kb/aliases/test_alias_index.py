"""The alias index and the counts of words, compared with dictionaries."""

import re
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.kb.alias_index import (
    AliasIndex,
    SegmentAliases,
    SegmentIndex,
    document_aliases,
    write_aliases,
)
from admiral.records import Document

NAMES = ["Big Bird", "Big Bird Two", "Big", "Éa Ea", "New Name", "Other Name", "BBT"]
_document = st.builds(
    lambda title, names, text: Document(
        title, (f"{title}, {''.join(f'known as {n}, ' for n in names)}is {text}",)
    ),
    st.sampled_from(["Great Tit", "Éa", "Seed", "Big Bird Tit"]),
    st.lists(st.sampled_from(NAMES), max_size=2),
    st.sampled_from(["a bird.", "big, NewName or bird-like.", ""]),
)
_documents = st.lists(_document, max_size=6)


def owners(documents):
    rows = {}
    for row, document in enumerate(documents):
        for name in document_aliases(document):
            rows.setdefault(name, []).append(row)
    return rows


@given(_documents, st.sampled_from(NAMES), st.text("a ", max_size=3))
def test_the_rows_of_aliases(documents, name, end):
    expected = owners(documents)
    with TemporaryDirectory() as folder:
        write_aliases(Path(folder), documents, len(documents))
        index = AliasIndex(Path(folder))
        assert len(index) == len(expected)
        assert {name: index.rows(name) for name in expected} == expected
        assert index.rows("no alias") == []
        text = name + end
        begun = sorted(alias for alias in expected if text.startswith(alias))
        assert index.beginnings(text) == begun
        for word in ("Big", "Bi", "WHO", "W", "curl", *re.findall(r"\w+", name)):
            assert index.begins_with(word) == any(
                alias.startswith(word) and not alias[len(word) : len(word) + 1].isalnum()
                for alias in expected
            )
        assert index.problem(len(documents)) == ""


@given(st.lists(_documents, min_size=1, max_size=3), st.sets(st.integers(0, 17)))
def test_an_alias_of_several_segments(segments, removed):
    expected = owners([document for segment in segments for document in segment])
    with TemporaryDirectory() as folder:
        indexes, first = [], 0
        for number, documents in enumerate(segments):
            directory = Path(folder) / str(number)
            directory.mkdir()
            write_aliases(directory, documents, len(documents))
            indexes.append(SegmentIndex(AliasIndex(directory), first, len(documents)))
            first += len(documents)
        aliases = SegmentAliases(indexes, lambda row: row not in removed)
        usable = {
            name: live
            for name, rows in expected.items()
            if 1 <= len(live := [row for row in rows if row not in removed]) <= 3
        }
        assert {name: aliases.rows(name) for name in expected if aliases.rows(name)} == usable
        begun = [n for n in usable if "Big Bird Two's".startswith(n)]
        assert aliases.beginnings("Big Bird Two's") == [
            (name, usable[name]) for name in sorted(begun, key=len, reverse=True)
        ]


def test_common_words_are_no_names(tmp_path):
    tools = [
        Document(f"{name} (tool)", ("Text.",), source=f"{name}/README")
        for name in ("sort", "rare", "WHO")
    ]
    others = [Document(f"Title {n}", (f"We sort, who rare{n}; bird's.",)) for n in range(20)]
    aliases = SegmentAliases([opened(tmp_path, tools + others)], lambda row: True)
    names = ("sort", "Sort", "sort (tool)", "rare", "Rare", "WHO")
    assert {name for name in names if not aliases.rows(name)} == {"sort", "Sort"}


def opened(directory, documents):
    write_aliases(directory, documents, len(documents))
    return SegmentIndex(AliasIndex(directory), 0, len(documents))


def test_word_counts(tmp_path):
    texts = ["The bird-like bird.", "A bird's egg", "the egg. Egg", "The Egg"]
    documents = [Document(str(n), (text,)) for n, text in enumerate(texts)]
    words = opened(tmp_path, documents).aliases.words
    counts = Counter(w for text in texts for w in set(re.findall(r"[\w-]+", text)))
    # Words of a single document are not stored.
    expected = {word: count if count > 1 else 0 for word, count in counts.items()}
    assert {word: words.documents(word) for word in counts} == expected
    assert words.documents("nothing") == 0


def test_the_counts_of_large_corpora_are_estimated_from_a_sample(tmp_path):
    count = 40_000
    documents = [
        Document(str(n), ("common half" if n % 2 else "common", "rare" if n < 60 else ""))
        for n in range(count)
    ]
    words = opened(tmp_path, documents).aliases.words
    assert words.documents("common") == pytest.approx(count, rel=0.01)
    assert words.documents("half") == pytest.approx(count / 2, rel=0.01)
    assert words.documents("rare") == 0
    assert words.problem(count) == ""


def test_damaged_files(tmp_path):
    documents = [Document(f"Name {n}", (f"Name {n}, known as Other {n}, is",)) for n in range(3)]
    write_aliases(tmp_path, documents, 3)
    for name, value, message in [
        ("starts.npy", np.array([0, 2, 2, 3]), "starts.npy: not ascending"),
        ("starts.npy", np.array([1, 2, 3, 3]), "starts.npy: not ascending"),
        ("rows.npy", np.array([0, 1, 3], np.uint32), "rows.npy: not rows of the documents"),
        ("word-documents.npy", np.array([9, 3, 3, 3, 3], np.uint32), "not numbers of documents"),
    ]:
        path = tmp_path / "aliases" / name
        whole = path.read_bytes()
        assert np.load(path).shape == value.shape
        np.save(path, value)
        assert message in AliasIndex(tmp_path).problem(3)
        path.write_bytes(whole)
    np.save(tmp_path / "aliases" / "starts.npy", np.array([0, 2, 3]))
    with pytest.raises(AdmiralError, match=r"aliases: damaged .*do not fit together"):
        AliasIndex(tmp_path)
    (tmp_path / "aliases" / "names.marisa").write_bytes(b"junk")
    with pytest.raises(AdmiralError, match="aliases: damaged"):
        AliasIndex(tmp_path)
