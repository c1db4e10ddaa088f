"""Files with the same title get titles from their paths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.io.text_cleaning import clean_title
from admiral.kb.corpus.files.document_titles import distinct_titles


@pytest.mark.parametrize(
    ("title", "sources", "titles"),
    [
        (
            "README",
            ["/s/requests/README.md", "/s/flask/README.rst"],
            "requests/README flask/README",
        ),
        ("README", ["/s/README.md", "/s/flask/README.md"], "README flask/README"),
        ("README", ["/s/README.md", "/s/README.rst"], "README.md README.rst"),
        ("README", ["/s/a-1/docs/README.md", "/s/b-2/docs/README.md"], "a-1/README b-2/README"),
        ("Usage", ["/s/curl.txt", "/s/wget.txt"], "Usage (curl)|Usage (wget)"),
        ("Usage", ["s3://b/x/a.md", "s3://b/y/a.md"], "Usage (x)|Usage (y)"),
    ],
)
def test_examples(title, sources, titles):
    expected = titles.split("|") if "|" in titles else titles.split()
    assert distinct_titles([(title, source) for source in sources]) == expected


def test_only_what_clashes_is_renamed_and_other_documents_keep_their_titles():
    documents = [("A", "/x/a.md"), ("B", "/x/b.md"), ("B", "/y/b.md")]
    assert distinct_titles(documents) == ["A", "B (x)", "B (y)"]
    other = {"A": "", "B": "/z/b.md"}.get
    assert distinct_titles(documents, other) == ["A (a.md)", "B (x)", "B (y)"]
    with pytest.raises(AdmiralError, match="another document has this path as its title"):
        distinct_titles(documents, lambda _: "")


PART = st.sampled_from(["a", "b", "README", "x y", "a (b)", "\n", "\\n", " ", "é"])
PATHS = st.lists(PART, min_size=1, max_size=4).map("/".join)
SUFFIX = st.sampled_from(["", ".md", ".txt"])
FILES = st.dictionaries(
    st.tuples(PATHS, SUFFIX).map("".join).map("/".__add__),
    st.sampled_from(["a", "b", "README", "a (b)", "README (a)", "a/README", "/a", "README (/a)"]),
    max_size=12,
)


@given(FILES, st.randoms(use_true_random=False))
def test_titles_are_different_and_do_not_depend_on_the_order(files, shuffle):
    documents = [(title, source) for source, title in files.items()]
    titles = distinct_titles(documents)
    assert len(set(titles)) == len(titles)
    assert [clean_title(title) for title in titles] == titles
    shuffled = shuffle.sample(documents, len(documents))
    again = dict(zip(shuffled, distinct_titles(shuffled), strict=True))
    assert [again[document] for document in documents] == titles


def test_titles_in_two_unicode_forms_are_told_apart():
    composed, decomposed = "Caf\u00e9", "Cafe\u0301"
    documents = [(composed, "/x/a.md"), (decomposed, "/x/b.md")]
    assert distinct_titles(documents) == [f"{composed} (a)", f"{composed} (b)"]
    same = [(composed, f"/x/{composed}.md"), (decomposed, f"/x/{decomposed}.md")]
    assert len(set(distinct_titles(same))) == 2
