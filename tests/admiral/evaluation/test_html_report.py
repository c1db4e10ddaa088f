"""The HTML report: its content, and escaping of hostile input."""

import base64
import hashlib
import math
import re
from dataclasses import replace
from typing import get_args
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral import AdmiralError, RecordError
from admiral.evaluation import parse_result, read_results
from admiral.evaluation.graph_picture import graph_picture
from admiral.evaluation.html_report import (
    Outcome,
    ReportCase,
    build_report_cases,
    classify_outcome,
    report_page,
)
from admiral.gold import GoldClaim, Label
from admiral.graph.subgraph import Connection, MentionEdge, Neighbour, Neighbourhood, Role
from admiral.kb import KnowledgeBase, build
from admiral.records import Claim, Hop, RetrievalResult, Sentence
from tests.admiral.evaluation.small_runs import written
from tests.admiral.io.test_rendering import Reader
from tests.admiral.results import result, verified_result

ADA, ENGINE = "Ada Lovelace", "Analytical Engine"
GOLD = GoldClaim("7", "Ada wrote.", Label.REFUTES, (((ADA, 1), (ENGINE, 4)), ((ENGINE, None),)))


def text(title, number):
    return "It had gears." if (title, number) == (ENGINE, 4) else None


def read_traces(path):
    return [parse_result(record, where) for where, record in read_results(path)]


def page(*cases, title="r.jsonl", notes=()):
    return "".join(report_page(title, cases, notes, text))


def traced(folder, claim=GOLD, title=ADA):
    records = [result(Claim(claim.id, claim.claim), title=title).to_json()]
    (trace,) = read_traces(written(folder / "r.jsonl", records))
    return ReportCase(claim, trace, Outcome.FOUND)


def test_page_shows_every_part_of_a_claim(tmp_path):
    other = replace(GOLD, id="8", evidence=(), annotated_hops=3)
    written_page = page(
        traced(tmp_path), ReportCase(other, None, Outcome.NO_ANSWER), notes=("1 claim is missing",)
    )
    found = Reader(written_page)
    for said in (
        "Report: r.jsonl",
        "1 claim is missing",
        "Ada wrote.",
        "label REFUTES",
        "verdict: supported",
        "[Ada Lovelace, 1] She wrote the first program.",  # the text that the record holds
        "[Analytical Engine, 4] It had gears. (rank 2)",  # the text of the knowledge base
        "[Analytical Engine] (rank 2)",
        "is not covered by the evidence",
        "Judged not sufficient.",
        "Best document sets: Ada Lovelace + Analytical Engine",
        "Stopped because the evidence is sufficient.",
        "The run has no answer.",
        "No evidence.",
    ):
        assert said in found.text, said
    assert found.tags.count("details") == 2
    assert found.tags.count("style") == 1
    assert "found101(50%)" in re.sub(r"\s", "", found.text)  # of 1 hop, of 3, of all
    assert written_page.count('class="gold"') >= 4


def test_probabilities_of_a_verifier_are_shown(tmp_path):
    records = [verified_result(Claim(GOLD.id, GOLD.claim)).to_json()]
    (trace,) = read_traces(written(tmp_path / "r.jsonl", records))
    found = Reader(page(ReportCase(GOLD, trace, Outcome.FOUND)))
    assert "verdict: refuted, 62%" in found.text
    assert "Judged not sufficient (probability that it is: 0.62)." in found.text
    assert "Judged sufficient (probability 0.88)." in found.text


class FakeFinder:
    """Any claim names one document, which mentions each of those that were found."""

    def __init__(self, title, sentence):
        self._title, self._sentence = title, Sentence(title, 0, sentence)

    def around(self, claim, titles):
        named, found = Neighbour(self._title, "named"), [Neighbour(t, "found") for t in titles]
        edges = (MentionEdge(0, at, self._sentence) for at in range(1, len(titles) + 1))
        path = (titles[0], titles[-1], Connection(self._title, (self._sentence,)))
        return Neighbourhood((named, *found), tuple(edges), (path,))


@pytest.mark.parametrize("hostile", ["</title><script>alert(1)</script>", "a & b"])
def test_connections_of_the_documents_are_drawn_and_told(tmp_path, hostile):
    finder = FakeFinder(hostile, f"It is {hostile}.")
    written_page = "".join(report_page("r.jsonl", [traced(tmp_path)], (), text, finder))
    assert written_page.count("<svg ") == 1
    assert written_page.count("<script>") == 1  # the page's own
    found = Reader(written_page)
    assert f"through {hostile}:" in found.text
    assert f"[{hostile}, 0] It is {hostile}." in found.text
    assert "<svg" not in "".join(report_page("r.jsonl", [traced(tmp_path)], (), text))


def test_sources_of_documents_are_shown_and_escaped(tmp_path):
    record = result(Claim(GOLD.id, GOLD.claim), title=ADA).to_json()
    record["documents"][0]["source"] = "/notes/<ada>.md"
    (trace,) = read_traces(written(tmp_path / "r.jsonl", [record]))
    shown = page(ReportCase(GOLD, trace, Outcome.FOUND))
    assert "/notes/&lt;ada&gt;.md" in shown
    assert "<ada>" not in shown


