"""Building, opening and checking the graph of a knowledge base."""

import json
import logging
import os

import numpy as np
import pytest
from hypothesis import given

from admiral.errors import AdmiralError
from admiral.graph import MentionGraph, build_graph, graph_build, graph_problems
from admiral.graph.graph_files import LINK
from admiral.graph.mention_graph import mention_weights
from admiral.kb import KnowledgeBase, add, build, compact, join, remove, verify
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
    assert graph.problem() == ""
    london = np.array([ROWS["London"]])
    assert graph.frequency(london).tolist() == [3]
    assert graph.page_of(graph.frames_of(london)[1]).tolist() == london.tolist()
    assert len(graph.frames_of(np.array([ROWS["Thames"]]))[1]) == 0


@given(small_graphs())
def test_the_arrays_of_any_graph_pass_the_check(small):
    graph = small.build()
    assert graph.problem() == ""
    rows = np.arange(graph.rows)
    assert graph.mentions_within(rows).sum() == graph.frequency(rows).sum()


def test_the_report(kb_path):
    report = build_graph(kb_path, progress=False)
    assert report.frames == sum(len(document["sentences"]) for document in DOCUMENTS)
    assert report.mentions == sum(map(len, MENTIONS.values()))
    assert (report.links, report.path) == (1, kb_path.absolute() / "graph")
    assert report.bytes == sum(file.stat().st_size for file in report.path.iterdir())


def test_weights_of_mentions():
    assert mention_weights(np.array([0, 1, 4]), 2.0).tolist() == [2.0, 1.0, 0.25]


def test_without_a_graph(kb_path):
    with (
        KnowledgeBase.open(kb_path) as kb,
        pytest.raises(AdmiralError, match=r"has no graph. Build it with `admiral graph build"),
    ):
        MentionGraph.open(kb)
    assert graph_problems(kb_path) == []


def test_an_intact_graph_is_no_problem(kb):
    assert verify(kb.path) == graph_problems(kb.path) == []


@pytest.mark.parametrize("change", ["add", "remove", "compact"])
def test_a_changed_knowledge_base_needs_a_new_graph(kb_path, change, caplog):
    if change == "compact":
        remove("London", kb_path, progress=False)
    build_graph(kb_path, progress=False)
    if change == "add":
        more = kb_path.with_name("more.jsonl")
        more.write_text(json.dumps({"title": "Space", "text": "Alien (film) ends there."}))
        add(more, kb_path, progress=False)
    elif change == "remove":
        remove("London", kb_path, progress=False)
    else:
        compact(kb_path, progress=False)
    with (
        KnowledgeBase.open(kb_path) as kb,
        pytest.raises(AdmiralError, match=r"graph of another version .* `admiral graph build"),
    ):
        MentionGraph.open(kb)
    with caplog.at_level(logging.WARNING):
        assert graph_problems(kb_path) == verify(kb_path) == []
    assert "another version" in caplog.text

    build_graph(kb_path, progress=False)
    with KnowledgeBase.open(kb_path) as kb:
        graph = MentionGraph.open(kb)
        expected = {
            place: {title: kind for title, kind in mentioned.items() if kb.row(title) is not None}
            for place, mentioned in MENTIONS.items()
            if kb.row(place[0]) is not None
        }
        if change == "add":
            expected["Space", 0] = {"Alien (film)": 1}
        found = mentions_of(kb, graph)
    assert {p: m for p, m in found.items() if "script" not in p[0]} == {
        p: m for p, m in expected.items() if "script" not in p[0]
    }


def test_the_graph_of_a_joined_knowledge_base(kb_path, tmp_path):
    corpus = tmp_path / "other.jsonl"
    corpus.write_text(json.dumps({"title": "Ripley", "text": "Ripley is in Alien (film)."}))
    build([corpus], tmp_path / "other", bm25="bm25s", progress=False)
    join([kb_path, tmp_path / "other"], tmp_path / "joined")
    build_graph(tmp_path / "joined", progress=False)
    with KnowledgeBase.open(tmp_path / "joined") as kb:
        found = mentions_of(kb, MentionGraph.open(kb))
    assert found["Ripley", 0] == {"Ripley": 1, "Alien (film)": 1}
    assert found["London", 0] == MENTIONS["London", 0]
    assert verify(tmp_path / "joined") == graph_problems(tmp_path / "joined") == []


