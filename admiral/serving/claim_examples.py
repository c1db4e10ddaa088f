"""What the page offers at the start: claims of the demo, or titles of another knowledge base."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from admiral.kb import KnowledgeBase

# Two are true and two false; one or more documents decide each.
_CHOSEN = ("c-007", "c-004", "c-018", "c-021")
_TITLES = 4


def examples(kb: KnowledgeBase) -> dict[str, list[str]]:
    """Return ``claims`` that the documents of a knowledge base decide, and some of its ``titles``.

    The claims are of the demo; a knowledge base gets those whose documents it has.
    """
    claims = [
        claim
        for claim, titles in _demo_claims()
        if all(kb.row(each) is not None for each in titles)
    ]
    rows = kb.rows()
    titles = [kb.title(int(row)) for row in rows[:: max(1, len(rows) // _TITLES)][:_TITLES]]
    return {"claims": claims, "titles": titles}


@cache
def _demo_claims() -> list[tuple[str, list[str]]]:
    """Return the chosen claims, each with the titles of the documents that decide it."""
    text = (files("admiral") / "data" / "demo" / "claims.jsonl").read_text(encoding="utf-8")
    records = {record["id"]: record for record in map(json.loads, text.splitlines())}
    return [
        (records[each]["claim"], [title for title, _ in records[each]["evidence"]])
        for each in _CHOSEN
    ]
