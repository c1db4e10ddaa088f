"""Token tries of the titles: one per tokenizer, built on first use and kept on disk.

The trie on disk covers the titles of the base segment. It lies in
``tries/<tokenizer fingerprint>/`` of the knowledge base, or in the user's cache if the knowledge
base is read-only. A small manifest beside its arrays ties it to that base segment. Later changes
are applied in memory, which takes milliseconds. A joined knowledge base has one trie of the titles
of all base segments in its own ``tries`` folder; changes of its members are applied in memory too.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import platformdirs

from admiral.errors import AdmiralError
from admiral.storage.atomic_directories import staging
from admiral.storage.checksums import describe_files

if TYPE_CHECKING:
    from admiral.kb.store.collection import Collection
    from admiral.kb.store.contents import Contents
    from trie import SafeTokenizer, TokenTrie, Trie

logger = logging.getLogger(__name__)

FOLDER = "tries"
_NAME = "trie.json"
_FORMAT_VERSION = 3
_BATCH_SIZE = 8192


def title_trie(collection: Collection, contents: Contents, tokens: SafeTokenizer) -> Trie:
    """Return the trie of all titles for a tokenizer; its rows are the rows of `contents`."""
    home = collection.trie_folder, collection.manifest.base_digest
    trie = _load_trie(*home, tokens)
    if trie is None:
        trie = _build_trie(*home, lambda: _base_titles(contents), tokens)
    return _apply_changes(trie, contents, tokens)


def _base_titles(contents: Contents) -> Iterator[str]:
    """Yield the titles of all base segments, including rows removed since."""
    pairs = zip(contents.segments, contents.stores, strict=True)
    return chain.from_iterable(store.titles() for segment, store in pairs if segment.is_base)


def _apply_changes(trie: TokenTrie, contents: Contents, tokens: SafeTokenizer) -> Trie:
    """Return the trie of the current titles, given the trie of the base segments.

    The rows of `trie` are those of all base segments, one after the other. The rows of the delta
    segments are appended, so a delta can change without a new trie of the bases. Finally, trie rows
    are mapped to rows of `contents`, where the delta of each member follows its own base.
    """
    from trie import RenumberedTrie, UpdatedTrie

    pairs = list(zip(contents.segments, contents.stores, strict=True))
    bases = [segment for segment, _ in pairs if segment.is_base]
    deltas = [(segment, store) for segment, store in pairs if not segment.is_base]
    removed = _removed_trie_rows(contents)
    current: TokenTrie | UpdatedTrie = trie
    if removed or deltas:
        titles = chain.from_iterable(store.titles() for _, store in deltas)
        current = UpdatedTrie(trie, _token_sequences(titles, tokens), removed)
    segments = [*bases, *(segment for segment, _ in deltas)]
    trie_starts = np.cumsum([0, *(segment.documents for segment in segments[:-1])])
    row_starts = np.array([segment.first for segment in segments])
    if np.array_equal(trie_starts, row_starts) and not contents.hidden.size:
        return current
    return RenumberedTrie(current, trie_starts, row_starts, contents.hidden)


def _removed_trie_rows(contents: Contents) -> list[int]:
    """Return the trie rows of removed base documents; hidden documents stay in the trie."""
    removed = np.setdiff1d(contents.removed, contents.hidden, assume_unique=True)
    rows, start = [], 0
    for segment in contents.segments:
        if segment.is_base:
            low, high = removed.searchsorted([segment.first, segment.first + segment.documents])
            rows += (removed[low:high] - segment.first + start).tolist()
            start += segment.documents
    return rows


def _places(directory: Path, digest: str, tokens: SafeTokenizer) -> list[Path]:
    """Return the folders where a trie may be: in the knowledge base, then in the user's cache."""
    name = _folder_name(tokens.fingerprint)
    return [directory / FOLDER / name, user_cache() / FOLDER / digest[:32] / name]


def _load_trie(directory: Path, digest: str, tokens: SafeTokenizer) -> TokenTrie | None:
    """Open the stored trie of the base segments with this digest, if there is one."""
    for place in _places(directory, digest, tokens):
        try:
            if (trie := _open_trie(place, digest, tokens)) is not None:
                return trie
        except ValueError as error:
            logger.warning("%s: damaged (%s), built again", place, error)
    return None


