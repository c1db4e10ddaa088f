"""`admiral graph`, `admiral evaluate graph` and `admiral verify` over a knowledge base with one."""

import json
import shutil
import sys

import pytest

from admiral.cli.main import main
from admiral.graph import MentionGraph
from admiral.kb import KnowledgeBase, build
from admiral.pipeline import graph_to_use

RECORDS = [
    {"title": "Seth Meyers", "sentences": ["He hosts Late Night.", "He is a comedian."]},
    {"title": "Late Night", "sentences": ["NBC broadcasts it.", "It is a talk show."]},
    {"title": "NBC", "sentences": ["A network of New York.\x1b[2J"]},
    {"title": "New York", "sentences": ["A city."]},
    {"title": "\x1b[31mHostile", "sentences": ["It is near New York."]},
]
CLAIM = "Seth Meyers works for NBC."
GOLD = [
    {"id": "1", "claim": CLAIM, "evidence": [["Seth Meyers", 0], ["Late Night", 0]], "num_hops": 2},
    {"id": "2", "claim": "Someone hosts it.", "evidence": [["Late Night", 1]]},
    {"id": "3", "claim": "NBC is in New York.", "evidence": [["NBC", 0], ["New York", 0]]},
    {"id": "4", "claim": "NBC is in Paris.", "evidence": [["Paris", 0]]},
]


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph")
    corpus = folder / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    (folder / "gold.jsonl").write_text("".join(json.dumps(record) + "\n" for record in GOLD))
    build([corpus], folder / "kb", bm25="bm25s", progress=False)
    assert main(["graph", "build", "--kb", str(folder / "kb"), "--no-progress"]) == 0
    return folder / "kb"


def run(capsys, *arguments):
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def fail(capsys, *arguments):
    assert main([str(argument) for argument in arguments]) == 1
    return capsys.readouterr().err


def run_failing(capsys, *arguments):
    """Return what a command that fails writes to both streams."""
    assert main([str(argument) for argument in arguments]) == 1
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_build_and_info(kb, capsys):
    said = run(capsys, "graph", "build", "--kb", kb, "--no-progress")
    assert "4 mentions of 3 documents in 7 sentences" in said
    report = json.loads(run(capsys, "graph", "build", "--kb", kb, "--no-progress", "--json"))
    assert (report["mentions"], report["path"]) == (4, str(kb / "derived" / "1" / "graph"))
    assert "mentions  4" in run(capsys, "graph", "info", "--kb", kb)
    facts = json.loads(run(capsys, "graph", "info", "--kb", kb, "--json"))
    assert (facts["frames"], facts["aliases"]) == (7, True)


def test_a_ranking(kb, capsys):
    said = run(capsys, "graph", "query", CLAIM, "--kb", kb)
    assert " 1. " in said
    assert "Late Night" in said
    assert "\x1b" not in said
    record = json.loads(run(capsys, "graph", "query", CLAIM, "--kb", kb, "-k", "3", "--json"))
    assert {each["title"] for each in record["documents"]} >= {"Late Night", "NBC"}
    assert len(record["documents"]) == len(record["sentences"]) == 3


def test_the_sets_of_the_paper(kb, capsys):
    def found(*options):
        query = ("graph", "query", CLAIM, "--kb", kb, "-k", "20", "--json", *options)
        record = json.loads(run(capsys, *query))
        assert record["entities"] == ["Seth Meyers", "NBC"]
        shown = {(each["title"], each["sentence_id"]) for each in record["shown"]}
        assert record["sentences"] == len(shown)
        assert record["documents"] == len({title for title, _ in shown})
        return shown

    own = {("Seth Meyers", 0), ("Seth Meyers", 1), ("NBC", 0)}
    between = {("Late Night", 0)}
    assert found("--method", "entity") == own
    assert found("--method", "mention") == between
    assert found("--method", "entity+mention") == own | between
    assert found("--method", "graph") == own | between
    assert found("--method", "graph", "--hops", "1") == own
    assert found("--method", "graph", "--no-owner") == own
    assert found("--method", "graph", "--variant", "induced", "--readings", "1") == own | between
    said = run(capsys, "graph", "query", CLAIM, "--kb", kb, "--method", "graph")
    assert "sentences: 4, documents: 3" in said
    assert "\x1b" not in said


