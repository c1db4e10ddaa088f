"""The description of an experiment, as read from its file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from admiral.config import RetrievalConfig
from admiral.evaluation.tasks import EVALUATION_TASKS, QRELS, Task

#: Evaluation tasks by name; the demo claims follow the rules of HoVer.
EXPERIMENT_TASKS: dict[str, Task] = {
    # Qrels do not hold the claims.
    **{name: task for name, task in EVALUATION_TASKS.items() if name != QRELS},
    "demo": EVALUATION_TASKS["hover"],
}
#: Systems that only rank: BM25, BM25 with the titles that the claim mentions, or the first stage of
#: the settings.
BASELINES = ("bm25", "bm25+mentions", "first-stage")


@dataclass(frozen=True, slots=True)
class System:
    """A system to be compared.

    Attributes
    ----------
    name
        Its name in tables.
    config
        Its settings.
    baseline
        One of `BASELINES`, or None for the whole method.
    """

    name: str
    config: RetrievalConfig
    baseline: str | None = None

    @property
    def folder(self) -> str:
        """Name of its directory."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


@dataclass(frozen=True, slots=True)
class KnowledgeBaseRecipe:
    """Build instructions for a knowledge base of the experiment.

    Attributes
    ----------
    path
        Its directory.
    corpora, on_duplicate, format
        Arguments of `admiral.kb.build`.
    """

    path: Path
    corpora: tuple[Path, ...]
    on_duplicate: str = "error"
    format: str = "auto"


@dataclass(frozen=True, slots=True)
class Experiment:
    """The description of an experiment.

    Attributes
    ----------
    file
        File of the description.
    title
        Title of its table.
    task
        Name of a task in `EXPERIMENT_TASKS`.
    claims
        File of gold claims.
    limit
        Number of claims, evenly spaced in the file; 0 for all.
    ks
        Cut-offs of the ranking; those of the task if empty.
    seed
        Seed of the resampling.
    reference
        Name of the system that the others are compared with; empty to compare none.
    overrides
        Changes by the command line, as ``key=value``.
    systems
        Systems to be compared.
    knowledge_bases
        Knowledge bases to build, by the name that systems use.
    groups, show
        Groups of claims (all if empty) and columns of its table on the results page.
    paper
        Figures of the paper, as in the file.
    """

    file: Path
    title: str
    task: str
    claims: Path
    limit: int
    ks: tuple[int, ...]
    seed: int
    reference: str
    overrides: tuple[str, ...]
    systems: tuple[System, ...]
    knowledge_bases: dict[str, KnowledgeBaseRecipe]
    groups: tuple[str, ...]
    show: tuple[str, ...]
    paper: dict[str, Any]

    @property
    def evaluation_task(self) -> Task:
        """Task by whose rules the systems are evaluated."""
        return EXPERIMENT_TASKS[self.task]
