"""Write docs/paper-tables.md: which command makes each row of the papers' tables, or what it needs.

Run as ``python -m benchmarks.paper_tables``. The rows are those of the files in
``configs/experiments``; a test compares the page with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "paper-tables.md"
PAPERS = {
    "AdMIRaL": "Aly and Vlachos, *Natural Logic-guided Autoregressive Multi-hop Document Retrieval "
    "for Fact Verification* (EMNLP 2022)",
    "SIDE": "Petroni et al., *Improving Wikipedia Verifiability with AI* (2023)",
}
INTRODUCTION = """\
# The tables of the papers

Which experiment makes each row of the papers' tables here, and what the other rows need:

    python -m benchmarks.compare_systems configs/experiments/EXPERIMENT.yaml --data DATA

DATA is a folder of data sets, [made like this](scale.md#a-whole-wikipedia); `--limit N` takes
fewer claims. A system that lacks a checkpoint or a knowledge base is left out of its table, which
says so. [Results](results.md) has the figures of the bundled models.

For the third paper, Mongiovì and Gangemi's *Graph-based Retrieval for Claim Verification over
Cross-Document Evidence* (2021), one command makes all rows:
[`admiral evaluate graph --gold CLAIMS --kb KB`](graph.md#evaluation).
"""


def described() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the content of each experiment that has a table of a paper."""
    for path in sorted((ROOT / "configs" / "experiments").glob("*.yaml")):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        if "paper" in content:
            yield path.stem, content


def page() -> str:
    """Return the text of the page."""
    lines = [INTRODUCTION]
    for name, title in PAPERS.items():
        lines += [f"## {name}", "", f"{title}.", ""]
        lines += ["| experiment | row of the paper | system here | needs |", "|---|---|---|---|"]
        for experiment, content in described():
            if experiment.startswith("side-") == (name == "SIDE"):
                lines += _rows(experiment, content)
        lines.append("")
    return "\n".join(lines)


def _rows(experiment: str, content: dict[str, Any]) -> Iterator[str]:
    paper = content["paper"]
    ours, missing = paper.get("ours") or {}, paper.get("missing") or {}
    where = f"table {paper['table']}".replace("table section", "section")
    yield f"| `{experiment}`<br>{content['title']}, {where} | | | |"
    for row in paper["rows"]:
        yield f"| | {row} | {ours.get(row, '')} | {missing.get(row, '')} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
