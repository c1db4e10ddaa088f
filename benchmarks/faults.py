"""Writers that are interrupted: the old file is whole or the new one is, and again does it.

    python -m benchmarks.faults [--rounds 30] [--only WRITER] [--seed 0]

In each round one of the project's writers (`benchmarks/writers.py`) works on a copy of what was
there, and once a write, a rename, a sync to the disk, the opening or the removal of a file fails;
or the disk is full from then on, files have a greatest size, or the process is killed, also in the
middle of a write, or after a time. Then somebody reads what is there, and the writer runs again
without faults. It counts as a loss if

- the reader finds anything but the old or the new state, or crashes;
- the writer says that all went well, and the new state is not there;
- the writer ends in a traceback instead of a message, or crashes;
- running again fails, gives another result than a run without faults, or leaves other files behind.

The table says how often what went wrong. Nothing outside a temporary folder is touched. It needs a
C compiler (`cc`); see `benchmarks/faulty.py`.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

import click

from admiral.errors import AdmiralError
from admiral.kb import demo_kb
from benchmarks.faulty import DONE, TRACEBACK, Fault, Outcome, faults_of, preloaded, run
from benchmarks.writer import Writer
from benchmarks.writers import writers


class LossError(Exception):
    """What a round lost."""


class Rounds:
    """The rounds of one writer in a folder.

    Attributes
    ----------
    outcomes
        How the interrupted writers ended, and what readers found then.
    losses
        What was lost, by fault.
    """

    def __init__(self, writer: Writer, folder: Path) -> None:
        self.outcomes = Counter[str]()
        self.losses: list[str] = []
        self._writer, self._folder = writer, folder
        self._origin, self._clean = folder / "origin", folder / "clean"
        self._origin.mkdir()
        self._must(run(writer.prepare, self._origin), "preparing")
        self._old = self._read(self._origin)
        shutil.copytree(self._origin, self._clean, symlinks=True)
        self._whole = self._must(run(writer.write, self._clean), "an undisturbed run")
        self._new = self._read(self._clean)
        if self._old == self._new:
            raise AdmiralError(f"{writer.name}: an undisturbed run changes nothing")
        self._files = self._listing(self._clean)

    def run(self, count: int, rng: random.Random) -> None:
        """Run about so many rounds."""
        files = [path for path in self._clean.rglob("*") if path.is_file()]
        largest = max(path.stat().st_size for path in files)
        for fault in faults_of(self._whole, largest, count, rng):
            work = self._folder / "work"
            shutil.copytree(self._origin, work, symlinks=True)
            try:
                self._round(work, fault)
            except LossError as loss:
                self.losses.append(f"{self._writer.name}: {fault}: {loss}")
            shutil.rmtree(work)

    def _round(self, work: Path, fault: Fault) -> None:
        outcome = run(self._writer.write, work, fault)
        ended = {DONE: "done", TRACEBACK: "traceback"}.get(outcome.status, "told")
        if outcome.status < 0:
            ended = "killed"
            if fault.name not in ("kill", "tear", "late"):
                raise LossError(f"crashed: {outcome.status}\n{outcome.said}")
        if ended == "traceback":
            raise LossError(f"not told but a traceback:\n{outcome.said}")
        seen = self._read(work)
        if seen not in (self._old, self._new) and not self._writer.between(seen):
            raise LossError(f"neither old nor new: {seen!r}\n{outcome.said}")
        state = "new" if seen == self._new else "old" if seen == self._old else "between"
        if ended == "done" and state != "new" and not self._writer.optional:
            raise LossError(f"was done, but what is there is {state}\n{outcome.said}")
        again = run(self._writer.write, work)
        if again.status != DONE:
            raise LossError(f"running again ended with {again.status}\n{again.said}")
        if (seen := self._read(work)) != self._new:
            raise LossError(f"running again gave {seen!r}\n{again.said}")
        left = self._listing(work) - self._files
        left = {name for name in left if not re.fullmatch(self._writer.stays, name)}
        if left:
            raise LossError(f"left behind: {', '.join(sorted(left))}")
        self.outcomes[f"{ended}, {state}"] += 1

    def _read(self, folder: Path) -> object:
        outcome = run(self._writer.read, folder)
        if outcome.status != DONE:
            raise LossError(f"the reader ended with {outcome.status}\n{outcome.said}")
        return outcome.value

    def _must(self, outcome: Outcome, what: str) -> Outcome:
        if outcome.status != DONE:
            raise AdmiralError(f"{self._writer.name}: {what}: {outcome.status}\n{outcome.said}")
        return outcome

    def _listing(self, folder: Path) -> set[str]:
        """Return the files below a folder; a name made by chance is shown by a star."""
        return {
            self._writer.shown(path.relative_to(folder).as_posix()) for path in folder.rglob("*")
        }


@click.command()
@click.option("--rounds", default=30, show_default=True, help="Of each writer.")
@click.option("--only", multiple=True, metavar="WRITER", help="Repeatable; all by default.")
@click.option("--seed", default=0, show_default=True)
def main(rounds: int, only: tuple[str, ...], seed: int) -> None:
    """Run all rounds and print how they ended; the status is 1 if anything was lost."""
    preloaded()
    with tempfile.TemporaryDirectory(prefix="admiral-faults-") as name:
        os.environ["XDG_CACHE_HOME"] = str(Path(name, "cache"))
        os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
        demo_kb("bm25s")
        losses: list[str] = []
        total, outcomes = 0, Counter[str]()
        for writer in writers():
            if only and writer.name not in only:
                continue
            folder = Path(name, writer.name)
            folder.mkdir()
            found = Rounds(writer, folder)
            count = max(rounds // writer.share, 1)
            found.run(count, random.Random(f"{seed} {writer.name}"))
            ended = ", ".join(f"{n} {what}" for what, n in sorted(found.outcomes.items()))
            done = found.outcomes.total() + len(found.losses)
            print(f"{writer.name:20}{done:6}  lost {len(found.losses)}  ({ended})", flush=True)
            for loss in found.losses:
                print(f"LOST {loss}", file=sys.stderr, flush=True)
            losses += found.losses
            total, outcomes = total + done, outcomes + found.outcomes
            shutil.rmtree(folder)
    print(f"{'all':20}{total:6}  lost {len(losses)}")
    for what, n in sorted(outcomes.items()):
        print(f"{n:26}  {what}")
    sys.exit(bool(losses))


if __name__ == "__main__":
    try:
        main(standalone_mode=False)
    except AdmiralError as error:
        sys.exit(f"error: {error}")
