"""The titles of a knowledge base: an index from titles to rows and back, and tries of their tokens.

A marisa trie numbers the titles in its own order (their keys). ``titles-rows.npy`` maps a key to
its row, ``titles-keys.npy`` a row to its key. All files are memory-mapped. ``titles-forms.marisa``
holds the matching forms of the titles that differ from theirs; knowledge bases of early releases
have none. ``ids.marisa`` has the row of each id, if documents have ids.

There is one token trie per tokenizer, built on first use and kept on disk. It covers the titles of
the base segment, and lies in ``tries/<tokenizer fingerprint>/`` of the knowledge base, or in the
user's cache if the knowledge base is read-only. A small manifest beside its arrays ties it to that
base segment. Later changes are applied in memory, which takes milliseconds.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import marisa_trie
import numpy as np
import platformdirs

from admiral.errors import AdmiralError
from admiral.io.text_cleaning import matching_form
from admiral.storage.atomic_files import damaged_error, describe_files, staging
from trie.token_trie import open_array

if TYPE_CHECKING:
    from admiral.kb.store.contents import Contents
    from admiral.kb.store.snapshot import Snapshot
    from trie import SafeTokenizer, TokenTrie, Trie


TRIE, ROWS, KEYS = "titles.marisa", "titles-rows.npy", "titles-keys.npy"
FORMS, IDS = "titles-forms.marisa", "ids.marisa"
_ROW = "<I"


def write_titles(
    directory: Path, titles: Callable[[], Iterator[str]], ids: Iterable[str] = ()
) -> None:
    """Write the index of distinct titles, and of ids, some of which may be empty.

    `titles` returns an iterator of them in the order of rows, and is called several times.
    """
    # In label order, completions come in alphabetical order without a sort.
    trie = marisa_trie.Trie(titles(), order=marisa_trie.LABEL_ORDER)
    keys = np.fromiter((trie[title] for title in titles()), np.uint32)
    rows = np.empty_like(keys)
    rows[keys] = np.arange(len(keys), dtype=np.uint32)
    (directory / TRIE).write_bytes(trie.tobytes())
    np.save(directory / ROWS, rows, allow_pickle=False)
    np.save(directory / KEYS, keys, allow_pickle=False)
    forms = (
        (form, (row,))
        for row, title in enumerate(titles())
        if (form := matching_form(title)) != title
    )
    trie_of_forms = marisa_trie.RecordTrie(_ROW, forms)
    (directory / FORMS).write_bytes(trie_of_forms.tobytes())
    rows_of_ids = marisa_trie.RecordTrie(_ROW, ((id, (n,)) for n, id in enumerate(ids) if id))
    if len(rows_of_ids):
        (directory / IDS).write_bytes(rows_of_ids.tobytes())


def _record_trie(path: Path) -> marisa_trie.RecordTrie:
    trie = marisa_trie.RecordTrie(_ROW)
    if path.is_file():
        trie.mmap(str(path))
    return trie


class TitleIndex:
    """Titles of a directory by row, and rows by title.

    `write_titles` wrote in `directory`. Raises AdmiralError if the files cannot be read or do not
    fit together.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / TRIE
        try:
            self._trie = marisa_trie.Trie().mmap(str(self._path))
            # Plain views of the maps: reading an element of a memmap takes ten times as long.
            self._rows = np.asarray(open_array(directory / ROWS))
            self._keys = np.asarray(open_array(directory / KEYS))
            self._forms, self._ids = (_record_trie(directory / name) for name in (FORMS, IDS))
        except (RuntimeError, OSError, ValueError) as error:
            raise damaged_error(self._path, error) from error
        shapes = {self._rows.shape, self._keys.shape}
        if shapes != {(len(self._trie),)} or {self._rows.dtype, self._keys.dtype} != {
            np.dtype(np.uint32)
        }:
            raise damaged_error(self._path, "its files do not fit together")

    def __len__(self) -> int:
        return len(self._trie)

    @property
    def permutations(self) -> tuple[np.ndarray, np.ndarray]:
        """Key to row, and row to key: two inverse permutations, uint32, (titles,)."""
        return self._rows, self._keys

    def row(self, title: str) -> int | None:
        """Return the row of a cleaned title, or None."""
        key = self._trie.get(title)
        return None if key is None else int(self._rows[key])

    def row_of_id(self, id: str) -> int | None:
        """Return the row of an id, or None."""
        return next((row for (row,) in self._ids.get(id, [])), None)

    def rows_of_form(self, form: str) -> list[int]:
        """Return the rows of the titles that differ from their matching form, which is `form`."""
        return sorted(row for (row,) in self._forms.get(form, []))

    def complete_form(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield the titles that differ from their matching form, which begins with `prefix`."""
        for _, (row,) in self._forms.iteritems(prefix):
            yield self.title(row), row

    def title(self, row: int) -> str:
        """Return the title of a row; IndexError if there is no such row."""
        if not 0 <= row < len(self._keys):
            raise IndexError(f"row {row} of {len(self._keys)}")
        try:
            return str(self._trie.restore_key(int(self._keys[row])))
        except (KeyError, OverflowError, UnicodeDecodeError) as error:
            raise damaged_error(self._path, error) from error

    def complete(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield the titles that begin with `prefix` and their rows, in code point order."""
        try:
            for title, key in self._trie.iteritems(prefix):
                yield title, int(self._rows[key])
        except UnicodeDecodeError as error:
            raise damaged_error(self._path, error) from error


logger = logging.getLogger(__name__)

FOLDER = "tries"
_NAME = "trie.json"
_FORMAT_VERSION = 3
_BATCH_SIZE = 8192


def title_trie(snapshot: Snapshot, contents: Contents, tokens: SafeTokenizer) -> Trie:
    """Return the trie of all titles for a tokenizer; its rows are the rows of `contents`."""
    from trie import UpdatedTrie

    home = snapshot.base, snapshot.manifest.base.digest
    trie = _load_trie(*home, tokens)
    if trie is None:
        trie = _build_trie(*home, contents.stores[0].titles, tokens)
    deltas = contents.stores[1:]
    if not deltas and not contents.removed.size:
        return trie
    titles = chain.from_iterable(store.titles() for store in deltas)
    return UpdatedTrie(trie, _token_sequences(titles, tokens), contents.removed.tolist())


def _places(directory: Path, digest: str, tokens: SafeTokenizer) -> list[Path]:
    """Return the folders where a trie may be: in the knowledge base, then in the user's cache."""
    name = _folder_name(tokens.fingerprint)
    return [directory / FOLDER / name, user_cache() / FOLDER / digest[:32] / name]


def _load_trie(directory: Path, digest: str, tokens: SafeTokenizer) -> TokenTrie | None:
    """Open the stored trie of the base segment with this digest, if there is one."""
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
    return TokenTrie.open(place)


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


def is_trie_of(directory: Path, digest: str, fingerprint: str | None = None) -> bool:
    """Return whether a directory holds a complete trie of a base segment with this digest.

    `fingerprint`: fingerprint of the tokenizer; None accepts any.
    """
    try:
        value = _read_manifest(directory)
        sizes = {name: (directory / name).stat().st_size for name in value["files"]}
        return (
            value["version"] == _FORMAT_VERSION
            and digest == value["knowledge_base"]
            and fingerprint in (None, value["tokenizer"])
            and sizes == {name: entry["size"] for name, entry in value["files"].items()}
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _read_manifest(directory: Path) -> Any:
    return json.loads((directory / _NAME).read_bytes())


def trie_problems(directory: Path, digest: str) -> list[str]:
    """Check all tries stored in a directory and return one message per problem.

    Tries of earlier format versions are not looked at: they are not read but built again.
    `directory`: the folder that contains ``tries/``. `digest`: that of the base segment.
    """
    places = sorted((directory / FOLDER).iterdir()) if (directory / FOLDER).is_dir() else []
    checked = [_check_trie(place, digest) for place in places if not place.name.startswith(".")]
    return [problem for problems in checked for problem in problems]


def _check_trie(directory: Path, digest: str) -> list[str]:
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
