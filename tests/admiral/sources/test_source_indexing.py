"""Build a knowledge base of sources, look them up and search them."""

import math
import shutil
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, build, check
from admiral.kb.bm25.analysis import terms
from admiral.sources import Source
from admiral.sources.open_sources import Sources
from admiral.sources.source_indexing import build_sources

TEXTS = {
    "https://www.towers.example/eiffel/": (
        "Eiffel Tower",
        ("The tower stands in Paris. " * 50).strip(),
    ),
    "http://bridges.example/london?utm_source=x": ("London Bridge", "A bridge in London."),
    "https://empty.example/": ("Nothing", ""),
}


def some_sources():
    return [Source(url, title, text) for url, (title, text) in TEXTS.items()]


@pytest.fixture
def kb(tmp_path):
    build_sources(some_sources(), tmp_path / "kb")
    return tmp_path / "kb"


def test_sources_are_found_by_any_form_of_their_url(kb):
    with Sources.open(kb) as opened:
        assert len(opened.kb) == 3
        for url in (
            "http://towers.example/eiffel#top",
            "https://web.archive.org/web/2019/https://www.towers.example/eiffel/",
        ):
            assert opened.source(url) == some_sources()[0]
        assert opened.source("https://empty.example/").text == ""
        assert opened.source("http://other.example/") is None
        assert opened.source("javascript:alert(1)") is None
        assert list(opened) == some_sources()


def test_passages_are_parts_of_the_text(kb):
    with Sources.open(kb) as opened:
        passages = opened.passages("towers.example/eiffel")
        assert [p.number for p in passages] == list(range(len(passages)))
        assert len(passages) == 4
        for passage in passages:
            assert passage.text == TEXTS[passage.url][1][passage.start : passage.end]
            assert passage.title == "Eiffel Tower"
        assert opened.passages("empty.example") == opened.passages("nowhere.example") == ()
        assert opened.kb.counts["passages"] == 5


def test_search_finds_words_of_titles_and_texts(kb):
    with Sources.open(kb) as opened:
        by_title, by_text, nothing, none = opened.search(["Eiffel", "bridges", "", "zebra"], 10)
        assert {s.passage.title for s in by_title} == {"Eiffel Tower"}
        assert [s.passage.text for s in by_text] == ["A bridge in London."]
        assert nothing == none == []
        with pytest.raises(AdmiralError, match="at least 1"):
            opened.search(["Eiffel"], 0)
    with pytest.raises(AdmiralError, match="closed"):
        opened.source("towers.example/eiffel")


_TEXT = st.lists(st.sampled_from(["tower", "bridge", "river", "the", "tall", "old."]), max_size=30)


@settings(max_examples=20)
@given(
    st.lists(st.tuples(_TEXT, _TEXT), min_size=1, max_size=6),
    _TEXT,
    st.sampled_from([(0.9, 0.4), (0.6, 0.4), (1.2, 0.75)]),
)
def test_scores_are_those_of_bm25_over_title_and_passage(
    tmp_path_factory, texts, query, parameters
):
    k1, b = parameters
    path = tmp_path_factory.mktemp("scores") / "kb"
    sources = [
        Source(f"x.example/{n}", " ".join(title), " ".join(text))
        for n, (title, text) in enumerate(texts)
    ]
    build_sources(sources, path, words=8, stride=4, k1=k1, b=b)
    with Sources.open(path) as opened:
        passages = [p for source in sources for p in opened.passages(source.url)]
        (found,) = opened.search([" ".join(query)], 1000)
    shutil.rmtree(path)
    bags = [Counter(terms(f"{p.title} {p.text}")) for p in passages]
    lengths = [sum(bag.values()) for bag in bags]
    documents = sum(map(bool, lengths))
    expected = {}
    for passage, bag, length in zip(passages, bags, lengths, strict=True):
        score = 0.0
        for term in terms(" ".join(query)):
            n = sum(term in other for other in bags)
            if bag[term]:
                idf = math.log(1 + (documents - n + 0.5) / (n + 0.5))
                norm = k1 * (1 - b + b * length * documents / sum(lengths))
                score += idf * bag[term] / (bag[term] + norm)
        if score:
            expected[passage.url, passage.number] = score
    assert {(s.passage.url, s.passage.number) for s in found} == set(expected)
    scores = [s.score for s in found]
    assert scores == sorted(scores, reverse=True)
    np.testing.assert_allclose(
        scores, [expected[s.passage.url, s.passage.number] for s in found], rtol=1e-4
    )


