"""Token tries of the titles, one for each tokenizer, built at the first use and kept.

What is kept is the trie of the base's titles, in ``tries/<tokenizer fingerprint>/`` beside them, or
in the user's cache where the knowledge base is read-only. A small manifest beside its arrays ties
it to the base. What has changed since is applied to it in memory: milliseconds, while only a reader
knows the tokenizer of the added titles. A joined knowledge base has a trie of the titles of all
bases in a folder ``tries`` of its own; what has changed in a member is applied in the same way.
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
from admiral.kb.tries.trie_rows import Layout
from admiral.storage.atomic_directories import staging
from admiral.storage.checksums import describe_files

if TYPE_CHECKING:
    from admiral.kb.store.collection import Collection
    from admiral.kb.store.contents import Contents
    from trie import Tokens, TokenTrie, Trie

logger = logging.getLogger(__name__)

FOLDER = "tries"
_NAME = "trie.json"
_FORMAT_VERSION = 2
_BATCH = 8192


def title_trie(collection: Collection, contents: Contents, tokens: Tokens) -> Trie:
    """Return the trie of all titles for a tokenizer; rows are those of `contents`."""
    layout = Layout(contents, lambda titles: _sequences(titles, tokens))
    home = collection.trie_folder, collection.holdings.base_digest
    trie = _kept(*home, tokens)
    if trie is not None:
        try:
            return layout.updated(trie)
        except ValueError as error:  # damaged in what is not checked before it is read
            logger.warning("the trie cannot be used (%s), built again", error)
    return layout.updated(_made(*home, layout.base_titles, tokens))


def _places(directory: Path, digest: str, tokens: Tokens) -> list[Path]:
    """Return where the trie of bases may be: in a directory, or in the user's cache."""
    name = _folder_name(tokens.fingerprint)
    return [directory / FOLDER / name, user_cache() / FOLDER / digest[:32] / name]


def _kept(directory: Path, digest: str, tokens: Tokens) -> TokenTrie | None:
    """Open the trie of the bases of this digest, if one is kept.

    Tokens and rows are checked where decoding first reads them: see `trie.TokenTrie`.
    """
    for place in _places(directory, digest, tokens):
        try:
            if (trie := _opened(place, digest, tokens)) is not None:
                return trie
        except ValueError as error:
            logger.warning("%s: cannot be used (%s), built again", place, error)
    return None


def _opened(place: Path, digest: str, tokens: Tokens) -> TokenTrie | None:
    """Open the trie of the bases of this digest; None if another one, or none, is there."""
    from trie import TokenTrie

    if not is_trie_of(place, digest, tokens.fingerprint):
        return None
    trie = TokenTrie.open(place)
    # Readers of other versions of a joined knowledge base may have put theirs there meanwhile.
    return trie if is_trie_of(place, digest, tokens.fingerprint) else None


def _made(
    directory: Path, digest: str, titles: Callable[[], Iterator[str]], tokens: Tokens
) -> TokenTrie:
    """Build the trie of the bases, and keep it where that can be."""
    from trie import TokenTrie

    places = _places(directory, digest, tokens)
    if not os.access(directory, os.W_OK):
        del places[0]
    for place in places:
        try:
            _build(place, digest, titles, tokens)
            if (trie := _opened(place, digest, tokens)) is not None:
                return trie
        except AdmiralError as error:
            logger.warning("the trie cannot be kept: %s", error)
    return TokenTrie.build(_sequences(titles(), tokens))


def is_trie_of(directory: Path, digest: str | None, fingerprint: str | None = None) -> bool:
    """Whether a complete trie of the bases of this digest (and this tokenizer) is there.

    None stands for any.
    """
    try:
        value = json.loads((directory / _NAME).read_bytes())
        sizes = {name: (directory / name).stat().st_size for name in value["files"]}
        return (
            value["version"] == _FORMAT_VERSION
            and digest in (None, value["knowledge_base"])
            and fingerprint in (None, value["tokenizer"])
            and sizes == {name: entry["size"] for name, entry in value["files"].items()}
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def tries_problems(directory: Path, digest: str | None) -> list[str]:
    """Check all tries that are kept in a directory; return what is wrong with them.

    They must be of the bases of this digest; None stands for any.
    """
    places = sorted((directory / FOLDER).iterdir()) if (directory / FOLDER).is_dir() else []
    found = [_trie_problems(place, digest) for place in places if not place.name.startswith(".")]
    return [problem for problems in found for problem in problems]


def _trie_problems(directory: Path, digest: str | None) -> list[str]:
    """Check one trie directory thoroughly; return what is wrong with it."""
    from trie import TokenTrie

    remedy = f"Delete {directory}; it is built again when it is needed."
    if not is_trie_of(directory, digest):
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
    directory: Path, digest: str, titles: Callable[[], Iterator[str]], tokens: Tokens
) -> None:
    from trie import TokenTrie

    # Another process may be building the same one: wait for it, then build over it. It is rare,
    # costs seconds, and the result is the same.
    with staging(directory, overwrite=True, owned=_is_trie, wait=True) as temporary:
        TokenTrie.build(_sequences(titles(), tokens)).save(temporary)
        value = {
            "version": _FORMAT_VERSION,
            "knowledge_base": digest,
            "tokenizer": tokens.fingerprint,
            "files": _listing(temporary),
        }
        (temporary / _NAME).write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


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


def user_cache() -> Path:
    """Return where is kept what cannot lie in a knowledge base."""
    return platformdirs.user_cache_path("admiral")
