"""Where a run writes: the checkpoint, and beside it what the run needs to go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from admiral.checkpoint import is_checkpoint, save_checkpoint
from admiral.checkpoint_sums import write_sums
from admiral.errors import AdmiralError
from admiral.files import explained, library_errors, write_atomically
from admiral.kb.durable import staging
from training.start import Start


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

    def check(self) -> None:
        """Refuse to replace a checkpoint that no run in this place wrote.

        Raises
        ------
        AdmiralError
            If there is one.
        """
        if self.checkpoint.exists() and not self.log.exists():
            raise AdmiralError(
                f"{self.checkpoint}: exists, and is of no run that could go on. Choose another "
                "`out`, or give --overwrite to replace it."
            )

    def forget(self) -> None:
        """Forget an earlier run; its checkpoint stays until there is a better one."""
        for path in (self.state, self.log):
            path.unlink(missing_ok=True)

    def begin_log(self, step: int) -> None:
        """Drop what was logged behind `step`: it will be done again."""
        with explained(self.log):
            self.folder.mkdir(parents=True, exist_ok=True)
            lines = self.log.read_text("utf-8").splitlines(True) if self.log.exists() else []
            kept = [x for x in lines if x.endswith("\n") and json.loads(x)["step"] <= step]
        write_atomically(self.log, [line.encode() for line in kept])

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
