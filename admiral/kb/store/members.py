"""The members of a knowledge base that joins others, and what the manifests of all of them say.

The manifest of such a knowledge base names its members and what to do with a title that several of
them have; their documents and indexes stay where they are:

    {"format": "admiral-kb", "version": 4, "on_duplicate": "error",
     "members": ["../wiki", "/data/mine"], "digest": "..."}
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.kb.store.manifest import (
    FORMAT,
    NAME,
    digest_of,
    is_knowledge_base,
    read_manifest,
    read_value,
    write_sealed,
)
from admiral.kb.store.parts import JOINED_VERSION, Manifest

POLICIES = ("error", "skip")
_AGAIN = "Join the members again with `admiral join --overwrite`."


@dataclass(frozen=True, slots=True)
class Join:
    """What the manifest of a joined knowledge base says.

    Attributes
    ----------
    members
        Paths: absolute, or relative to the knowledge base.
    on_duplicate
        What to do with a title that several members have: ``error``, or ``skip`` (the document of
        the first one counts).
    """

    members: tuple[str, ...]
    on_duplicate: str

    def paths(self, directory: Path) -> list[Path]:
        """Return where the members of the knowledge base in `directory` lie."""
        # From its real place: `..` in a name leads from there.
        home = os.path.realpath(directory)
        return [Path(os.path.normpath(os.path.join(home, name))) for name in self.members]


def name_of(member: Path, directory: Path) -> str:
    """Return how the knowledge base in `directory` names a member.

    Relative, so that both can be moved together, if the member was given by a relative path or lies
    below the folder that `directory` is in; else absolute.
    """
    home = os.path.realpath(directory)
    parent, name = os.path.split(os.path.abspath(member))
    place = os.path.join(os.path.realpath(parent), name)  # the last part may be a link, to be kept
    if member.is_absolute() and not Path(place).is_relative_to(os.path.dirname(home)):
        return place
    return os.path.relpath(place, home)


def write_join(directory: Path, join: Join) -> None:
    """Write the manifest of a joined knowledge base."""
    write_sealed(directory / NAME, _body(join))


def read_join(directory: Path) -> Join | None:
    """Read the manifest; None if the knowledge base holds documents itself.

    Raises
    ------
    AdmiralError
        If there is none, it is of another format version, or it was changed.
    """
    value = read_value(directory)
    if value["version"] != JOINED_VERSION:
        return None
    try:
        join = Join(tuple(map(str, value["members"])), str(value["on_duplicate"]))
        intact = value["digest"] == digest_of(_body(join)) and join.on_duplicate in POLICIES
    except (KeyError, TypeError) as error:
        raise AdmiralError(
            f"{directory / NAME}: damaged (bad or missing {error}). {_AGAIN}"
        ) from error
    if not intact or not join.members:
        raise AdmiralError(f"{directory / NAME}: changed since it was written. {_AGAIN}")
    return join


def find_join(directory: Path) -> Join | None:
    """Read the manifest as `read_join` does; None also where there is no knowledge base."""
    return read_join(directory) if is_knowledge_base(directory) else None


@dataclass(frozen=True, slots=True)
class Holdings:
    """What a knowledge base and its members say of themselves.

    Attributes
    ----------
    path
        The knowledge base.
    join
        How it joins its members; None if it holds documents itself.
    manifests
        Those of the members, in order; its own if it joins none.
    """

    path: Path
    join: Join | None
    manifests: tuple[Manifest, ...]

    def __post_init__(self) -> None:
        kinds = [manifest.bm25 for manifest in self.manifests]
        other = next((at for at, kind in enumerate(kinds) if kind != kinds[0]), None)
        if self.join and other is not None:
            members = self.join.paths(self.path)
            raise AdmiralError(
                f"{members[other]}: its BM25 index is {kinds[other]!r}, that of {members[0]} is "
                f"{kinds[0]!r}, and {self.path} cannot search both as one. Build one of them again "
                "with `admiral index --bm25`."
            )

    @property
    def digest(self) -> str:
        """Identifies the versions of all members, wherever they lie."""
        if self.join is None:
            return self.manifests[0].digest
        members = [manifest.digest for manifest in self.manifests]
        return digest_of({"on_duplicate": self.join.on_duplicate, "members": members})

    @property
    def base_digest(self) -> str:
        """Identifies the documents that were indexed together, whatever has changed since."""
        bases = [manifest.base.digest for manifest in self.manifests]
        return bases[0] if self.join is None else digest_of({"bases": bases})

    @property
    def bm25(self) -> str:
        """The BM25 backend whose index is there, or ``none``."""
        return self.manifests[0].bm25

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of ``documents``, ``sentences`` and ``links`` of all members together."""
        total: Counter[str] = Counter()
        for manifest in self.manifests:
            total.update(manifest.counts)
        return dict(total)

    @property
    def settings(self) -> dict[str, Any]:
        """How it was built; of a joined one, ``sources`` are those of all members."""
        if self.join is None:
            return self.manifests[0].settings
        sources = [one for manifest in self.manifests for one in manifest.settings["sources"]]
        different = [one for at, one in enumerate(sources) if one not in sources[:at]]
        return {"bm25": self.bm25, "on_duplicate": self.join.on_duplicate, "sources": different}


def read_holdings(path: Path) -> Holdings:
    """Read the manifest of a knowledge base, and those of its members if it joins others.

    Raises
    ------
    AdmiralError
        If one of them is missing or cannot be used, or the members have different BM25 indexes.
    """
    join = read_join(path)
    if join is None:
        return Holdings(path, None, (read_manifest(path),))
    manifests = []
    for member in join.paths(path):
        try:
            manifests.append(read_manifest(member))
        except AdmiralError as error:
            raise without(path, error) from error
    return Holdings(path, join, tuple(manifests))


def without(path: Path, error: AdmiralError) -> AdmiralError:
    """Return the error of a joined knowledge base for that of a member."""
    return AdmiralError(
        f"{path}: cannot be used without all of its members. {error} Or join those that are to be "
        f"searched again: `admiral join ... --kb {path} --overwrite`."
    )


def _body(join: Join) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": JOINED_VERSION,
        "on_duplicate": join.on_duplicate,
        "members": list(join.members),
    }
