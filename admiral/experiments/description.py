"""What an experiment is, as its file describes it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from admiral.config import RetrievalConfig
from admiral.evaluation.tasks import TASKS, Task

# The rules that an experiment's claims are evaluated by; the demo claims follow HoVer's.
RULES: dict[str, Task] = {**TASKS, "demo": TASKS["hover"]}
# Systems that only rank: BM25 alone, BM25 with the titles that the claim names, or the whole first
# stage as the settings say.
BASELINES = ("bm25", "bm25+mentions", "first-stage")


@dataclass(frozen=True, slots=True)
class System:
    """One line of an experiment's table.

    Attributes
    ----------
    baseline
        One of `BASELINES`, or None for the whole method.
    """

    name: str
    config: RetrievalConfig
    baseline: str | None = None

    @property
    def folder(self) -> str:
        """The name of its directory."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


@dataclass(frozen=True, slots=True)
class Base:
    """A knowledge base that is built for the experiment where it is not there yet."""

    path: Path
    corpora: tuple[Path, ...]
    on_duplicate: str = "error"
    format: str = "auto"


@dataclass(frozen=True, slots=True)
class Experiment:
    """A described experiment.

    Attributes
    ----------
    file
        Where it is described.
    task
        A name of `RULES`.
    claims
        Gold claims.
    limit
        How many of them, spread over the file; 0 for all.
    ks
        Cuts of the ranking, the task's own where empty.
    seed
        Of the resampling.
    overrides
        What the command line changed, as ``key=value``.
    bases
        By the name that systems know them under, as a path.
    groups, show
        The groups of claims and the columns of its table on a page of results; all groups where
        empty.
    paper
        What the paper published, as the file has it.
    """

    file: Path
    title: str
    task: str
    claims: Path
    limit: int
    ks: tuple[int, ...]
    seed: int
    overrides: tuple[str, ...]
    systems: tuple[System, ...]
    bases: dict[str, Base]
    groups: tuple[str, ...]
    show: tuple[str, ...]
    paper: dict[str, Any]

    @property
    def rules(self) -> Task:
        """The rules of evaluation."""
        return RULES[self.task]