def test_policy_allows_only_the_own_script(tmp_path):
    written_page = page(traced(tmp_path))
    assert not re.search(r"https?:|src=|href=|@import|url\(", written_page)
    (script,) = re.findall("<script>(.*?)</script>", written_page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
        in written_page
    )


@given(st.text(min_size=1).filter(str.strip), st.text(min_size=1), st.text())
def test_hostile_text_adds_no_tags(tmp_path_factory, claim, title, name):
    folder = tmp_path_factory.mktemp("r")
    hostile = GoldClaim("</script><script>", claim, None, (((title, 0),),))
    plain = GoldClaim("1", "c", None, ((("t", 0),),))
    records = [result(Claim("1", "c"), title=title).to_json()]
    (trace,) = read_traces(written(folder / "r.jsonl", records))
    (usual,) = read_traces(
        written(folder / "u.jsonl", [result(Claim("1", "c"), title="u").to_json()])
    )
    found = page(ReportCase(hostile, trace, Outcome.HOP), title=name, notes=(name,))
    found.encode("utf-8")
    other = page(ReportCase(plain, usual, Outcome.HOP), notes=("n",))
    spans = {"span", "bdi"}  # which sentences are marked depends on the titles
    assert [t for t in Reader(found).tags if t not in spans] == [
        t for t in Reader(other).tags if t not in spans
    ]


def test_trec_runs_are_answers_for_reading(tmp_path, user_cache):
    corpus = written(
        tmp_path / "corpus.jsonl",
        [
            {"_id": "d1", "title": ADA, "text": "Ada was born in London. She wrote a program."},
            {"_id": "d_2", "title": ENGINE, "text": "It was a machine."},
        ],
    )
    build(corpus, tmp_path / "kb", bm25="none", progress=False)
    run, qrels = tmp_path / "run.trec", tmp_path / "test.tsv"
    run.write_text("q1 Q0 d_2 1 2 x\nq1 Q0 d1 2 1 x\nq1 Q0 Other_title 3 0 x\n")
    qrels.write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td_2\t0\n")
    claims = written(tmp_path / "queries.jsonl", [{"_id": "q1", "text": "Who wrote a program?"}])
    for gold in (None, qrels):
        with KnowledgeBase.open(tmp_path / "kb") as kb:
            (case,), _ = build_report_cases(run, gold, {}, claims=claims, kb=kb)
        assert case.trace is not None
        assert [each.title for each in case.trace.documents] == [ENGINE, ADA, "Other title"]
        text = Reader(page(case)).text
        assert "Who wrote a program?" in text
        assert "She wrote a program." in text
        assert "born in London" not in text
        assert (f"[{ADA}] (rank 2)" in text) == (gold is not None)
    records = written(tmp_path / "r.jsonl", [result(Claim("q1", "c"), title=ADA).to_json()])
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        (case,), _ = build_report_cases(records, qrels, {}, kb=kb)
    assert (case.gold.claim, case.outcome, case.excerpts) == ("c", Outcome.LATE, {})
    other = written(tmp_path / "other.jsonl", [{"id": "q2", "claim": "A claim."}])
    with pytest.raises(AdmiralError, match="no claim of it is in the run"):
        build_report_cases(run, None, {}, claims=other)


def test_outcomes_depend_on_the_run_settings(tmp_path):
    records = [result(Claim("7", GOLD.claim)).to_json()]
    results = written(tmp_path / "r.jsonl", records)
    gold = written(
        tmp_path / "g.jsonl",
        [
            {"id": 7, "claim": GOLD.claim, "evidence": [[ADA, 1]]},
            {"id": 8, "claim": "Other.", "evidence": [[ADA, 1]]},
        ],
    )
    for settings, stage in (
        ({}, Outcome.LATE),
        ({"min_hops": 2}, Outcome.FOUND),
        ({"hops": "2"}, Outcome.FOUND),
    ):
        cases, notes = build_report_cases(results, gold, settings)
        assert [one.outcome for one in cases] == [stage, Outcome.NO_ANSWER]
        assert notes == ["1 claim ('8') without an answer, counted as wrong"]
    with pytest.raises(RecordError, match="'7' is also the id"):
        build_report_cases(written(results, records * 2), gold, {})


def test_a_run_without_gold_claims(tmp_path):
    records = [result(Claim("7", "Ada wrote.")).to_json(), result(Claim("8", "Bo sang.")).to_json()]
    records[1]["stopped"] = "max_hops"
    cases, notes = build_report_cases(written(tmp_path / "r.jsonl", records), None, {})
    assert (notes, [one.outcome for one in cases]) == ([], [None, None])
    html = page(*cases)
    found = Reader(html)
    for said in (
        "Ada wrote.",
        "evidence sufficient",
        "2 hops",
        "Judged not sufficient.",
        "no hops left",
    ):
        assert said in found.text
    for absent in ("Gold", "No evidence", "stopped late"):
        assert absent not in found.text
    assert 'data-stage="sufficient" data-hops="2"' in html
    assert 'data-stage="max_hops" data-hops="2"' in html
    assert html.count("</script>") == 1


