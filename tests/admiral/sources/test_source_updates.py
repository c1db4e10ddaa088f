"""Changes of sources equal a new build; faults and kills are tested in `tests.admiral.kb`."""

import json
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.kb import build, check, embed, info, remove
from admiral.sources import Source
from admiral.sources.open_sources import Sources
from admiral.sources.source_indexing import add_sources, build_sources
from tests.admiral.kb.fake_encoder import FakeEncoder


def source(name, word):
    return Source(f"https://example.org/{name}", f"On {name}", f"A text about {word}. " * 40)


@pytest.fixture
def path(tmp_path):
    """Build a knowledge base that has changed, so that every kind of change does something."""
    path = tmp_path / "kb"
    build_sources([source(n, n) for n in ("bird", "seed", "tit")], path, encoder=FakeEncoder())
    add_sources([source("nest", "twigs")], path)
    remove(["example.org/seed"], path)
    return path


_CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sets(st.integers(0, 6), min_size=1, max_size=3)),
        st.tuples(st.just("remove"), st.sets(st.integers(0, 6), min_size=1, max_size=3)),
    ),
    max_size=4,
)


@settings(max_examples=8)
@given(_CHANGES)
def test_a_changed_knowledge_base_is_that_of_a_new_build(tmp_path_factory, changes):
    folder = tmp_path_factory.mktemp("changes")
    held = {n: source(str(n), f"old{n}") for n in range(4)}
    build_sources(held.values(), folder / "kb")
    for step, (kind, numbers) in enumerate(changes):
        if kind == "add":
            new = {n: source(str(n), f"new{n} step{step}") for n in sorted(numbers)}
            add_sources(new.values(), folder / "kb")
            held |= new
        elif numbers & set(held) and numbers < set(held):
            remove([f"example.org/{n}" for n in numbers], folder / "kb")
            held = {n: each for n, each in held.items() if n not in numbers}
    build_sources(held.values(), folder / "new")
    queries = ["text about old1", "new3", "on 2", "step0 step1"]
    with Sources.open(folder / "kb") as one, Sources.open(folder / "new") as other:
        assert one.kb.counts == other.kb.counts
        for ours, theirs in zip(one.search(queries, 99), other.search(queries, 99), strict=True):
            assert {(s.passage.url, s.passage.number): s.score for s in ours} == pytest.approx(
                {(s.passage.url, s.passage.number): s.score for s in theirs}, rel=1e-5
            )
    assert check(folder / "kb") == []
    shutil.rmtree(folder)


def test_known_urls_are_replaced_skipped_or_refused(path):
    new = [source("bird", "hens"), source("egg", "eggs"), source("egg", "others")]
    with pytest.raises(AdmiralError, match=r"example\.org/bird"):
        add_sources(new, path, on_duplicate="error")
    report = add_sources(new, path, on_duplicate="skip")
    assert (report.added, report.replaced, report.skipped) == (1, 0, 2)
    report = add_sources(new, path)
    assert (report.added, report.replaced, report.skipped, report.documents) == (0, 2, 1, 4)
    with Sources.open(path) as opened:
        assert "hens" in opened.source("example.org/bird").text
    with pytest.raises(AdmiralError, match=r"no document has the title or URL 'http://x\.example'"):
        remove(["http://x.example"], path)
    assert remove(["x.example"], path, ignore_missing=True).missing == 1
    with pytest.raises(AdmiralError, match="no document would be left"):
        remove([f"example.org/{n}" for n in ("bird", "tit", "nest", "egg")], path)


def test_vectors_are_kept_and_completed(path):
    with Sources.open(path) as opened, pytest.raises(AdmiralError, match="--embeddings"):
        opened.dense(FakeEncoder())
    encoder = FakeEncoder()
    assert embed(path, encoder, progress=False) == 1 <= len(encoder.texts)
    assert all(text.startswith("On nest: ") for text in encoder.texts)
    assert info(path).embedded == {"fake": 3}
    assert embed(path, encoder, progress=False) == 0
    assert check(path) == []
    with Sources.open(path) as opened, pytest.raises(AdmiralError, match="no vectors of other"):
        opened.dense(FakeEncoder("other"))


def test_sources_in_a_knowledge_base_of_other_documents(tmp_path):
    records = [{"title": "On bird", "text": "A bird has wings."}, {"title": "Egg", "text": "Eggs."}]
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(record) + "\n" for record in records))
    kb = tmp_path / "kb"
    build(corpus, kb, bm25="bm25s", progress=False)
    add_sources([source("bird", "feathers")], kb)
    assert check(kb) == []
    with Sources.open(kb) as opened:
        titles = ["On bird", "Egg", "On bird (example.org/bird)"]
        assert list(opened.kb.titles()) == titles
        assert opened.source("Egg").text == "Eggs."
        assert opened.source("http://example.org/bird").title == "On bird"
        found = opened.search(["feathers", "wings"], 1)
        urls = [scored.passage.url for (scored,) in found]
        assert urls == ["https://example.org/bird", "On bird"]
    remove(["example.org/bird"], kb)
    assert check(kb) == []
