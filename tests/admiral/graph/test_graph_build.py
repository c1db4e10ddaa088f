"""Building, opening and checking the graph of a knowledge base."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.graph import (
    ClaimSubgraph,
    Entity,
    EntityLinker,
    GraphRanker,
    MentionGraph,
    PageRankParameters,
    build_graph,
    check_graph,
    connections,
    graph_build,
    update_graph,
)
from admiral.graph.mention_graph import GRAPH, LINK, mention_weights
from admiral.kb import KnowledgeBase, UnknownTitleError, add, build, remove
from tests.admiral.graph.conftest import DOCUMENTS, ROWS
from tests.admiral.graph.random_graphs import small_graphs

# Title and number of a sentence -> what it mentions, with the kind of mention.
MENTIONS = {
    ("Ridley Scott", 0): {"Ridley Scott": 1},
    ("Ridley Scott", 1): {"London": 1},
    ("Alien (film)", 0): {"Ridley Scott": 1},
    ("Alien (film)", 1): {},
    ("Alien (novel)", 0): {"Alan Dean Foster": 1, "Alien (film)": 2, "Alien (novel)": 2},
    ("London", 0): {"London": 1, "Thames": 1},
    ("Alan Dean Foster", 0): {"Alien (novel)": LINK},  # the link says which one is meant
    ("Alan Dean Foster", 1): {"Alien (film)": 2, "Alien (novel)": 2},
    ("The", 0): {},  # a common word
    ("<script>\u202e", 0): {"London": 1},
}


def mentions_of(kb, graph):
    frames = np.arange(graph.frames)
    places = [(kb.title(row), number) for row, number in graph.sentences(frames)]
    mentions = {place: {} for place in places}
    found = graph.entities_in(frames)
    for index, row, kind in zip(*(values.tolist() for values in found), strict=True):
        mentions[places[index]][kb.title(row)] = kind
    return mentions


def test_sentences_and_what_they_mention(kb, graph):
    titles = {kb.title(row) for row in ROWS.values()}
    renamed = {"<script>\u202e": next(title for title in titles if "script" in title)}
    assert mentions_of(kb, graph) == {
        (renamed.get(title, title), number): mentioned
        for (title, number), mentioned in MENTIONS.items()
    }


def test_both_directions_agree(graph):
    by_frame = graph.entities_in(np.arange(graph.frames))
    by_entity = graph.mentions_of(np.arange(graph.rows))
    forward = zip(*(values.tolist() for values in by_frame), strict=True)
    backward = zip(*(values.tolist() for values in by_entity), strict=True)
    assert sorted(forward) == sorted((frame, row, kind) for row, frame, kind in backward)
    london = np.array([ROWS["London"]])
    assert graph.frequency(london).tolist() == [3]
    assert graph.page_of(graph.frames_of(london)[1]).tolist() == london.tolist()
    assert len(graph.frames_of(np.array([ROWS["Thames"]]))[1]) == 0


@given(small_graphs())
def test_both_directions_of_any_graph_have_as_many_mentions(small):
    graph = small.build()
    rows = np.arange(graph.rows)
    assert graph.mentions_within(rows).sum() == graph.frequency(rows).sum()


def test_the_report(kb_path):
    report = build_graph(kb_path, progress=False)
    assert report.frames == sum(len(document["sentences"]) for document in DOCUMENTS)
    assert report.mentions == sum(map(len, MENTIONS.values()))
    assert (report.links, report.path) == (1, kb_path.absolute() / "derived" / "1" / "graph")
    assert report.bytes == sum(file.stat().st_size for file in report.path.iterdir())


def test_weights_of_mentions():
    assert mention_weights(np.array([0, 1, 4]), 2.0).tolist() == [2.0, 1.0, 0.25]


def test_without_a_graph(kb_path):
    with (
        KnowledgeBase.open(kb_path) as kb,
        pytest.raises(AdmiralError, match=r"has no graph. Build it with `admiral graph build"),
    ):
        MentionGraph.open(kb)


def test_damage_is_an_error_wherever_it_is_met(kb):
    """Change values that opening does not read."""
    assert check_graph(kb.path) == []
    path = kb.folder / "graph" / "frame_entities.idx.npy"
    whole = path.read_bytes()
    path.write_bytes(whole[:-4] + b"\xff" * 4)
    graph = MentionGraph.open(kb)
    with pytest.raises(AdmiralError, match=r"damaged .* Build it with"):
        graph.entities_in(np.arange(graph.frames))
    path.write_bytes(whole[:-4])
    assert "truncated" in check_graph(kb.path)[0]
    path.unlink()
    assert "frame_entities.idx.npy" in check_graph(kb.path)[0]


def test_damage_of_the_starts(kb):
    path = kb.folder / "graph" / "frame_entities.ptr.npy"
    starts = np.load(path)
    starts[2] = 10_000
    np.save(path, starts)
    graph = MentionGraph.open(kb)
    with pytest.raises(AdmiralError, match="not ascending"):
        graph.entities_in(np.arange(graph.frames))
    np.save(path, starts[:-1])
    with pytest.raises(AdmiralError, match="do not fit together"):
        MentionGraph.open(kb)
    np.save(path, starts.astype(np.float32))
    with pytest.raises(AdmiralError, match="not an array of uint32"):
        MentionGraph.open(kb)


def test_a_failed_build_leaves_the_old_graph(kb, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("admiral.graph.graph_build.save_graph", fail)
    with pytest.raises(AdmiralError, match=r"cannot be written \(No space left on device\)"):
        build_graph(kb.path, progress=False)
    assert MentionGraph.open(kb).frames == len(MENTIONS)


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
)


def write(path, documents):
    path.write_text("".join(json.dumps(document) + "\n" for document in documents))
    return path


def apply(kb, kind, argument):
    if kind == "add":
        corpus = write(kb.with_name("more.jsonl"), argument)
        add(corpus, kb, on_duplicate="replace", progress=False, also=[update_graph])
    else:
        remove(argument, kb, ignore_missing=True, progress=False, also=[update_graph])


def arrays_of(kb):
    with KnowledgeBase.open(kb) as opened:
        files = sorted((opened.folder / GRAPH).iterdir())
    return {file.name: file.read_bytes() for file in files}


@settings(max_examples=settings().max_examples // 3)
@given(_documents, st.lists(_change, min_size=1, max_size=3))
def test_an_updated_graph_equals_a_new_one(documents, changes):
    with TemporaryDirectory() as folder:
        kb = Path(folder, "kb")
        always = {"title": "Other", "sentences": ["Big Bird, BB and the Bird."]}
        build(write(Path(folder, "c.jsonl"), [always, *documents]), kb, bm25="none", progress=False)
        build_graph(kb, progress=False)
        for kind, argument in changes:
            apply(kb, kind, argument)
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
    from admiral.graph.graph_ranking import EntityLinker

    texts = []
    mentions = EntityLinker.mentions

    def watched(linker, text):
        texts.append(text)
        return mentions(linker, text)

    monkeypatch.setattr(EntityLinker, "mentions", watched)
    apply(birds, "add", [{"title": "Elmo", "sentences": ["New."]}])
    assert mentioning(birds, "Elmo") == 1
    # Only what may name Elmo is read again.
    assert texts == ["Big Bird and Elmo live there.", "New."]


def test_without_a_graph_none_is_written(birds):
    other = birds.with_name("other")
    build(birds.with_name("corpus.jsonl"), other, bm25="none", progress=False)
    apply(other, "remove", ["Count"])
    with KnowledgeBase.open(other) as opened:
        assert not (opened.folder / GRAPH).exists()


def test_a_failed_change_leaves_both(birds):
    with pytest.raises(AdmiralError, match="Nobody"):
        remove("Nobody", birds, progress=False, also=[update_graph])
    assert mentioning(birds, "Elmo") == 2


CLAIM = "Ridley Scott made Alien, the Alien of 1979."


def test_entities_with_their_readings(kb):
    film, novel, scott = ROWS["Alien (film)"], ROWS["Alien (novel)"], ROWS["Ridley Scott"]
    assert EntityLinker(kb).entities(CLAIM) == [
        Entity(scott, "Ridley Scott", 1, 0),
        Entity(film, "Alien (film)", 2, 1),
        Entity(novel, "Alien (novel)", 2, 1),
    ]
    best = EntityLinker(kb, readings=1).entities(CLAIM)
    assert [entity.title for entity in best] == ["Ridley Scott", "Alien (film)"]
    # A name that is certain wins over the same document as a reading.
    certain = EntityLinker(kb).entities("Alien, that is, Alien (film).")
    assert certain == [Entity(film, "Alien (film)", 1, 0), Entity(novel, "Alien (novel)", 2, 0)]


@pytest.mark.parametrize("claim", ["", "nothing here", "The man.", "\ud800 \x00 \u202e"])
def test_claims_that_name_nothing(kb, graph, claim):
    assert EntityLinker(kb).entities(claim) == []
    for method in ("graph", "entity", "mention", "entity+mention"):
        assert ClaimSubgraph(kb, graph).retrieve([], method).tolist() == []


@given(text=st.text())
def test_no_text_breaks_the_linker(names_kb, text):
    rows = {entity.row for entity in EntityLinker(names_kb).entities(text)}
    assert rows <= set(names_kb.rows().tolist())


@pytest.fixture(scope="module")
def names_kb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    (folder / "corpus.jsonl").write_text(
        "".join(json.dumps({"title": t, "text": ""}) + "\n" for t in ("A", "A (B)", "0", "É!"))
    )
    build([folder / "corpus.jsonl"], folder / "kb", bm25="none", progress=False)
    return KnowledgeBase.open(folder / "kb")


def test_the_filter_of_common_entities(kb, graph):
    subgraph = ClaimSubgraph(kb, graph, max_mentions=2)
    entities = subgraph.entities("Ridley Scott lives in London.")
    assert [(e.title, n) for e, n in subgraph.common(entities)] == [("London", 3)]
    with pytest.raises(AdmiralError, match="names 'London', which 3 sentences mention"):
        subgraph.retrieve(entities)
    assert len(ClaimSubgraph(kb, graph, max_mentions=3).retrieve(entities))


def test_the_walk_finds_what_a_claim_does_not_name(kb, graph):
    parameters = PageRankParameters(bm25_documents=0, tolerance=1e-6)
    ranker = GraphRanker(kb, graph, parameters)
    ranking = ranker.rank("Ridley Scott made it.", 20)
    scores = {document.title: document.score for document in ranking.documents}
    assert next(iter(scores)) == "Ridley Scott"
    assert {"Alien (film)", "London", "Thames"} <= scores.keys()
    assert list(scores.values()) == sorted(scores.values(), reverse=True)
    assert sum(scores.values()) == pytest.approx(1, abs=1e-3)
    best = ranking.sentences[0]
    assert best.text == kb.document(best.title).sentences[best.index]
    assert len({sentence.key for sentence in ranking.sentences}) == len(ranking.sentences)
    assert ranker.rank("Ridley Scott made it.", 2).documents == ranking.documents[:2]
    assert ranker.rank("He saw nothing.", 5).documents == ()


def test_bm25_seeds_what_claims_describe(kb, graph):
    seeds = GraphRanker(kb, graph).seeds("a director who lives there")
    assert ROWS["Ridley Scott"] in seeds
    weight = PageRankParameters().bm25_weight
    assert max(seeds.values()) == weight
    named = GraphRanker(kb, graph).seeds("Ridley Scott")[ROWS["Ridley Scott"]]
    assert named == pytest.approx(weight + 1 / np.log2(2 + 2))


def test_connections_of_two_titles(kb, graph):
    found = connections(kb, graph, "Alien (film)", "London", 10)
    assert (found.direct, found.between) == (0, 1)
    (path,) = found.shown
    assert path.between == "Ridley Scott"
    assert [s.key for s in path.sentences] == [("Alien (film)", 0), ("Ridley Scott", 1)]

    found = connections(kb, graph, "Ridley Scott", "London", 10)
    assert found.direct == 1
    assert found.shown[0].between is None
    assert found.shown[0].sentences[0].key == ("Ridley Scott", 1)
    assert connections(kb, graph, "Ridley Scott", "London", 1).shown == found.shown[:1]


def test_titles_that_nothing_connects(kb, graph):
    for first, second in (("The", "London"), ("London", "London")):
        assert connections(kb, graph, first, second, 10).shown == ()
    with pytest.raises(UnknownTitleError, match="'Paris'"):
        connections(kb, graph, "Paris", "London", 10)


def test_several_processes_build_the_same_graph(built, kb_path, monkeypatch):
    monkeypatch.setattr(graph_build, "_DOCUMENTS_AT_ONCE", 2)
    build_graph(kb_path, progress=False, processes=2)
    one, two = (arrays_of(path) for path in (built / "kb", kb_path))
    assert one == two
    assert len(one) == 8
