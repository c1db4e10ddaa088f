"""What a knowledge base holds and how large its parts are."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from admiral.kb.joined.repeated_titles import NAME as DUPLICATES
from admiral.kb.joined.repeated_titles import open_contents
from admiral.kb.store.collection import Collection, learnt
from admiral.kb.store.manifest import NAME
from admiral.kb.store.parts import JOINED_VERSION, part_of
from admiral.kb.tries.title_tries import FOLDER, is_trie_of


@dataclass(frozen=True, slots=True)
class KbInfo:
    """Facts about a knowledge base.

    Attributes
    ----------
    counts
        Documents, sentences, links.
    added, removed
        Documents that came and went since the last build or compaction.
    hidden
        Documents of members whose titles members before theirs have.
    members
        Path and number of documents of each knowledge base that is joined.
    sizes
        Bytes on disk of each part and, under ``total``, of all.
    bm25
        The BM25 backend, or ``none``.
    tries
        Fingerprints of the tokenizers that have a trie in it.
    settings
        How it was built.
    """

    path: str
    version: int
    counts: dict[str, int]
    added: int
    removed: int
    hidden: int
    members: list[dict[str, Any]]
    sizes: dict[str, int]
    bm25: str
    tries: list[str]
    settings: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the facts as a JSON object."""
        return asdict(self)


def info(path: str | Path) -> KbInfo:
    """Describe a knowledge base; AdmiralError if it is absent, truncated or of another version."""
    return learnt(Path(path), lambda collection: _describe(collection, str(path)))


def _describe(collection: Collection, path: str) -> KbInfo:
    holdings, versions = collection.holdings, collection.versions
    counts, hidden = holdings.counts, 0
    if holdings.join is not None:
        contents, counts = open_contents(collection)
        with closing(contents):
            hidden = len(contents.hidden)
    deltas = [one.manifest.delta for one in versions if one.manifest.delta]
    # Those that members have of their own are not used here.
    folders = sorted((collection.trie_folder / FOLDER).glob("[!.]*"))
    tries = [folder for folder in folders if is_trie_of(folder, holdings.base_digest)]
    sizes = _sizes(collection) | {"tries": sum(map(_size, tries))}
    manifests = {collection.path, *(version.path for version in versions)}
    sizes["manifest"] = sum((place / NAME).stat().st_size for place in manifests)
    kept = collection.path / DUPLICATES
    if holdings.join is not None and kept.exists():
        sizes["duplicates"] = kept.stat().st_size
    return KbInfo(
        path=path,
        version=JOINED_VERSION if holdings.join else versions[0].manifest.version,
        counts=counts,
        added=sum(delta.documents for delta in deltas),
        removed=sum(delta.removed for delta in deltas),
        hidden=hidden,
        members=[
            {"path": str(one.path), "documents": one.manifest.documents}
            for one in (versions if holdings.join else ())
        ],
        sizes={**sizes, "total": sum(sizes.values())},
        bm25=holdings.bm25,
        tries=[folder.name for folder in tries],
        settings=holdings.settings,
    )


def _sizes(collection: Collection) -> dict[str, int]:
    """Return the bytes of the parts of all members, by kind."""
    sizes = {"documents": 0, "titles": 0, "bm25": 0}
    for manifest in collection.holdings.manifests:
        for name, entry in manifest.files.items():
            top = part_of(name)[1].split("/")[0].removesuffix(".npy")
            part = "titles" if top.startswith("titles") else top
            sizes[part] = sizes.get(part, 0) + entry.size
    return sizes


def _size(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
