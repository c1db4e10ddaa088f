"""The page of results from recorded experiments, and its charts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.experiments.experiment_tables import aligned
from benchmarks.charts import Axis, line_chart, ticks_to
from benchmarks.results_page import main, page, read_runs
from benchmarks.results_plots import plots


def system(name: str, documents: int = 100, **more: Any) -> dict[str, Any]:
    groups = [{"name": n, "claims": c} for n, c in (("all", 5), ("1 hop", 3), ("2 hops", 2))]

    def measure(name: str, *values: float | None) -> dict[str, Any]:
        cells = [
            {"group": g["name"], "claims": g["claims"], "value": v, "low": v, "high": v}
            for g, v in zip(groups, values, strict=True)
        ]
        return {"section": "documents", "name": name, "groups": cells}

    sizes = {"bm25": 10**6, "tries": 2 * 10**6, "documents": 3 * 10**6, "total": 7 * 10**6}
    return {
        "name": name, "notes": ["a note"], "groups": groups, "seconds_per_claim": 0.25,
        "run": {
            "peak_memory": 5 * 10**8, "date": "2026-01-01", "commit": "c" * 40 + "+",
            "versions": {"admiral": "1"}, "hardware": "a box",
        },
        "kb": {
            "name": "kb", "documents": documents, "bytes": sizes, "bm25": "lucene", "build": {}
        },
        "measures": [
            measure("recall@5", 0.5, 0.6, None), measure("recall@10", 0.8, 0.9, 0.7),
            measure("F1", None, None, None),
        ],
    } | more  # fmt: skip


STOPPING = {
    "hops": 1.5, "precision": None, "recall": 0.5,
    "decisions": [
        {
            "hop": 1, "sufficient": 2, "sufficient_complete": 1,
            "insufficient": 0, "insufficient_complete": 0,
        }
    ],
}  # fmt: skip


def record(*systems: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "format": 1, "file": "x.yaml", "title": "Some claims", "task": "hover",
        "claims": {"file": "c.jsonl", "sha256": "ab" * 32, "used": 5},
        "overrides": ["kb=/home-of/someone/kb", "limit=5"],
        "seeds": {"bootstrap": 0}, "groups": ["all"],
        "show": ["recall@5", "F1", "s/claim", "disk MB", "hops"], "paper": {},
        "systems": list(systems),
    } | more  # fmt: skip


def written(folder: Path, **records: dict[str, Any]) -> Path:
    for name, one in records.items():
        (folder / name).mkdir()
        (folder / name / "experiment.json").write_text(json.dumps(one))
    return folder


def test_the_page_has_tables_and_the_papers_figures(tmp_path: Path) -> None:
    paper = {
        "table": 2, "columns": ["recall"], "rows": {"BM25": [0.4], "MDR": [None]}, "note": "No."
    }  # fmt: skip
    runs = written(
        tmp_path,
        two=record(system("One"), system("Two", stopping=STOPPING), paper=paper),
        one=record(system("D"), file="demo.yaml", title="Demo", task="demo", groups=[]),
    )
    text = page(read_runs(runs))
    assert text.index("## Demo") < text.index("## Some claims")  # the page's order
    assert "| One | all | 5 | 0.500 [0.50, 0.50] | – | 0.25 | 7.0 | – |" in text
    assert "| D | 1 hop | 3 | 0.600 [0.60, 0.60] | – |  |  |  |" in text
    assert "| D | 2 hops | 2 | – | – |  |  |  |" in text
    assert "| BM25 | 0.4 |\n| MDR | – |\n\nNo." in text
    assert "x.yaml --data DATA --set kb=kb --set limit=5\n" in text and "someone" not in text
    assert text.count("- a note") == 2  # of all systems, once
    assert text.count("a box; commit cccccccccccc with changes; admiral 1; seed of") == 2


def test_differences_to_the_reference_have_a_table(tmp_path: Path) -> None:
    found = [
        {"name": name, "group": "all", "difference": value, "low": -0.25, "high": 0.05}
        for name, value in (("recall@5", -0.1), ("recall@10", 0.0), ("F1", None))
    ]
    runs = written(
        tmp_path,
        one=record(system("All"), system("Less", differences=found), reference="All"),
    )
    text = page(read_runs(runs))
    assert "Differences to `All`, with 95%" in text
    assert "| system | claims | number | recall@5 | F1 |\n" in text  # of the columns shown
    assert "| Less | all | 5 | -0.100 [-0.25, +0.05] | – |\n" in text
    assert text.count("| All | all") == 1


def test_groups_that_no_claim_is_of_are_named(tmp_path: Path) -> None:
    runs = written(tmp_path, one=record(system("One"), groups=["all", "2 hop"]))
    text = page(read_runs(runs))
    assert "- no claim is of the group '2 hop' (groups are 1 hop, 2 hops, all)\n" in text
    assert "| One | all | 5 |" in text and "| One | 1 hop |" not in text


def test_the_command_writes_page_and_plots(tmp_path: Path) -> None:
    runs = written(tmp_path, small=record(system("One"), system("Two", stopping=STOPPING)))
    docs = tmp_path / "docs"
    (docs / "results").mkdir(parents=True)
    (docs / "results" / "gone.svg").write_text("")
    done = CliRunner().invoke(main, [str(runs), "--docs", str(docs)], catch_exceptions=False)
    assert done.exit_code == 0
    names = {"calibration", "recall-by-hops", "recall-by-k"}
    assert {p.name for p in (docs / "results").iterdir()} == {f"small-{n}.svg" for n in names}
    text = (docs / "results.md").read_text()
    for path in (docs / "results").iterdir():
        assert f"](results/{path.name})" in text
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
    chart = (docs / "results" / "small-calibration.svg").read_text()
    assert "judged sufficient" in chart and "judged insufficient" not in chart  # it never was


def test_a_run_replaces_its_section_only(tmp_path: Path) -> None:
    few, all_of_them = (
        record(system(name), overrides=["precision=bf16", *more], groups=["all"])
        for name, more in (("Few", ["limit=5"]), ("Every", []))
    )
    other = record(system("Other"), overrides=["kb=large"])
    demo = record(system("D"), file="demo.yaml", title="Demo", task="demo")
    before = page([{**few, "folder": "a"}, {**other, "folder": "b"}])
    text = page([{**demo, "folder": "d"}, {**all_of_them, "folder": "c"}], before)
    places = [text.index(name) for name in ("# Results", "| D |", "| Other |", "| Every |")]
    assert places == sorted(places) and "| Few |" not in text
    assert text.count("\n## ") == 3 and "\n\n\n" not in text
    assert page([{**few, "folder": "a"}], text) == page([{**few, "folder": "a"}], page([], text))
    assert page([], text) == text
    with pytest.raises(AdmiralError, match="no command below '## Mine'"):
        page([], text + "\n## Mine\n\nBy hand.\n")
    with pytest.raises(AdmiralError, match="a and c are runs of one experiment"):
        page([{**few, "folder": "a"}, {**all_of_them, "folder": "c"}])


def test_the_introduction_is_kept() -> None:
    one = record(system("One")) | {"folder": "a"}
    text = page([one])
    assert "commit" not in text.partition("\n## ")[0]
    own = text.replace("do not edit its sections.", "do not edit its sections.\n\nOurs.")
    assert page([one], own) == own
    assert page([], own) == own


def test_tables_without_chosen_columns_show_the_first_measures() -> None:
    text = page([record(system("One"), show=[]) | {"folder": "a"}])
    assert "| system | claims | number | recall@5 | recall@10 | F1 | s/claim |\n" in text


def test_tables_are_aligned_for_a_terminal() -> None:
    lines = ["| a | long |", "|---|---|", "| longer | – |", "", "Text | a", "| b |", "|---|"]
    assert aligned(lines).splitlines() == [
        "| a      | long |",
        "| ------ | ---- |",
        "| longer | –    |",
        "",
        "Text | a",
        "| b   |",
        "| --- |",
    ]


def test_plots_of_sections_that_stay_are_kept(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name, more in (("a", {}), ("b", {"overrides": ["kb=large"]})):
        (tmp_path / f"runs-{name}").mkdir()
        runs = written(tmp_path / f"runs-{name}", **{name: record(system("One"), **more)})
        main([str(runs), "--docs", str(tmp_path / "docs")], standalone_mode=False)
    names = {p.name.partition("-")[0] for p in (tmp_path / "docs" / "results").iterdir()}
    assert names == {"a", "b"}
    runs = written(tmp_path, b=record(system("One"), file="z.yaml"))
    with pytest.raises(AdmiralError, match="two runs are called 'b'"):
        main([str(runs / "b"), "--docs", str(tmp_path / "docs")], standalone_mode=False)


def test_two_runs_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        written(tmp_path / name, demo=record(system("One")))
    (tmp_path / "docs").mkdir()
    with pytest.raises(AdmiralError, match="two runs are called 'demo'"):
        CliRunner().invoke(
            main, [str(tmp_path), "--docs", str(tmp_path / "docs")], catch_exceptions=False
        )


def test_growth_is_one_line_a_system() -> None:
    both = record(system("A, few", 10), system("A, many", 1000), system("B, few", 10))
    found = {name: chart for name, _, chart in plots(both | {"folder": "e"})}
    assert set(found) == {"e-time.svg", "e-memory.svg"}
    assert found["e-time.svg"].count('stroke-width="2"') == 2


def test_a_misspelt_column_is_an_error() -> None:
    with pytest.raises(AdmiralError, match=r"x\.yaml: key 'show': 'recal@5' is measured for no"):
        page([record(system("a"), show=["recal@5"])])


def test_runs_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(AdmiralError, match=r"holds no experiment.json"):
        read_runs(tmp_path)
    written(tmp_path, one={"format": 0})
    with pytest.raises(AdmiralError, match="format 0, not 1"):
        read_runs(tmp_path)
    (tmp_path / "one" / "experiment.json").write_text("{")
    with pytest.raises(AdmiralError, match="damaged"):
        read_runs(tmp_path)


@given(st.floats(1e-6, 1e9))
def test_ticks_reach_the_largest(largest: float) -> None:
    ticks = ticks_to(largest)
    assert ticks[0] == 0 and ticks[-1] >= largest * (1 - 1e-6) and 2 <= len(ticks) <= 7
    assert list(ticks) == sorted(set(ticks))


def test_a_chart_places_its_points() -> None:
    x, y = Axis("x", (1.0, 10.0, 100.0), log=True), Axis("y <&>", (0.0, 1.0))
    chart = line_chart("t", x, y, {"a & b": [(1, 0), (10, 0.5), (100, 1)]})
    root = ElementTree.fromstring(chart)
    ns = {"s": "http://www.w3.org/2000/svg"}
    paths = [p.get("d") for p in root.iterfind(".//s:path", ns)]
    assert "M64 280 L264 160 L464 40" in paths
    assert {"a & b", "y <&>"} <= {t.text for t in root.iterfind(".//s:text", ns)}
    assert Axis("x", (3.0,)).place(3) == 0.5
