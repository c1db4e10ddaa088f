"""Build the bundled demonstration corpus into the user's cache on first use."""

from __future__ import annotations

import hashlib
import logging
from importlib.resources import as_file, files
from pathlib import Path

import platformdirs

from admiral.errors import AdmiralError
from admiral.kb.bm25 import check_backend
from admiral.kb.build import build
from admiral.kb.kb_paths import checked_kb_path
from admiral.kb.store.manifest import FORMAT_VERSION, read_manifest
from admiral.storage import DEMO
from admiral.storage.atomic_files import WriterLock
from admiral.storage.checksums import check_files

logger = logging.getLogger(__name__)


def locate(kb: str | Path | None) -> Path:
    """Return the directory of a knowledge base: that of the demo for None or ``demo``."""
    return demo_kb() if kb is None or str(kb) == DEMO else checked_kb_path(kb)


def demo_kb(bm25: str | None = None) -> Path:
    """Return the directory of the demo knowledge base, which is built on first use.

    It is built once for each corpus content, format version and backend. Several processes may call
    this at the same time. Without `bm25`, the backend is that of `default_backend`.
    """
    backend = bm25 or default_backend()
    with as_file(files("admiral") / "data" / "demo" / "documents.jsonl") as corpus:
        try:
            content = hashlib.sha256(corpus.read_bytes()).hexdigest()
        except OSError as error:
            raise AdmiralError(
                f"{corpus}: cannot be read ({error.strerror}). Install the package again."
            ) from error
        name = f"demo-v{FORMAT_VERSION}-{content[:16]}-{backend}"
        target = platformdirs.user_cache_path("admiral") / name
        if _usable(target):
            return target
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            lock_file = target.with_name(f"{name}.building")
            with WriterLock(lock_file, target, "building it", wait=True):
                # Another process may have built it while this one waited for the lock.
                if not _usable(target):
                    logger.info("building the demo knowledge base in %s", target)
                    build(corpus, target, bm25=backend, overwrite=True, progress=False)
        except OSError as error:
            raise AdmiralError(
                f"{target}: cannot be written ({error.strerror or error}). Set XDG_CACHE_HOME to a "
                "writable folder."
            ) from error
    return target


def default_backend() -> str:
    """Return ``lucene`` if it can run here, otherwise ``bm25s``."""
    try:
        check_backend("lucene")
    except AdmiralError:
        return "bm25s"
    return "lucene"


def _usable(directory: Path) -> bool:
    try:
        check_files(directory, read_manifest(directory).files)
    except AdmiralError:
        return False
    return True
