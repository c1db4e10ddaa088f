"""Output files of a run: the checkpoint, and beside it the state that resumes the run."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

from admiral.errors import AdmiralError, first_line
from admiral.models.checkpoint import is_checkpoint
from admiral.models.checkpoint_sums import write_sums
from admiral.storage.atomic_directories import check_replaceable, exclusive_access, staging
from admiral.storage.atomic_files import as_os_errors, explain_write_errors, write_atomically


class RunOutput:
    """Paths and writers of a run: the checkpoint in `out`; state, log and trackers in `out`.run.

    Parameters
    ----------
    out
        Directory of the checkpoint. It is replaced as a whole or not at all.
    """

    def __init__(self, out: Path) -> None:
        self.checkpoint = out
        self.folder = out.with_name(f"{out.name}.run")
        self.state = self.folder / "state.safetensors"
        self.log = self.folder / "log.jsonl"

    def check(self, overwrite: bool) -> None:
        """Refuse to replace anything but a checkpoint that an earlier part of the run wrote.

        Raises
        ------
        AdmiralError
            If `out` holds a foreign checkpoint and `overwrite` is not given, or something else.
        """
        check_replaceable(self.checkpoint, True, is_checkpoint)
        if self.checkpoint.exists() and not self.state.exists() and not overwrite:
            raise AdmiralError(
                f"{self.checkpoint}: exists and does not belong to a run that can be resumed. "
                "Choose another `out`, or use --overwrite to replace it."
            )

    def check_start(self, start: Path) -> None:
        """Raise `AdmiralError` if the run would replace the directory that it starts from."""
        if self.checkpoint.resolve() == start.resolve():
            raise AdmiralError(
                f"{self.checkpoint}: is also `start`, which the run needs to resume. Choose "
                "another `out`."
            )

    @contextmanager
    def exclusive_access(self) -> Iterator[None]:
        """Lock the output against other runs until the block ends.

        Raises
        ------
        AdmiralError
            If another run holds the lock, or the folder cannot be written.
        """
        with explain_write_errors(self.folder), ExitStack() as stack:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(exclusive_access(self.folder, wait=False))
            held = stack.pop_all()
        with held:
            yield

    def truncate_log(self, step: int) -> None:
        """Drop log records after `step`, which will be written again, and damaged ones."""
        with explain_write_errors(self.log):
            self.folder.mkdir(parents=True, exist_ok=True)
            lines = self.log.read_bytes().splitlines(True) if self.log.exists() else []
        write_atomically(self.log, [line for line in lines if _step_of(line) <= step])

    def append_log(self, record: dict[str, Any]) -> None:
        """Append a record to the log as a line of JSON."""
        with explain_write_errors(self.log), self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def publish(self, save: Callable[[Path], None], card: str) -> None:
        """Write the trained checkpoint and its model card, replacing the earlier checkpoint.

        Parameters
        ----------
        save
            Writes the files of the checkpoint to an empty directory.

        Raises
        ------
        AdmiralError
            If it cannot be written; an earlier checkpoint is intact.
        """
        with staging(self.checkpoint, overwrite=True, owned=is_checkpoint) as folder:
            with as_os_errors():
                save(folder)
            write_sums(folder)
            readme = folder / "README.md"
            readme.write_text(card, "utf-8")
            for path in folder.iterdir():
                # safetensors makes its files readable by the owner only.
                path.chmod(readme.stat().st_mode)


def _step_of(line: bytes) -> float:
    """Return the step of a log record; infinity for a truncated or damaged line."""
    try:
        return float(json.loads(line)["step"]) if line.endswith(b"\n") else math.inf
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return math.inf


def push(checkpoint: Path, name: str, api: HfApi | None = None) -> None:
    """Upload a checkpoint directory with its model card to the repository `name`.

    A private repository is created if there is none. The token is that of ``hf auth login`` or the
    variable ``HF_TOKEN``.

    Raises
    ------
    AdmiralError
        If the upload fails. The local checkpoint is unchanged.
    """
    api = api or HfApi()
    try:
        api.create_repo(name, private=True, exist_ok=True)
        api.upload_folder(repo_id=name, folder_path=checkpoint, commit_message="Trained by AdMIRaL")
    except (HfHubHTTPError, HFValidationError, OfflineModeIsEnabled, OSError) as error:
        raise AdmiralError(
            f"key 'push_to_hub': {name!r} cannot be written ({first_line(error)}). The "
            f"checkpoint is in {checkpoint}; start the same command again to upload it."
        ) from error
