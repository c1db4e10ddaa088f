"""The titles of a version: an index from titles to rows, and tries of their tokens.

A marisa trie numbers the titles in its own order. ``titles-rows.npy`` has the row of each number;
``forms.marisa`` has the rows of titles by their matching forms, where these differ. All files are
memory-mapped.

There is one token trie per tokenizer, in which the sequences have the numbers of their titles. It
is built when a model first needs it and kept in ``tries/<tokenizer fingerprint>/``, with the titles
that it is of. For another version, only the titles that these lack are tokenised.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import marisa_trie
import numpy as np
import platformdirs

from admiral.kb.store import Store, damaged_error
from trie.token_trie import open_array

if TYPE_CHECKING:
    from trie import SafeTokenizer, TokenTrie

logger = logging.getLogger(__name__)

TITLES, ROWS, FORMS = "titles.marisa", "titles-rows.npy", "forms.marisa"
TRIES = "tries"
ROW_FORMAT = "<I"
_META = "version.json"
_BATCH_SIZE = 8192


def write_titles(folder: Path, store: Store) -> None:
    """Write the index of the titles of a store."""
    titles = store.all("SELECT title, row FROM documents ORDER BY title")
    # In label order, completions come in alphabetical order without a sort.
    trie = marisa_trie.Trie((title for title, _ in titles), order=marisa_trie.LABEL_ORDER)
    rows = np.empty(len(titles), np.uint32)
    rows[[trie[title] for title, _ in titles]] = [row for _, row in titles]
    (folder / TITLES).write_bytes(trie.tobytes())
    np.save(folder / ROWS, rows, allow_pickle=False)
    forms = store.all("SELECT form, row FROM documents WHERE form IS NOT NULL")
    write_rows(folder / FORMS, forms)


def write_rows(path: Path, names: list[tuple[str, int]]) -> None:
    """Write the rows of names, which may be those of several documents."""
    trie = marisa_trie.RecordTrie(ROW_FORMAT, ((name, (row,)) for name, row in names))
    path.write_bytes(trie.tobytes())


def open_rows(path: Path) -> marisa_trie.RecordTrie:
    """Open what `write_rows` wrote, memory-mapped; AdmiralError if it cannot be read."""
    try:
        return marisa_trie.RecordTrie(ROW_FORMAT).mmap(str(path))
    except (RuntimeError, OSError) as error:
        raise damaged_error(path, error) from error


class TitleIndex:
    """Rows by title and titles by number.

    `write_titles` wrote in `folder`. `forms`: rows by the matching forms that differ from titles.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / TITLES
        try:
            self._trie = marisa_trie.Trie().mmap(str(self._path))
        except (RuntimeError, OSError) as error:
            raise damaged_error(self._path, error) from error
        try:
            # A plain view of the map: reading an element of a memmap takes ten times as long.
            self._rows = np.asarray(open_array(folder / ROWS))
        except (OSError, ValueError) as error:
            raise damaged_error(folder / ROWS, error) from error
        self.forms = open_rows(folder / FORMS)
        if self._rows.shape != (len(self._trie),) or self._rows.dtype != np.dtype(np.uint32):
            raise damaged_error(self._path, "its files do not fit together")

    def __len__(self) -> int:
        return len(self._trie)

    def row(self, title: str) -> int | None:
        """Return the row of a cleaned title, or None."""
        number = self._trie.get(title)
        return None if number is None else int(self._rows[number])

    def title(self, number: int) -> str:
        """Return the title with a number."""
        return str(self._trie.restore_key(number))

    def complete(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield the titles that begin with `prefix` and their rows, in code point order."""
        try:
            for title, number in self._trie.iteritems(prefix):
                yield title, int(self._rows[number])
        except UnicodeDecodeError as error:
            raise damaged_error(self._path, error) from error


def title_trie(store: Store, titles: TitleIndex, tokens: SafeTokenizer) -> TokenTrie:
    """Return the trie of all titles for a tokenizer; its rows are the numbers of the titles."""
    from trie import TokenTrie, TrieFileError

    if not re.fullmatch(r"[0-9A-Za-z_-]{1,64}", tokens.fingerprint):
        raise ValueError(f"unusable tokenizer fingerprint {tokens.fingerprint!r}")
    parent = store.path
    if not os.access(parent, os.W_OK):
        parent = platformdirs.user_cache_path("admiral") / store.settings["digest"][:32]
    folder = parent / TRIES / tokens.fingerprint
    known: TokenTrie | None = None
    try:
        if _version(folder) is not None:
            known = TokenTrie.open(folder)
            if _version(folder) == store.settings["digest"]:
                return known
    except TrieFileError as error:
        logger.warning("%s: damaged (%s), built again", folder, error)
    trie = TokenTrie.build(_sequences(titles, known, folder, tokens))
    try:
        _save(trie, folder, store)
    except OSError as error:
        logger.warning("%s: the trie cannot be stored: %s", folder, error)
    return trie


def stored_tries(path: Path, digest: str) -> list[str]:
    """Return the fingerprints of the tokenizers whose tries are those of a version."""
    folders = sorted(path.glob(f"{TRIES}/*"))
    return [folder.name for folder in folders if _version(folder) == digest]


def _version(folder: Path) -> str | None:
    """Return the digest of the version of a stored trie; None if there is no complete one."""
    try:
        return str(json.loads((folder / _META).read_bytes())["digest"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _sequences(
    titles: TitleIndex, known: TokenTrie | None, folder: Path, tokens: SafeTokenizer
) -> Iterator[list[int]]:
    earlier = marisa_trie.Trie()
    sequences: list[list[int]] = []
    if known is not None:
        try:
            earlier.mmap(str(folder / TITLES))
            sequences = known.sequences()
        except (RuntimeError, OSError) as error:
            logger.warning("%s: damaged (%s), built again", folder, error)
        if len(earlier) != len(sequences):
            earlier = marisa_trie.Trie()
    for first in range(0, len(titles), _BATCH_SIZE):
        numbers = range(first, min(first + _BATCH_SIZE, len(titles)))
        batch = [titles.title(number) for number in numbers]
        before = [earlier.get(title) for title in batch]
        new = iter(
            tokens.encode_batch([t for t, n in zip(batch, before, strict=True) if n is None])
        )
        yield from (next(new) if number is None else sequences[number] for number in before)


def _save(trie: TokenTrie, folder: Path, store: Store) -> None:
    temporary = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    temporary.mkdir(parents=True)
    try:
        trie.save(temporary)
        shutil.copyfile(store.folder / TITLES, temporary / TITLES)
        meta = json.dumps({"digest": store.settings["digest"]})
        (temporary / _META).write_text(f"{meta}\n", encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
