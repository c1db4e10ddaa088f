"""Damaged knowledge bases and checkpoints: found by a check, and never the end of a reader.

    python -m benchmarks.artefacts [--rounds 40] [--seed 0]

In each round one file of a copy is cut off, changed by a bit or a few bytes, lengthened, mixed with
another one, or removed (`benchmarks/damage.py`). Then a process opens what is there and reads all
of it, as it does in use, and another one runs `verify`. It counts as a loss if

- a reader crashes, hangs for a minute, or ends in anything but a message;
- `verify` does so, or finds nothing.

What readers made of it is counted. They check sizes and what they could follow out of bounds, but
not every byte: that is what `verify` is for.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, verify
from admiral.models.checkpoint import load_checkpoint, locate_checkpoint
from admiral.models.checkpoint_sums import verify_checkpoint
from admiral.models.heads import load_sufficiency_head
from benchmarks.damage import damage_bytes
from benchmarks.faulty import DONE, TOLD, run
from benchmarks.writers_kb import changed_kb, some_kb

_SECONDS = 60
Prepare = Callable[[Path], None]
Read = Callable[[Path], Any]
Check = Callable[[Path], list[str]]


def some_changed_kb(folder: Path, bm25: str) -> None:
    """Build a knowledge base with a delta and a trie."""
    (changed_kb if bm25 == "bm25s" else partial(some_kb, bm25=bm25))(folder)
    with KnowledgeBase.open(folder / "kb") as kb:
        kb.title_trie(load_checkpoint("mini").tokens)


def read_kb(folder: Path) -> Any:
    """Read all of a knowledge base."""
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    tokens = load_checkpoint("mini").tokens
    with KnowledgeBase.open(folder / "kb") as kb:
        rows = kb.rows().tolist()
        texts = [kb.document_at(row).sentences for row in rows]
        titles = [title for title, _ in kb.complete("")]
        found = kb.search(["Document 49 is about 2401", "short title 310", "nothing"], 50)
        trie = kb.title_trie(tokens)
        spelled = [trie.walk(tokens.encode(title)) >= 0 for title in titles]
        return [texts, titles, [[hit.title for hit in hits] for hits in found], spelled]


def problems_of_kb(folder: Path) -> list[str]:
    """Verify it."""
    return verify(folder / "kb")


def copy_of_mini(folder: Path) -> None:
    """Copy the bundled checkpoint, but for its card, which nothing reads."""
    ignore = shutil.ignore_patterns("README.md")
    shutil.copytree(locate_checkpoint("mini"), folder / "kb", ignore=ignore)


def problems_of_checkpoint(folder: Path) -> list[str]:
    """Verify it."""
    return verify_checkpoint(folder / "kb")


def read_checkpoint(folder: Path) -> Any:
    """Load a checkpoint and use it a little."""
    loaded = load_checkpoint(folder / "kb")
    load_sufficiency_head(folder / "kb", 2 * loaded.model.hidden_size)
    ids = loaded.tokens.encode("A claim about Paris.")
    hidden, _ = loaded.model.run_encoder([ids])
    return [ids, float(hidden.abs().sum())]


class Damaged:
    """Rounds over the files of an artefact; `lost` holds what must not be."""

    def __init__(
        self,
        folder: Path,
        prepare: Prepare,
        read: Read,
        check: Check,
    ) -> None:
        self.outcomes, self._read, self._check = Counter[str](), read, check
        self.lost: list[str] = []
        self._whole, self._work = folder / "whole", folder / "work"
        self._whole.mkdir()
        for function in (prepare, read):
            done = run(function, self._whole)
            if done.status != DONE:
                raise AdmiralError(done.said)
        self._before = done.value
        self.files = sorted(path for path in (self._whole / "kb").rglob("*") if path.is_file())

    def round(self, path: Path, rng: random.Random) -> None:
        """Damage a file and see what comes of it."""
        name = path.relative_to(self._whole)
        shutil.copytree(self._whole, self._work, copy_function=os.link)
        other = rng.choice(self.files).read_bytes()
        content = path.read_bytes()
        changed = damage_bytes(rng, content, other) if content else other
        damaged = self._work / name
        damaged.unlink()
        if rng.random() < 0.95:
            damaged.write_bytes(changed)
        same = damaged.exists() and changed == content
        if not same:
            self._seen(str(name))
        shutil.rmtree(self._work)

    def _seen(self, name: str) -> None:
        # First, since a reader builds a damaged trie again.
        check = run(self._check, self._work, seconds=_SECONDS)
        found = "found by verify"
        if check.status not in (DONE, TOLD) or (check.status == DONE and not check.value):
            found = "LOST by verify"
            self.lost.append(f"{name}: verify: {check.status}, {check.value}\n{check.said}")
        reading = run(self._read, self._work, seconds=_SECONDS)
        if reading.status == DONE:
            outcome = "the same" if reading.value == self._before else "something else"
        elif reading.status == TOLD:
            outcome = "a message"
        else:
            outcome = "LOST"
            self.lost.append(f"{name}: the reader ended with {reading.status}\n{reading.said}")
        self.outcomes[f"read: {outcome}, {found}"] += 1


@click.command()
@click.option("--rounds", default=40, show_default=True, help="Of each file.")
@click.option("--seed", default=0, show_default=True)
@click.option("--only", help="bm25s, lucene or checkpoint.")
def main(rounds: int, seed: int, only: str | None) -> None:
    """Run all rounds and print what came of them; the status is 1 if anything was lost."""
    lost: list[str] = []
    artefacts: dict[str, tuple[Prepare, Read, Check]] = {
        "bm25s": (partial(some_changed_kb, bm25="bm25s"), read_kb, problems_of_kb),
        "lucene": (partial(some_changed_kb, bm25="lucene"), read_kb, problems_of_kb),
        "checkpoint": (copy_of_mini, read_checkpoint, problems_of_checkpoint),
    }
    with tempfile.TemporaryDirectory(prefix="admiral-damage-") as name:
        os.environ["XDG_CACHE_HOME"] = str(Path(name, "cache"))
        for kind, (prepare, read, check) in artefacts.items():
            if only not in (None, kind):
                continue
            folder = Path(name, kind)
            folder.mkdir()
            damaged = Damaged(folder, prepare, read, check)
            rng = random.Random(f"{seed} {kind}")
            for path in damaged.files:
                for _ in range(rounds):
                    damaged.round(path, rng)
            for what, n in sorted(damaged.outcomes.items()):
                print(f"{kind:12}{n:6}  {what}", flush=True)
            for loss in damaged.lost:
                print(f"LOST {kind}: {loss}", file=sys.stderr, flush=True)
            lost += damaged.lost
    print(f"lost: {len(lost)}")
    sys.exit(bool(lost))


if __name__ == "__main__":
    try:
        main(standalone_mode=False)
    except AdmiralError as error:
        sys.exit(f"error: {error}")
