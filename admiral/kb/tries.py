"""Token tries of the titles, one for each tokenizer, built at the first use and kept.

A trie lives in ``tries/<tokenizer fingerprint>/`` of its knowledge base, or in the user's cache
where the knowledge base is read-only. A small manifest beside its arrays ties it to one build of
the knowledge base.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from admiral.errors import AdmiralError
from admiral.kb.durable import staging
from admiral.kb.manifest import Manifest, describe_files

if TYPE_CHECKING:
    from trie import Tokens, TokenTrie

logger = logging.getLogger(__name__)

FOLDER = "tries"
_NAME = "trie.json"
_FORMAT_VERSION = 2
_BATCH = 8192


def title_trie(
    kb_path: Path, manifest: Manifest, titles: Callable[[], Iterator[str]], tokens: Tokens
) -> TokenTrie:
    """Open the trie of a knowledge base's titles for a tokenizer, or build and keep it.

    Tokens and rows are checked where decoding first reads them: see `trie.TokenTrie`.
    """
    from trie import TokenTrie

    places = [kb_path / FOLDER, _cache() / FOLDER / manifest.digest[:32]]
    name = _folder_name(tokens.fingerprint)
    for place in places:
        if is_trie_of(place / name, manifest, tokens.fingerprint):
            try:
                return TokenTrie.open(place / name)
            except ValueError as error:
                logger.warning("%s: cannot be used (%s), built again", place / name, error)
    if not os.access(kb_path, os.W_OK):
        del places[0]
    for place in places:
        try:
            return _build(place / name, manifest, titles, tokens)
        except AdmiralError as error:
            logger.warning("the trie cannot be kept: %s", error)
    return TokenTrie.build(_sequences(titles(), tokens))


def is_trie_of(directory: Path, manifest: Manifest, fingerprint: str | None = None) -> bool:
    """Whether a complete trie of this build (and this tokenizer) is there."""
    try:
        value = json.loads((directory / _NAME).read_bytes())
        sizes = {name: (directory / name).stat().st_size for name in value["files"]}
        return (
            value["version"] == _FORMAT_VERSION
            and value["knowledge_base"] == manifest.digest
            and fingerprint in (None, value["tokenizer"])
            and sizes == {name: entry["size"] for name, entry in value["files"].items()}
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def trie_problems(directory: Path, manifest: Manifest) -> list[str]:
    """Check one trie directory thoroughly; return what is wrong with it."""
    from trie import TokenTrie

    remedy = f"Delete {directory}; it is built again when it is needed."
    if not is_trie_of(directory, manifest):
        return [f"{directory}: not a complete trie of this knowledge base. {remedy}"]
    listed = json.loads((directory / _NAME).read_bytes())["files"]
    found = _listing(directory)
    wrong = [f"{directory / n}: changed. {remedy}" for n in listed if found.get(n) != listed[n]]
    wrong += [f"{directory / n}: does not belong there." for n in found if n not in listed]
    if not wrong:
        try:
            TokenTrie.open(directory).check()
        except ValueError as error:
            wrong.append(f"{directory}: {error}. {remedy}")
    return wrong


def _build(
    directory: Path, manifest: Manifest, titles: Callable[[], Iterator[str]], tokens: Tokens
) -> TokenTrie:
    from trie import TokenTrie

    # Another process may be building the same one: wait for it, then build over it. It is rare,
    # costs seconds, and the result is the same.
    with staging(directory, overwrite=True, owned=_is_trie, wait=True) as temporary:
        TokenTrie.build(_sequences(titles(), tokens)).save(temporary)
        value = {
            "version": _FORMAT_VERSION,
            "knowledge_base": manifest.digest,
            "tokenizer": tokens.fingerprint,
            "files": _listing(temporary),
        }
        (temporary / _NAME).write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    return TokenTrie.open(directory)


def _sequences(titles: Iterator[str], tokens: Tokens) -> Iterator[list[int]]:
    while batch := list(islice(titles, _BATCH)):
        yield from tokens.encode_batch(batch)


def _listing(directory: Path) -> dict[str, dict[str, Any]]:
    return {
        name: {"size": entry.size, "sha256": entry.sha256}
        for name, entry in describe_files(directory).items()
        if name != _NAME
    }


def _is_trie(directory: Path) -> bool:
    return (directory / _NAME).is_file()


def _folder_name(fingerprint: str) -> str:
    if not re.fullmatch(r"[0-9A-Za-z_-]{1,64}", fingerprint):
        raise ValueError(f"unusable tokenizer fingerprint {fingerprint!r}")
    return fingerprint


def _cache() -> Path:
    return platformdirs.user_cache_path("admiral")