def test_queries_that_find_nothing(kb, capsys):
    said = fail(capsys, "graph", "query", "zzz", "--kb", kb)
    assert "names no document, and none has any of its words" in said
    said = fail(capsys, "graph", "query", "zzz", "--kb", kb, "--method", "graph")
    assert "names no document. Use names" in said
    options = ("--kb", kb, "--method", "graph", "--max-mentions", "1")
    assert "'New York', which 2 sentences" in fail(capsys, "graph", "query", "New York.", *options)
    assert "the claim: is empty" in fail(capsys, "graph", "query", " ", "--kb", kb)


def test_explain(kb, capsys):
    said = run(capsys, "graph", "explain", "Seth Meyers", "NBC", "--kb", kb)
    assert "sentences with both: 0, documents between: 1" in said
    assert "He hosts Late Night." in said
    assert "NBC broadcasts it." in said
    record = json.loads(
        run(capsys, "graph", "explain", "Late Night", "NBC", "--kb", kb, "-k", "1", "--json")
    )
    assert record["direct"] == 1
    assert record["shown"] == [
        {
            "between": None,
            "sentences": [{"title": "Late Night", "sentence_id": 0, "text": "NBC broadcasts it."}],
        }
    ]
    assert "no path" in fail(capsys, "graph", "explain", "NBC", "NBC", "--kb", kb)
    assert "'Paris'" in fail(capsys, "graph", "explain", "NBC", "Paris", "--kb", kb)


def test_evaluate(kb, capsys):
    gold = kb.parent / "gold.jsonl"
    said = run(capsys, "evaluate", "graph", "--gold", gold, "--kb", kb, "--k", "2")
    assert "graph, 2 of 4 claims" in said
    assert "- 1 left out: names fewer than 2 documents" in said
    assert "- 1 left out: gold documents that the knowledge base does not have" in said
    evaluate = ("evaluate", "graph", "--gold", gold, "--kb", kb, "--k", "2", "--json")
    record = json.loads(run(capsys, *evaluate))
    rows = {(row["group"], row["method"]): row for row in record["methods"]}
    assert rows["all", "entity"]["sentence_hit_rate"] == 0.5
    assert rows["all", "graph + owner"]["sentence_hit_rate"] == 1.0
    assert rows["all", "graph"]["document_hit_rate"] == 0.5
    assert rows["2-hop", "pagerank@2"]["claims"] == 2
    record = json.loads(run(capsys, *evaluate, "--min-entities", "0", "--max-mentions", "1"))
    assert record["left_out"] == {
        "gold documents that the knowledge base does not have": 1,
        "names a document with more than 1 mentions": 1,
    }


def test_evaluate_without_what_it_needs(kb, capsys):
    gold = str(kb.parent / "gold.jsonl")
    assert main(["evaluate", "graph", "--gold", gold]) == 2
    assert main(["evaluate", "graph", "--gold", gold, "--kb", str(kb), "--intervals"]) == 2
    assert main(["evaluate", "hover", "--gold", gold]) == 2
    assert "Missing option '--predictions'" in capsys.readouterr().err
    more = ("--min-entities", "9")
    said = fail(capsys, "evaluate", "graph", "--gold", gold, "--kb", kb, *more)
    assert "no claim is left to evaluate (names fewer than 9 documents: 3" in said


def test_evaluate_rankings_only(kb, capsys):
    gold = kb.parent / "gold.jsonl"
    evaluate = ("evaluate", "graph", "--gold", gold, "--kb", kb, "--json", "--rankings-only")
    record = json.loads(run(capsys, *evaluate, "--k", "2"))
    assert {row["method"] for row in record["methods"]} == {"pagerank@2", "BM25@2"}