def test_of_equal_urls_the_first_counts(tmp_path):
    sources = [Source("http://x.example/a", "first", "One."), Source("x.example/a/", "second", "2")]
    report = build_sources(sources, tmp_path / "kb")
    assert (report.documents, report.duplicates) == (1, 1)
    with Sources.open(tmp_path / "kb") as opened:
        assert opened.source("x.example/a").title == "first"


def test_a_bad_source_leaves_the_old_knowledge_base(kb):
    def broken():
        yield Source("http://x.example/", "fine", "text")
        yield Source("javascript:alert(1)", "not fine", "text")

    with pytest.raises(AdmiralError, match=r"source:2: .*javascript"):
        build_sources(broken(), kb, overwrite=True)
    with pytest.raises(AdmiralError, match="--overwrite"):
        build_sources(some_sources(), kb)
    with pytest.raises(AdmiralError, match="no sources in it"):
        build_sources([], kb, overwrite=True)
    assert check(kb) == []
    with Sources.open(kb) as opened:
        assert len(list(opened)) == 3


def test_untrusted_texts_are_stored(tmp_path):
    source = Source(
        "http://x.example/\x00", "a\nb\x1b", "NUL \x00, surrogate \ud800 and \u2028 word " * 60
    )
    build_sources([source, Source("y.example", "", "word " * 16_000)], tmp_path / "kb")
    with Sources.open(tmp_path / "kb") as opened:
        first, long = opened
        assert "\x00" not in first.text
        assert first.title == "a b"
        assert opened.passages(first.url)
        assert len(opened.passages(long.url)) == 319
        assert [s.passage.url for s in opened.search(["surrogate"], 1)[0]] == [first.url]
    assert check(tmp_path / "kb") == []


def test_sources_are_documents(kb):
    with KnowledgeBase.open(kb) as opened:
        assert set(opened.titles()) == {"Eiffel Tower", "London Bridge", "Nothing"}
        document = opened.document("Eiffel Tower")
        assert document.sentences == ("The tower stands in Paris.",) * 50
        assert document.id == "towers.example/eiffel"
        assert opened.search(["Eiffel"], 5)[0][0].title == "Eiffel Tower"
        ((start, end), *_) = opened.best_passages("Paris", ["Eiffel Tower"], 2)[0]
        assert (start, end) == (0, 20)  # of five words each
        assert opened.counts == {
            **{"documents": 3, "sentences": 51, "links": 0},
            **{"passages": 5, "empty": 1},
        }


def test_pages_with_equal_titles_are_told_apart(tmp_path):
    sources = [Source(f"x.example/{n}", "Home", f"Page {n}.") for n in range(2)]
    sources += [Source("x.example/2", "", "No title."), Source("y.example", "Home", "")]
    build_sources(sources, tmp_path / "kb")
    with Sources.open(tmp_path / "kb") as opened:
        assert [source.title for source in opened] == ["Home", "Home", "", "Home"]
        assert list(opened.kb.titles()) == [
            *("Home", "Home (x.example/1)", "x.example/2", "Home (y.example)")
        ]
        assert opened.source("x.example/1").text == "Page 1."


@pytest.mark.parametrize("bm25", ["bm25s", "none"])
def test_any_knowledge_base_has_sources(bm25, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "lamp.md").write_text("# The lamp\n\nIt burns oil. " + "It is white. " * 90)
    (folder / "note.txt").write_text("A note\n\nThe lamp is dear.\n")
    build(folder, tmp_path / "kb", bm25=bm25, progress=False)
    with Sources.open(tmp_path / "kb") as opened:
        file = str(folder / "lamp.md")
        for name in ("The lamp", file):
            source = opened.source(name)
            assert (source.url, source.title) == (file, "The lamp")
            first, *others = opened.passages(name)
            assert first.text == source.text[first.start : first.end]
            assert "oil" in first.text
            assert others
        assert len(list(opened)) == 2
        if bm25 == "none":
            with pytest.raises(AdmiralError, match="without a BM25 index"):
                opened.search(["oil"], 3)
            return
        ((found,),) = opened.search(["burns oil"], 3)
        assert found.passage.text == source.text[found.passage.start : found.passage.end]
        assert found.passage.url == file
        assert "oil" in found.passage.text


def test_paths_without_a_knowledge_base(tmp_path):
    with pytest.raises(AdmiralError, match=r"no such knowledge base.*admiral index"):
        Sources.open(tmp_path / "nowhere")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    with pytest.raises(AdmiralError, match="something else is there"):
        build_sources(some_sources(), tmp_path / "folder", overwrite=True)
