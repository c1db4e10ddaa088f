"""The graph after changes of a knowledge base equals that of a new build."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.graph import MentionGraph, build_graph, graph_problems, keeping_graph
from admiral.graph.graph_files import load_arrays
from admiral.kb import KnowledgeBase, add, build, compact, remove

# Names that are parts of each other, with qualifiers, and one that no text can mention.
TITLES = ["Big Bird", "Big", "Bird (film)", "Bird (novel)", "Bird", "The Bird", "A. Bird", "!!!"]
_sentence = st.lists(
    st.sampled_from([*TITLES, "BB", "Large Bird", "is", "in", "Bird's", "the"]), max_size=5
).map(lambda words: " ".join(words) + ".")
_text = st.lists(
    st.one_of(_sentence, st.sampled_from(["Big Bird (BB) is big.", "Large Bird is a bird."])),
    max_size=3,
)


@st.composite
def _document(draw, title):
    sentences = draw(_text)
    links = [draw(st.lists(st.sampled_from(TITLES), max_size=1)) for _ in sentences]
    return {"title": title, "sentences": sentences, **({"links": links} if any(links) else {})}


_documents = st.lists(st.sampled_from(TITLES), min_size=1, max_size=6, unique=True).flatmap(
    lambda titles: st.tuples(*map(_document, titles))
)
_change = st.one_of(
    st.tuples(st.just("add"), _documents),
    st.tuples(st.just("remove"), st.lists(st.sampled_from(TITLES), min_size=1, max_size=3)),
    st.tuples(st.just("compact"), st.none()),
)


def write(path, documents):
    path.write_text("".join(json.dumps(document) + "\n" for document in documents))
    return path


def apply(kb, kind, argument):
    if kind == "add":
        corpus = write(kb.with_name("more.jsonl"), argument)
        add(corpus, kb, on_duplicate="replace", progress=False)
    elif kind == "remove":
        remove(argument, kb, ignore_missing=True, progress=False)
    else:
        compact(kb, progress=False)


def arrays_of(kb):
    return {name: array.tolist() for name, array in load_arrays(kb).items()}


@given(_documents, st.lists(_change, min_size=1, max_size=3))
def test_an_updated_graph_equals_a_new_one(documents, changes):
    with TemporaryDirectory() as folder:
        kb = Path(folder, "kb")
        always = {"title": "Other", "sentences": ["Big Bird, BB and the Bird."]}
        build(write(Path(folder, "c.jsonl"), [always, *documents]), kb, bm25="none", progress=False)
        build_graph(kb, progress=False)
        for kind, argument in changes:
            with keeping_graph(kb, progress=False):
                apply(kb, kind, argument)
            assert graph_problems(kb) == []
            with KnowledgeBase.open(kb) as opened:
                MentionGraph.open(opened)
            updated = arrays_of(kb)
            build_graph(kb, progress=False)
            assert updated == arrays_of(kb)


@pytest.fixture
def birds(tmp_path):
    documents = [
        {"title": "Big Bird", "sentences": ["It is in Sesame Street."]},
        {"title": "Sesame Street", "sentences": ["Big Bird and Elmo live there."]},
        {"title": "Elmo", "sentences": ["Elmo is red."]},
        {"title": "Count", "sentences": ["He counts."]},
    ]
    kb = tmp_path / "kb"
    build(write(tmp_path / "corpus.jsonl", documents), kb, bm25="none", progress=False)
    build_graph(kb, progress=False)
    return kb


def mentioning(kb, title):
    with KnowledgeBase.open(kb) as opened:
        row = opened.row(title)
        assert row is not None
        return int(MentionGraph.open(opened).frequency(np.array([row]))[0])


def test_sentences_of_other_documents_mention_a_new_one(birds, monkeypatch):
    from admiral.graph.entity_linking import EntityLinker

    texts = []
    mentions = EntityLinker.mentions

    def watched(linker, text):
        texts.append(text)
        return mentions(linker, text)

    monkeypatch.setattr(EntityLinker, "mentions", watched)
    with keeping_graph(birds, progress=False):
        apply(birds, "add", [{"title": "Elmo", "sentences": ["New."]}])
        assert mentioning_is_stale(birds)
    assert mentioning(birds, "Elmo") == 1
    # Only what may name Elmo is read again.
    assert texts == ["Big Bird and Elmo live there.", "New."]


def mentioning_is_stale(kb):
    with pytest.raises(AdmiralError, match="another version"):
        mentioning(kb, "Elmo")
    return True


def test_without_a_change_or_a_graph(birds):
    before = (birds / "graph" / "graph.json").stat()
    with keeping_graph(birds, progress=False):
        apply(birds, "remove", ["Nobody"])
    assert (birds / "graph" / "graph.json").stat().st_ino == before.st_ino
    other = birds.with_name("other")
    build(birds.with_name("corpus.jsonl"), other, bm25="none", progress=False)
    with keeping_graph(other, progress=False):
        apply(other, "remove", ["Count"])
    assert not (other / "graph").exists()


def test_a_stale_or_damaged_graph_is_built_anew(birds):
    apply(birds, "add", [{"title": "Bert", "sentences": ["Elmo and Bert."]}])
    with keeping_graph(birds, progress=False):
        apply(birds, "remove", ["Count"])
    assert mentioning(birds, "Elmo") == 3
    (birds / "graph" / "graph.json").write_text("{")
    with keeping_graph(birds, progress=False):
        apply(birds, "remove", ["Bert"])
    assert mentioning(birds, "Elmo") == 2


def test_a_failed_change_leaves_both(birds):
    with pytest.raises(AdmiralError, match="Nobody"), keeping_graph(birds, progress=False):
        remove("Nobody", birds, progress=False)
    assert mentioning(birds, "Elmo") == 2


def test_a_change_by_another_process_meanwhile(birds):
    """Another version follows before the update begins: the mentions are of neither."""
    from admiral.graph import graph_build

    with KnowledgeBase.open(birds) as kb:
        rows = np.arange(len(kb))
        graph = MentionGraph.open(kb)
        kept = graph_build.KeptMentions(kb.digest, graph, rows, rows.astype(np.uint32))
        apply(birds, "add", [{"title": "Red", "sentences": ["Elmo is Red."]}])
        build_graph(birds, kept=kept, progress=False)
    assert mentioning(birds, "Elmo") == 3
    assert mentioning(birds, "Red") == 1