def test_index_with_a_graph_that_changes_follow(tmp_path, capsys):
    corpus, more, kb = tmp_path / "corpus.jsonl", tmp_path / "more.jsonl", tmp_path / "kb"
    corpus.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    more.write_text(json.dumps({"title": "Meyers", "sentences": ["Born near NBC."]}))
    index = ("index", corpus, "--kb", kb, "--bm25", "bm25s", "--graph", "--no-progress")
    assert "graph: 4 mentions" in run(capsys, *index)
    record = json.loads(run(capsys, *index, "--overwrite", "--json"))
    assert (record["documents"], record["graph"]["mentions"]) == (5, 4)

    def frames():
        return int(json.loads(run(capsys, "graph", "info", "--kb", kb, "--json"))["frames"])

    run(capsys, "add", more, "--kb", kb, "--no-progress")
    assert frames() == 8
    assert "Born near NBC." in run(capsys, "graph", "explain", "Meyers", "NBC", "--kb", kb)
    run(capsys, "remove", "Seth Meyers", "--kb", kb, "--no-progress")
    assert frames() == 6


def test_export(kb, tmp_path, capsys):
    export = ("graph", "export", "--kb", kb)
    said = run(capsys, *export, tmp_path / "graph.graphml")
    assert "5 documents, 4 pairs that mention each other" in said
    text = (tmp_path / "graph.graphml").read_text(encoding="utf-8")
    assert "Late Night" in text
    assert "\x1b" not in text
    path = tmp_path / "graph.json"
    run(capsys, *export, path, "--claim", CLAIM, "-k", "2", "--format", "node-link")
    nodes = json.loads(path.read_text())["nodes"]
    assert len(nodes) == 2
    assert all(node["score"] > 0 for node in nodes)
    assert "names no document" in fail(capsys, *export, path, "--claim", "zzz")
    assert "is not a regular file" in fail(capsys, *export, tmp_path)


def write_linked_corpus(path, count):
    """Write documents of eight sentences, each of which names another document."""
    names = [f"Harbour {n} of Ashcombe" for n in range(count)]
    with path.open("w") as file:
        for n, name in enumerate(names):
            others = [names[(n * 7 + step) % len(names)] for step in range(1, 9)]
            record = {"title": name, "sentences": [f"It trades with {each}." for each in others]}
            file.write(json.dumps(record) + "\n")


def test_an_index_without_its_graph_says_so_and_is_completed(tmp_path, capsys, caplog):
    kb, corpus = tmp_path / "kb", tmp_path / "corpus.jsonl"
    write_linked_corpus(corpus, 300)
    index = ["index", str(corpus), "--kb", str(kb), "--bm25", "bm25s", "--graph", "--no-progress"]
    run(capsys, *index)
    shutil.rmtree(kb / "derived" / "1" / "graph")
    with KnowledgeBase.open(kb) as opened:
        digest = opened.digest
        assert graph_to_use(opened, "auto") is None
    assert "has no graph. Build it with `admiral graph build" in caplog.text
    assert "retrieval does without the graph" in caplog.text
    # The same command builds the graph alone.
    report = json.loads(run(capsys, *index, "--json"))
    assert (report["documents"], report["graph"]["mentions"]) == (300, 2400)
    with KnowledgeBase.open(kb) as opened:
        assert MentionGraph.open(opened).frames == 2400
        assert opened.digest == digest


def test_many_documents_have_a_graph_without_asking(tmp_path, capsys, monkeypatch):
    corpus, kb = tmp_path / "corpus.jsonl", tmp_path / "kb"
    corpus.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    index = ("index", corpus, "--kb", kb, "--bm25", "bm25s", "--no-progress", "--overwrite")
    assert "graph:" not in run(capsys, *index)
    assert json.loads(run(capsys, *index, "--json"))["graph"] is False
    monkeypatch.setattr(sys.modules["admiral.kb.writing"], "GRAPH_DOCUMENTS", len(RECORDS))
    assert "graph: 4 mentions" in run(capsys, *index)
    assert "graph:" not in run(capsys, *index, "--no-graph")
