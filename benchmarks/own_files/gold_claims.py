"""The claims about each corpus that this machine can answer, and their two halves."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path

from admiral.evaluation.tasks import EVALUATION_TASKS, read_task_claims
from admiral.gold import GoldClaim
from admiral.storage.atomic_files import write_atomically

TASK = EVALUATION_TASKS["qa"]
HALVES = ("tuning", "set aside")
_FOLDER = Path(__file__).parent / "claims"


def half_of(claim: GoldClaim) -> str:
    """Return the half of a claim: ids with odd numbers are for tuning, even ones are set aside."""
    return HALVES[int(claim.id.rpartition("-")[2]) % 2 == 0]


def claims_file(corpus: str) -> Path:
    """Return the file of the claims about a corpus."""
    return _FOLDER / f"{corpus}.jsonl"


def write_answerable_claims(corpus: str, titles: Collection[str], path: Path) -> tuple[int, int]:
    """Write the claims of a corpus that have a complete set of gold documents among its titles.

    Parameters
    ----------
    corpus
        Name of the corpus.
    titles
        Titles of its documents on this machine.
    path
        File to write, in the format of the claims of the corpus.

    Returns
    -------
    tuple of int
        How many claims were written, and how many there are.
    """
    claims = read_task_claims(TASK, claims_file(corpus))
    answerable = {claim.id for claim in claims if is_answerable(claim, titles)}
    lines = claims_file(corpus).read_bytes().splitlines()
    write_atomically(path, [line + b"\n" for line in lines if json.loads(line)["id"] in answerable])
    return len(answerable), len(claims)


def is_answerable(claim: GoldClaim, titles: Collection[str]) -> bool:
    """Return whether all documents of one of the claim's gold sets are among the titles."""
    return any(all(title in titles for title in one) for one in claim.title_sets)


def in_half(claims: Sequence[GoldClaim], half: str) -> list[GoldClaim]:
    """Return the claims of a half, in order."""
    return [claim for claim in claims if half_of(claim) == half]
