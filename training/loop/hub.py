"""Upload a trained checkpoint to the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path

from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

from admiral.errors import AdmiralError, first_line


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
