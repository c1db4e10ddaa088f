"""Uploading a trained checkpoint to the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path

from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

from admiral.errors import AdmiralError, first_line


def push(checkpoint: Path, name: str, api: HfApi | None = None) -> None:
    """Upload the directory of a checkpoint, its model card included, to the repository `name`.

    The repository is made, as a private one, where there is none. The token is the one that the
    library finds (``hf auth login``, or the variable ``HF_TOKEN``).

    Raises
    ------
    AdmiralError
        If that fails; the checkpoint on the disk is as it was.
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