@pytest.mark.parametrize(
    ("field", "value"), [("hops", [{}]), ("evidence", [{"title": "A"}]), ("stopped", "</script>")]
)
def test_invalid_records_are_rejected(tmp_path, field, value):
    record = result(Claim("7", "c")).to_json()
    record[field] = value
    with pytest.raises(RecordError, match=rf"r\.jsonl:1: field '{field}.*Give the results"):
        list(read_traces(written(tmp_path / "r.jsonl", [record])))


TEXTS = st.text(max_size=60) | st.sampled_from(["</svg><script>alert(1)</script>", "]]>", "&amp;"])


@st.composite
def neighbourhoods(draw):
    roles = draw(st.lists(st.sampled_from(get_args(Role)), min_size=1, max_size=12))
    documents = tuple(Neighbour(draw(TEXTS), role) for role in roles)
    numbers = st.integers(0, len(documents) - 1)
    pairs = draw(st.lists(st.tuples(numbers, numbers).filter(lambda p: p[0] != p[1]), max_size=9))
    edges = tuple(MentionEdge(*pair, Sentence("T", 0, draw(TEXTS))) for pair in pairs)
    return Neighbourhood(documents, edges, ())


@given(neighbourhoods(), st.sets(TEXTS, max_size=2))
def test_a_picture_is_well_formed_and_inside_its_frame(around, gold):
    svg = ElementTree.fromstring(graph_picture(around, gold))
    _, _, width, height = map(float, svg.attrib["viewBox"].split())
    assert {element.tag for element in svg.iter()} <= {
        "svg", "g", "title", "text", "rect", "path", "polygon",
    }  # fmt: skip
    boxes = list(svg.iter("rect"))
    assert len(boxes) == len(around.documents)
    assert len(list(svg.iter("polygon"))) == len(around.edges)
    places = [(float(box.attrib["x"]), float(box.attrib["y"])) for box in boxes]
    assert all(x >= 0 and x + 216 <= width and y >= 0 and y + 30 <= height for x, y in places)
    for at, (x, y) in enumerate(places):
        assert all(x != x2 or abs(y - y2) >= 30 for x2, y2 in places[:at])
    for path in svg.iter("path"):
        numbers = [float(each) for each in re.findall(r"-?[\d.]+", path.attrib["d"])]
        assert all(math.isfinite(each) and 0 <= each <= max(width, height) for each in numbers)


AB = [frozenset("AB")]


def trace(*hops, stopped="sufficient"):
    """Return a trace from (documents read, documents of the evidence) for each hop."""
    made = tuple(
        Hop(
            False,
            None,
            number=number,
            read=tuple(read),
            evidence=tuple(Sentence(t, 0) for t in kept),
        )
        for number, (read, kept) in enumerate(hops, 1)
    )
    return RetrievalResult("1", "", (), (), made, stopped)


@pytest.mark.parametrize(
    ("hops", "stopped", "expected"),
    [
        ([("AX", "AX"), ("ABX", "AB")], "sufficient", Outcome.FOUND),
        ([("AX", "AX"), ("ABX", "ABX")], "max_hops", Outcome.FOUND),
        ([("AB", "AB"), ("AB", "AB")], "sufficient", Outcome.LATE),
        ([("AB", "AB"), ("AX", "AX")], "max_hops", Outcome.LATE),
        ([("XY", "X"), ("XZ", "Z")], "sufficient", Outcome.FIRST),
        ([("ABX", "AX"), ("AX", "AX")], "sufficient", Outcome.RERANKER),
        ([("AX", "AX"), ("ABX", "AX")], "max_hops", Outcome.RERANKER),
        ([("AX", "X"), ("XY", "X")], "sufficient", Outcome.RERANKER),  # A was read
        ([("AX", "A"), ("AY", "A")], "sufficient", Outcome.EARLY),
        ([("AX", "A"), ("AY", "A")], "max_hops", Outcome.HOP),
        ([("AX", "A"), ("AY", "A")], "dead_end", Outcome.HOP),
        ([("XY", "X"), ("AY", "A")], "max_hops", Outcome.HOP),  # found later: no first-stage miss
    ],
)
def test_outcome_is_the_first_stage_that_lost_a_document(hops, stopped, expected):
    assert classify_outcome(AB, trace(*hops, stopped=stopped)) is expected


def test_alternative_sets_are_compared_with_the_nearest():
    sets = [frozenset("XY"), frozenset("AB")]
    assert classify_outcome(sets, trace(("AX", "A"), ("AB", "A"))) is Outcome.RERANKER
    assert classify_outcome(sets, trace(("XY", "YX"))) is Outcome.FOUND


def test_claims_without_gold_or_prediction():
    assert classify_outcome([], trace(("A", "A"))) is Outcome.NO_GOLD
    assert classify_outcome(AB, None) is Outcome.NO_ANSWER
    assert classify_outcome(AB, trace()) is Outcome.NO_ANSWER
    assert all(stage.meaning.endswith(".") for stage in Outcome)
