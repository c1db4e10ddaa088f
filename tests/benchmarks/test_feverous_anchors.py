"""The command that selects claims whose pages name each other in other words than the title."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from benchmarks.feverous_anchors import Link, is_linked_in_other_words, main

PAGES = [
    {"title": "Plantation", "sentences": ["It is near [[Pittsview,_Alabama|Pittsview]]."]},
    {"title": "Pittsview, Alabama", "sentences": ["In [[Alabama]].", "A [[Town_(unit)|town]]."]},
    {"title": "Alabama", "sentences": ["A state."]},
    {"title": "Town (unit)", "sentences": ["A place."]},
]


def claim(*titles: str) -> dict[str, Any]:
    return {"id": "+".join(titles), "claim": "A claim.", "evidence": [[t, 0] for t in titles]}


def lines(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def read(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def run(folder: Path, claims: list[Any], out: str = "out") -> Result:
    distractors = [{"title": t, "text": "Another text."} for t in ("Alabama", "Georgia")]
    arguments = [
        lines(folder / "pages.jsonl", PAGES),
        lines(folder / "claims.jsonl", claims),
        *("--distractors", lines(folder / "distractors.jsonl", distractors)),
        *("--out", folder / out),
    ]
    return CliRunner().invoke(main, list(map(str, arguments)))


@pytest.mark.parametrize(
    ("target", "anchor", "differs"),
    [
        ("Pittsview, Alabama", "Pittsview", True),
        ("Alabama", "Alabama", False),
        ("Marble", "marble", False),
        ("Alien (film)", "Alien", False),
        ("Alien (film)", "ALIEN (Film)", False),
        ("Alien (film)", "the film", True),
    ],
)
def test_an_anchor_differs_from_title_and_base_title(
    target: str, anchor: str, differs: bool
) -> None:
    assert Link(target, anchor).differs is differs


def test_a_page_must_name_another_gold_page() -> None:
    links = {"A": [Link("B", "b-like"), Link("A", "itself"), Link("D", "D")], "B": [], "D": []}
    assert is_linked_in_other_words({"A", "B"}, links)
    assert not is_linked_in_other_words({"A", "D"}, links)
    assert not is_linked_in_other_words({"B", "D"}, links)


def test_the_corpus_has_no_links_and_claims_need_one(tmp_path: Path) -> None:
    hit = claim("Plantation", "Pittsview, Alabama")
    others = [
        claim("Pittsview, Alabama", "Alabama"),
        claim("Pittsview, Alabama", "Town (unit)"),
        claim("Plantation"),
        claim("Plantation", "Pittsview, Alabama", "Nowhere"),
    ]
    done = run(tmp_path, [others[0], hit, *others[1:]])
    assert done.exit_code == 0, done.output
    assert "links: 3; the anchor differs from the title in 1\n" in done.output
    assert "claims: 3 need two pages or more; 1 of these" in done.output
    assert read(tmp_path / "out" / "claims.jsonl") == [hit]
    assert read(tmp_path / "out" / "corpus.jsonl") == [
        {"title": "Plantation", "sentences": ["It is near Pittsview."]},
        {"title": "Pittsview, Alabama", "sentences": ["In Alabama.", "A town."]},
        *PAGES[2:],
        {"title": "Georgia", "sentences": ["Another text."]},
    ]


def test_bad_claims_and_outputs_are_errors(tmp_path: Path) -> None:
    done = run(tmp_path, [{"claim": "A."}])
    assert done.exit_code == 1 and "claims.jsonl:1: field 'evidence': missing" in done.output
    assert list((tmp_path / "out").iterdir()) == []
    done = run(tmp_path, [claim("Plantation")], out=".")
    assert done.exit_code == 1 and "is the input as well" in done.output
