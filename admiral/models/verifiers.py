"""Open verifiers by the names of settings; what a kind needs is imported when it is opened."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.requirements import verifier_directory
from proofs.verifier import Reading, Sentence, Verifier, VerifierError
from proofs.verifier.exact_comparison import ExactVerifier

#: The name of a chat model behind an OpenAI-compatible endpoint.
OPENAI = "openai"
# Files that tell the kinds of directories apart.
_READER, _EXPORT = "reader.onnx", "verifier.onnx"
_HEADS, _CONFIG = "evidence_heads.safetensors", "config.json"
_CLASS = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


def open_verifier(
    name: str | Path, *, device: str = "cpu", threads: int = 1, chat: ChatSettings | None = None
) -> Verifier:
    """Open a verifier.

    - `name`: the directory of a verifier, exported or trained; that of a Hugging Face sequence
      classifier; ``module:Class``, a user's own class; or ``openai``, a chat model.
    - `device`: a device of torch. On ``cpu``, an export is preferred to a trained checkpoint in the
      same directory; an export without a checkpoint runs on the CPU in any case.
    - `chat`: which chat model is asked, for ``openai``.

    Raises `VerifierError` if it cannot be opened; with the file, the field and the remedy.
    """
    text = str(name)
    if text == OPENAI:
        if chat is None:
            raise VerifierError(
                "verifier 'openai': no model is named; give one by --verifier-model"
            )
        from proofs.verifier.chat_verifier import ChatVerifier

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


def load_custom(name: str) -> Verifier:
    """Return an instance of a user's class, which is called without arguments.

    `name`: module and class, as in ``package.module:Class``.

    Raises `VerifierError` if it cannot be imported or called, or has no method ``read``.
    """
    try:
        verifier: Verifier = resolve_name(name)()
    except Exception as error:  # whatever the module does when it is imported
        raise VerifierError(
            f"verifier {name!r}: cannot be imported and called ({type(error).__name__}: {error}); "
            "mend it, or correct the name"
        ) from error
    if not callable(getattr(verifier, "read", None)):
        raise VerifierError(
            f"verifier {name!r}: has no method read; write one as proofs.verifier.Verifier has"
        )
    return verifier


def _open_directory(directory: Path, device: str, threads: int) -> Verifier:
    if (directory / _READER).is_file():
        from proofs.reader.reading import open_reader

        return open_reader(directory, threads)
    is_checkpoint = (directory / _HEADS).is_file()
    if (directory / _EXPORT).is_file() and (device == "cpu" or not is_checkpoint):
        from proofs.verifier.evidence_verifier import open_export

        return open_export(directory, threads)
    if is_checkpoint:
        from proofs.verifier.classifier_verifier import open_checkpoint

        return open_checkpoint(directory, device)
    if (directory / _CONFIG).is_file():
        from proofs.verifier.classifier_verifier import ClassifierVerifier

        return ClassifierVerifier.open(directory, device=device)
    raise VerifierError(
        f"{directory}: holds no verifier; expected {_EXPORT}, or {_CONFIG} and model.safetensors"
    )


if TYPE_CHECKING:
    from proofs.verifier.chat_verifier import ChatSettings


def open_configured_verifier(config: RetrievalConfig) -> Verifier:
    """Open the verifier of the settings.

    Raises AdmiralError if it cannot be read; the message names the setting, the file and the
    remedy.
    """
    from admiral.models.checkpoint import choose_device

    chat = _chat_settings(config) if config.verifier == OPENAI else None
    threads = config.threads or len(os.sched_getaffinity(0))
    device = choose_device(config.device)
    return open_named_verifier(
        config.verifier, "setting 'verifier'", device=device, threads=threads, chat=chat
    )


def open_named_verifier(
    name: str,
    where: str = "verifier",
    *,
    device: str = "cpu",
    threads: int = 1,
    chat: ChatSettings | None = None,
) -> Verifier:
    """Open a verifier by name, with exact reasoning beside a model in a directory.

    `name`: that of a bundled one, or one that `admiral.models.verifiers.open_verifier` knows.
    `where`: the setting or option that names it, for errors. `device`, `threads`, `chat`: as for
    `open_verifier`. Raises AdmiralError if it cannot be read; the message names the setting, the
    file and the remedy.
    """
    directory = verifier_directory(name)
    try:
        verifier = open_verifier(str(directory), device=device, threads=threads, chat=chat)
    except VerifierError as error:
        raise AdmiralError(f"{where}: {error}") from error
    reported = ReportingVerifier(verifier, where)
    return ExactVerifier(reported) if directory.is_dir() else reported


class ReportingVerifier:
    """Reads as a verifier does; says in which setting one is named that fails."""

    def __init__(self, verifier: Verifier, where: str) -> None:
        self._verifier, self._where = verifier, where

    def read(self, claims: Sequence[str], evidences: Sequence[Sequence[Sentence]]) -> list[Reading]:
        """Return what the verifier says.

        Raises AdmiralError if it fails, such as a server that does not answer.
        """
        try:
            return self._verifier.read(claims, evidences)
        except VerifierError as error:
            raise AdmiralError(f"{self._where}: {error}") from error


def _chat_settings(config: RetrievalConfig) -> ChatSettings:
    from proofs.verifier.chat_verifier import DEFAULT_ADDRESS, ChatSettings

    if not config.verifier_model:
        raise AdmiralError("setting 'verifier_model': is empty; name the model that is asked")
    key = os.environ.get("OPENAI_API_KEY", "")
    if not key and not config.base_url:
        raise AdmiralError(
            "setting 'verifier': the variable OPENAI_API_KEY is not set; export the key, or give "
            "the address of another server as the setting 'base_url'"
        )
    return ChatSettings(config.verifier_model, key or "none", config.base_url or DEFAULT_ADDRESS)
