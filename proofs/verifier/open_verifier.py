"""Opens verifiers of all kinds by their names; what a kind needs is imported when it is opened."""

from __future__ import annotations

import re
from pathlib import Path

from proofs.verifier.chat_verifier import ChatSettings, ChatVerifier
from proofs.verifier.custom_verifier import load_custom
from proofs.verifier.reading import Verifier, VerifierError

#: The name of a chat model behind an OpenAI-compatible endpoint.
OPENAI = "openai"
# Files that tell the kinds of directories apart.
_EXPORT, _HEADS, _CONFIG = "verifier.onnx", "evidence_heads.safetensors", "config.json"
_CLASS = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


def open_verifier(
    name: str | Path, *, device: str = "cpu", threads: int = 1, chat: ChatSettings | None = None
) -> Verifier:
    """Open a verifier.

    Parameters
    ----------
    name
        The directory of a verifier, exported or trained; that of a Hugging Face sequence
        classifier; ``module:Class``, a user's own class; or ``openai``, a chat model.
    device
        A device of torch. On ``cpu``, an export is preferred to a trained checkpoint in the same
        directory; an export without a checkpoint runs on the CPU in any case.
    threads
        Number of threads of an exported verifier.
    chat
        Which chat model is asked, for ``openai``.

    Raises
    ------
    VerifierError
        If it cannot be opened; with the file, the field and the remedy.
    """
    text = str(name)
    if text == OPENAI:
        if chat is None:
            raise VerifierError(
                "verifier 'openai': no model is named; give one by --verifier-model"
            )
        return ChatVerifier(chat)
    directory = Path(name)
    if directory.is_dir():
        try:
            return _open_directory(directory, device, threads)
        except VerifierError:
            raise
        except ValueError as error:
            raise VerifierError(str(error)) from error
    if _CLASS.fullmatch(text):
        return load_custom(text)
    raise VerifierError(
        f"verifier {text!r}: no such directory; give that of a verifier or of a Hugging Face "
        f"sequence classifier, a class as module:Class, or {OPENAI}"
    )


def _open_directory(directory: Path, device: str, threads: int) -> Verifier:
    is_checkpoint = (directory / _HEADS).is_file()
    if (directory / _EXPORT).is_file() and (device == "cpu" or not is_checkpoint):
        from proofs.verifier.exported_verifier import open_export

        return open_export(directory, threads)
    if is_checkpoint:
        from proofs.verifier.torch_backend import open_checkpoint

        return open_checkpoint(directory, device)
    if (directory / _CONFIG).is_file():
        from proofs.verifier.classifier_verifier import ClassifierVerifier

        return ClassifierVerifier.open(directory, device=device)
    raise VerifierError(
        f"{directory}: holds no verifier; expected {_EXPORT}, or {_CONFIG} and model.safetensors"
    )
