"""Open the verifiers that settings and options name."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence

import platformdirs

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.models.checkpoint import choose_device
from admiral.storage import verifier_directory
from proofs.verifier.chat_verifier import DEFAULT_ADDRESS, ChatSettings, ChatVerifier
from proofs.verifier.exact.exact_comparison import ExactVerifier
from proofs.verifier.open_verifier import OPENAI, open_verifier
from proofs.verifier.reading import Reading, Sentence, Verifier, VerifierError

logger = logging.getLogger(__name__)


def open_configured_verifier(config: RetrievalConfig) -> Verifier:
    """Open the verifier of the settings.

    Raises AdmiralError if it cannot be read; the message names the setting, the file and the
    remedy.
    """
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

    `name`: ``mini-verifier``, or a name that `proofs.verifier.open_verifier.open_verifier` knows.
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
    """Reads as a verifier does; says in which setting one is named that fails, and what it cost."""

    def __init__(self, verifier: Verifier, where: str) -> None:
        self._verifier, self._where = verifier, where

    def read(self, claims: Sequence[str], evidences: Sequence[Sequence[Sentence]]) -> list[Reading]:
        """Return what the verifier says.

        Raises AdmiralError if it fails, such as a server that does not answer.
        """
        try:
            readings = self._verifier.read(claims, evidences)
        except VerifierError as error:
            raise AdmiralError(f"{self._where}: {error}") from error
        if isinstance(self._verifier, ChatVerifier):
            logger.info("%s", self._verifier.usage)
        return readings


def _chat_settings(config: RetrievalConfig) -> ChatSettings:
    if not config.verifier_model:
        raise AdmiralError("setting 'verifier_model': is empty; name the model that is asked")
    key = os.environ.get("OPENAI_API_KEY", "")
    if not key and not config.base_url:
        raise AdmiralError(
            "setting 'verifier': the variable OPENAI_API_KEY is not set; export the key, or give "
            "the address of another server as the setting 'base_url'"
        )
    prices = None
    if config.verifier_prices:
        try:
            question, reply = map(float, config.verifier_prices.split(","))
        except ValueError:
            raise AdmiralError(
                f"setting 'verifier_prices': {config.verifier_prices!r} is not two numbers, such "
                "as 0.15,0.60"
            ) from None
        prices = (question, reply)
    cache = platformdirs.user_cache_path("admiral") / "verifier-replies.sqlite"
    cache.parent.mkdir(parents=True, exist_ok=True)
    return ChatSettings(
        config.verifier_model,
        key or "none",
        config.base_url or DEFAULT_ADDRESS,
        cache=cache,
        prices=prices,
    )