def _open_trie(place: Path, digest: str, tokens: SafeTokenizer) -> TokenTrie | None:
    from trie import TokenTrie

    if not is_trie_of(place, digest, tokens.fingerprint):
        return None
    trie = TokenTrie.open(place)
    # A reader of another version of a joined knowledge base may have replaced it meanwhile.
    return trie if is_trie_of(place, digest, tokens.fingerprint) else None


def _build_trie(
    directory: Path, digest: str, titles: Callable[[], Iterator[str]], tokens: SafeTokenizer
) -> TokenTrie:
    from trie import TokenTrie

    places = _places(directory, digest, tokens)
    if not os.access(directory, os.W_OK):
        del places[0]
    for place in places:
        try:
            _write_trie(place, digest, titles, tokens)
            if (trie := _open_trie(place, digest, tokens)) is not None:
                return trie
        except AdmiralError as error:
            logger.warning("the trie cannot be stored: %s", error)
    return TokenTrie.build(_token_sequences(titles(), tokens))


def _write_trie(
    directory: Path, digest: str, titles: Callable[[], Iterator[str]], tokens: SafeTokenizer
) -> None:
    from trie import TokenTrie

    # If another process is building the same trie, wait and build over it: this is rare, costs
    # seconds, and gives the same result.
    with staging(directory, overwrite=True, owned=_is_trie, wait=True) as temporary:
        TokenTrie.build(_token_sequences(titles(), tokens)).save(temporary)
        value = {
            "version": _FORMAT_VERSION,
            "knowledge_base": digest,
            "tokenizer": tokens.fingerprint,
            "files": _file_entries(temporary),
        }
        (temporary / _NAME).write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def is_trie_of(directory: Path, digest: str | None, fingerprint: str | None = None) -> bool:
    """Return whether a directory holds a complete trie of this digest and tokenizer.

    `digest`: digest of the base segments; None accepts any. `fingerprint`: fingerprint of the
    tokenizer; None accepts any.
    """
    try:
        value = _read_manifest(directory)
        sizes = {name: (directory / name).stat().st_size for name in value["files"]}
        return (
            value["version"] == _FORMAT_VERSION
            and digest in (None, value["knowledge_base"])
            and fingerprint in (None, value["tokenizer"])
            and sizes == {name: entry["size"] for name, entry in value["files"].items()}
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _read_manifest(directory: Path) -> Any:
    return json.loads((directory / _NAME).read_bytes())


def trie_problems(directory: Path, digest: str | None) -> list[str]:
    """Check all tries stored in a directory and return one message per problem.

    Tries of earlier format versions are not looked at: they are not read but built again.
    `directory`: the folder that contains ``tries/``. `digest`: digest that the tries must belong
    to; None accepts any.
    """
    places = sorted((directory / FOLDER).iterdir()) if (directory / FOLDER).is_dir() else []
    checked = [_check_trie(place, digest) for place in places if not place.name.startswith(".")]
    return [problem for problems in checked for problem in problems]


def _check_trie(directory: Path, digest: str | None) -> list[str]:
    from trie import TokenTrie

    if _is_older(directory):
        return []
    remedy = f"Delete {directory}; it is built again when it is needed."
    if not is_trie_of(directory, digest):
        return [f"{directory}: not a complete trie of this knowledge base. {remedy}"]
    listed = _read_manifest(directory)["files"]
    files = _file_entries(directory)
    problems = [f"{directory / n}: changed. {remedy}" for n in listed if files.get(n) != listed[n]]
    problems += [f"{directory / n}: does not belong there." for n in files if n not in listed]
    if not problems:
        try:
            TokenTrie.open(directory)
        except ValueError as error:
            problems.append(f"{directory}: {error}. {remedy}")
    return problems


def _is_older(directory: Path) -> bool:
    try:
        return bool(_read_manifest(directory)["version"] < _FORMAT_VERSION)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _token_sequences(titles: Iterator[str], tokens: SafeTokenizer) -> Iterator[list[int]]:
    while batch := list(islice(titles, _BATCH_SIZE)):
        yield from tokens.encode_batch(batch)


def _file_entries(directory: Path) -> dict[str, dict[str, Any]]:
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
    """Return the user's cache folder, for data that a read-only knowledge base cannot hold."""
    return platformdirs.user_cache_path("admiral")