def test_every_flipped_bit_is_found(kb):
    for path in (kb.path / "graph").glob("*.npy"):
        whole = path.read_bytes()
        for position in range(0, len(whole), max(1, len(whole) // 10)):
            damaged = bytearray(whole)
            damaged[position] ^= 1 << position % 8
            path.write_bytes(damaged)
            (problem,) = graph_problems(kb.path)
            assert f"{path}: was changed. Build it with" in problem
        path.write_bytes(whole)
    assert graph_problems(kb.path) == []


def test_damage_is_an_error_wherever_it_is_met(kb):
    """Change values that opening does not read."""
    path = kb.path / "graph" / "frame_entities.idx.npy"
    whole = path.read_bytes()
    path.write_bytes(whole[:-4] + b"\xff" * 4)
    graph = MentionGraph.open(kb)
    with pytest.raises(AdmiralError, match=r"damaged .* Build it with"):
        graph.entities_in(np.arange(graph.frames))
    path.write_bytes(whole[:-4])
    with pytest.raises(AdmiralError, match=r"damaged .*truncated"):
        MentionGraph.open(kb)
    path.unlink()
    with pytest.raises(AdmiralError, match=r"damaged \(frame_entities.idx.npy"):
        MentionGraph.open(kb)
    assert "missing" in graph_problems(kb.path)[0]


def test_damage_of_the_starts(kb):
    path = kb.path / "graph" / "frame_entities.ptr.npy"
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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "damaged"),
        ("[]", "field 'format'"),
        ('{"format": "admiral-graph", "version": 9}', "field 'version' is 9"),
        ('{"format": "admiral-graph", "version": 1}', "changed since it was written"),
    ],
)
def test_a_damaged_manifest(kb, content, message):
    (kb.path / "graph" / "graph.json").write_text(content)
    with pytest.raises(AdmiralError, match=message):
        MentionGraph.open(kb)
    assert message in graph_problems(kb.path)[0]


def test_a_failed_build_leaves_the_old_graph(kb, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("admiral.graph.graph_build.save_arrays", fail)
    with pytest.raises(AdmiralError, match=r"cannot be written \(No space left on device\)"):
        build_graph(kb.path, progress=False)
    assert verify(kb.path) == graph_problems(kb.path) == []
    assert MentionGraph.open(kb).frames == len(MENTIONS)
    assert sorted(kb.path.glob(".graph*")) == []


def test_something_else_in_its_place(kb_path):
    (kb_path / "graph").mkdir()
    (kb_path / "graph" / "notes.txt").write_text("mine")
    with pytest.raises(AdmiralError, match="something else is there"):
        build_graph(kb_path, progress=False)
    assert (kb_path / "graph" / "notes.txt").read_text() == "mine"


def test_several_processes_build_the_same_graph(built, kb_path, monkeypatch):
    monkeypatch.setattr(graph_build, "_DOCUMENTS_AT_ONCE", 2)
    build_graph(kb_path, progress=False, processes=2)
    one, two = (
        {file.name: file.read_bytes() for file in (path / "graph").iterdir()}
        for path in (built / "kb", kb_path)
    )
    assert one == two
    assert len(one) == 8


def end_early(rows):
    os._exit(1)


def test_a_process_that_ends_early_is_an_error(kb_path, monkeypatch):
    monkeypatch.setattr(graph_build, "_DOCUMENTS_AT_ONCE", 2)
    monkeypatch.setattr(graph_build, "_search_rows", end_early)
    with pytest.raises(AdmiralError, match=r"ended early\. Run `admiral graph build --kb"):
        build_graph(kb_path, progress=False, processes=2)
    assert not (kb_path / "graph").exists()
