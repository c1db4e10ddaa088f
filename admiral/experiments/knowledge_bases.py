"""The knowledge bases of an experiment: built where they are not there, and described."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.experiments.description import Base, Experiment
from admiral.experiments.jobs import delegate, read_note
from admiral.kb import info, locate
from admiral.kb.store.members import read_holdings
from admiral.storage.atomic_files import explained

Say = Callable[[str], None]


def prepare_bases(experiment: Experiment, say: Say) -> dict[str, dict[str, Any]]:
    """Build the knowledge bases that systems need and that are not there; return how that went."""
    wanted = {system.config.kb for system in experiment.systems}
    return {
        str(base.path): _built(name, base, say)
        for name, base in experiment.bases.items()
        if str(base.path) in wanted
    }


def _built(name: str, base: Base, say: Say) -> dict[str, Any]:
    note = base.path.with_name(base.path.name + ".build.json")
    if base.path.exists():
        sources = [one["name"] for one in read_holdings(base.path).settings["sources"]]
        if sources != [corpus.name for corpus in base.corpora]:
            raise AdmiralError(
                f"{base.path}: was built from {', '.join(sources)}, not from the corpus of {name}. "
                "Choose another folder with --kbs"
            )
        return read_note(note)
    with explained(base.path.parent):
        base.path.parent.mkdir(parents=True, exist_ok=True)
    job = {
        "work": "build",
        "corpora": [str(corpus) for corpus in base.corpora],
        "kb": str(base.path),
        "on_duplicate": base.on_duplicate,
        "format": base.format,
    }
    say(f"building the knowledge base {name}")
    return delegate(job, note)


def base_record(kb: str, bases: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return what an experiment records of a knowledge base: digest, sizes and how it was built."""
    facts = info(locate(kb))
    return {
        "name": Path(kb).name,
        "digest": read_holdings(locate(kb)).digest,
        "documents": facts.counts["documents"],
        "bytes": facts.sizes,
        "bm25": facts.bm25,
        "build": bases.get(kb, {}),
    }
