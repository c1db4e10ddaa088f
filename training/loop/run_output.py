"""Where a run writes: the checkpoint, and beside it what the run needs to go on."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch

from admiral.errors import AdmiralError
from admiral.models.checkpoint import is_checkpoint, save_checkpoint
from admiral.models.checkpoint_sums import write_sums
from admiral.storage.atomic_directories import check_target, exclusive, staging
from admiral.storage.atomic_files import explained, library_errors, write_atomically
from training.loop.initial_checkpoint import Start


class Output:
    """The checkpoint in `out`; state, log and tracked figures in `out`.run.

    Parameters
    ----------
    out
        Directory of the checkpoint. It is replaced as a whole, or left as it was.
    """

    def __init__(self, out: Path) -> None:
        self.checkpoint = out
        self.folder = out.with_name(f"{out.name}.run")
        self.state = self.folder / "state.safetensors"
        self.log = self.folder / "log.jsonl"

    def check(self, overwrite: bool) -> None:
        """Refuse to replace a checkpoint that no run in this place wrote, and anything else.

        Raises
        ------
        AdmiralError
            If there is one, and `overwrite` does not ask for it; if what is there is no checkpoint.
        """
        check_target(self.checkpoint, True, is_checkpoint)
        if self.checkpoint.exists() and not self.state.exists() and not overwrite:
            raise AdmiralError(
                f"{self.checkpoint}: exists, and is of no run that could go on. Choose another "
                "`out`, or give --overwrite to replace it."
            )

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other runs away, until the block ends.

        Raises
        ------
        AdmiralError
            If one is there, or nothing can be written there.
        """
        with explained(self.folder), ExitStack() as stack:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(exclusive(self.folder, wait=False))
            held = stack.pop_all()
        with held:
            yield

    def begin_log(self, step: int) -> None:
        """Drop what was logged behind `step`, which will be done again, and what is damaged."""
        with explained(self.log):
            self.folder.mkdir(parents=True, exist_ok=True)
            lines = self.log.read_bytes().splitlines(True) if self.log.exists() else []
        write_atomically(self.log, [line for line in lines if _step_of(line) <= step])

    def append_log(self, record: dict[str, Any]) -> None:
        """Log a record as a line of JSON."""
        with explained(self.log), self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def publish(self, start: Start, card: str, dtype: torch.dtype) -> None:
        """Put the trained checkpoint in place, with its model card.

        Raises
        ------
        AdmiralError
            If it cannot be written; the one before, if any, is intact.
        """
        with staging(self.checkpoint, overwrite=True, owned=is_checkpoint) as folder:
            with library_errors():
                save_checkpoint(folder, start.model, start.head, start.tokenizer, dtype)
            write_sums(folder)
            readme = folder / "README.md"
            readme.write_text(card, "utf-8")
            for path in folder.iterdir():
                path.chmod(readme.stat().st_mode)  # safetensors lets only the owner read its files


def _step_of(line: bytes) -> float:
    """Return the step of a record; of a line that was cut off, or damaged, one behind all."""
    try:
        return float(json.loads(line)["step"]) if line.endswith(b"\n") else math.inf
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return math.inf
