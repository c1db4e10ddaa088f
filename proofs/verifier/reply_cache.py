"""Replies of chat models on disk, so that nothing is paid for twice: texts in an SQLite file."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

from proofs.verifier.reading import VerifierError

# Seconds that a process waits while another one writes.
_PATIENCE = 30.0


class ReplyCache:
    """Keeps the reply to each question; several threads and processes may share a file.

    Parameters
    ----------
    path
        The file, which is created with its folder if it does not exist.

    Raises
    ------
    VerifierError
        If it cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, timeout=_PATIENCE, check_same_thread=False)
            with self._database as database:
                database.execute(
                    "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)"
                )
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from None

    def get(self, key: str) -> str | None:
        """Return the reply to the question with a key, if it is there."""
        try:
            with self._lock:
                row = self._database.execute(
                    "SELECT reply FROM replies WHERE key = ?", (key,)
                ).fetchone()
        except sqlite3.Error as error:
            raise self._unusable(error) from None
        return str(row[0]) if row else None

    def put(self, key: str, reply: str) -> None:
        """Keep the reply to the question with a key."""
        try:
            with self._lock, self._database as database:
                database.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", (key, reply))
        except sqlite3.Error as error:
            raise self._unusable(error) from None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def _unusable(self, error: Exception) -> VerifierError:
        return VerifierError(
            f"{self._path}: cannot be used as a cache of replies ({error}); delete it or give "
            "another file"
        )


def reply_key(address: str, model: str, messages: Sequence[dict[str, str]]) -> str:
    """Return the key of a question to a model at an address."""
    question = json.dumps([address, model, list(messages)])
    return hashlib.sha256(question.encode("ascii")).hexdigest()
