"""Manifests of joined knowledge bases, and the combined manifest of all members.

The manifest of a joined knowledge base names its members and the policy for titles that several of
them have. Documents and indexes stay in the members:

    {"format": "admiral-kb", "version": 4, "on_duplicate": "error",
     "members": ["../wiki", "/data/mine"], "digest": "..."}
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.kb.store.manifest import (
    FORMAT,
    JOINED_VERSION,
    NAME,
    Manifest,
    digest_of,
    is_knowledge_base,
    read_manifest,
    read_value,
    write_with_digest,
)

POLICIES = ("error", "skip")
_REMEDY = "Join the members again with `admiral join --overwrite`."


@dataclass(frozen=True, slots=True)
class JoinManifest:
    """Contents of the manifest of a joined knowledge base."""

    members: tuple[str, ...]
    # policy for a title that several members have: ``error``, or ``skip`` to keep the document of
    # the first of them
    on_duplicate: str

    def paths(self, directory: Path) -> list[Path]:
        """Return the paths of the members of the knowledge base in `directory`."""
        # Relative paths start at the real directory, also if `directory` is a symbolic link.
        home = os.path.realpath(directory)
        return [Path(os.path.normpath(os.path.join(home, name))) for name in self.members]


def member_name(member: Path, directory: Path) -> str:
    """Return the path by which the knowledge base in `directory` names a member.

    The path is relative, so that both can be moved together, if the member was given by a relative
    path or lies below the parent of `directory`. Otherwise it is absolute.
    """
    home = os.path.realpath(directory)
    parent, name = os.path.split(os.path.abspath(member))
    place = os.path.join(os.path.realpath(parent), name)  # keeps a link in the last component
    if member.is_absolute() and not Path(place).is_relative_to(os.path.dirname(home)):
        return place
    return os.path.relpath(place, home)


def write_join(directory: Path, join: JoinManifest) -> None:
    """Write the manifest of a joined knowledge base."""
    write_with_digest(directory / NAME, _body(join))


def read_join(directory: Path) -> JoinManifest | None:
    """Read the manifest of a joined knowledge base; None for one that holds documents itself.

    Raises AdmiralError if there is none, it has an unknown format version, or it was modified.
    """
    value = read_value(directory)
    if value["version"] != JOINED_VERSION:
        return None
    try:
        join = JoinManifest(tuple(map(str, value["members"])), str(value["on_duplicate"]))
        intact = value["digest"] == digest_of(_body(join)) and join.on_duplicate in POLICIES
    except (KeyError, TypeError) as error:
        raise AdmiralError(
            f"{directory / NAME}: damaged (bad or missing {error}). {_REMEDY}"
        ) from error
    if not intact or not join.members:
        raise AdmiralError(f"{directory / NAME}: changed since it was written. {_REMEDY}")
    return join


def find_join(directory: Path) -> JoinManifest | None:
    """Read a manifest as `read_join` does; None also if there is no knowledge base."""
    return read_join(directory) if is_knowledge_base(directory) else None


@dataclass(frozen=True, slots=True)
class CombinedManifest:
    """Manifests of a knowledge base and its members, seen as one.

    Raises AdmiralError if the members have BM25 indexes of different backends.
    """

    path: Path
    # its manifest if it is a joined one; None if it holds documents itself
    join: JoinManifest | None
    # manifests of the members in order, or its own if it joins none
    manifests: tuple[Manifest, ...]

    def __post_init__(self) -> None:
        backends = [manifest.bm25 for manifest in self.manifests]
        other = next((n for n, backend in enumerate(backends) if backend != backends[0]), None)
        if self.join and other is not None:
            members = self.join.paths(self.path)
            raise AdmiralError(
                f"{members[other]}: its BM25 index is {backends[other]!r}, that of {members[0]} is "
                f"{backends[0]!r}, and {self.path} cannot search both as one. Build one of them "
                "again with `admiral index --bm25`."
            )

    @property
    def digest(self) -> str:
        """Digest that identifies the versions of all members, wherever they are stored."""
        if self.join is None:
            return self.manifests[0].digest
        members = [manifest.digest for manifest in self.manifests]
        return digest_of({"on_duplicate": self.join.on_duplicate, "members": members})

    @property
    def base_digest(self) -> str:
        """Digest that identifies the base segments, whatever has changed since."""
        bases = [manifest.base.digest for manifest in self.manifests]
        return bases[0] if self.join is None else digest_of({"bases": bases})

    @property
    def bm25(self) -> str:
        """The backend of the BM25 index, or ``none``."""
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
        """Settings of the build; ``sources`` are the distinct sources of all members."""
        if self.join is None:
            return self.manifests[0].settings
        sources: list[Any] = []
        for source in chain.from_iterable(m.settings["sources"] for m in self.manifests):
            if source not in sources:
                sources.append(source)
        return {"bm25": self.bm25, "on_duplicate": self.join.on_duplicate, "sources": sources}


def read_combined_manifest(path: Path) -> CombinedManifest:
    """Read the manifest of a knowledge base, and those of its members if it joins others.

    Raises AdmiralError if one of them is missing or cannot be read, or the members use different
    BM25 backends.
    """
    join = read_join(path)
    if join is None:
        return CombinedManifest(path, None, (read_manifest(path),))
    manifests = []
    for member in join.paths(path):
        try:
            manifests.append(read_manifest(member))
        except AdmiralError as error:
            raise missing_member_error(path, error) from error
    return CombinedManifest(path, join, tuple(manifests))


def missing_member_error(path: Path, error: AdmiralError) -> AdmiralError:
    """Return the error of a joined knowledge base whose member raised `error`."""
    return AdmiralError(
        f"{path}: cannot be used without all of its members. {error} Or join the members that you "
        f"have: `admiral join ... --kb {path} --overwrite`."
    )


def _body(join: JoinManifest) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": JOINED_VERSION,
        "on_duplicate": join.on_duplicate,
        "members": list(join.members),
    }
