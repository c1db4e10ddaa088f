"""What a knowledge base holds and how large its parts are."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from admiral.kb.manifest import NAME
from admiral.kb.parts import part_of
from admiral.kb.tries import FOLDER, is_trie_of
from admiral.kb.versions import Version


@dataclass(frozen=True, slots=True)
class KbInfo:
    """Facts about a knowledge base.

    Attributes
    ----------
    counts
        Documents, sentences, links.
    added, removed
        Documents that came and went since the last build or compaction.
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
    sizes: dict[str, int]
    bm25: str
    tries: list[str]
    settings: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the facts as a JSON object."""
        return asdict(self)


def info(path: str | Path) -> KbInfo:
    """Describe a knowledge base; AdmiralError if it is absent, truncated or of another version."""
    directory = Path(path)
    with Version.open(directory) as version:
        return _describe(version, str(path))


def _describe(version: Version, path: str) -> KbInfo:
    manifest, delta = version.manifest, version.manifest.delta
    sizes = {"documents": 0, "titles": 0, "bm25": 0}
    for name, entry in manifest.files.items():
        top = part_of(name)[1].split("/")[0].removesuffix(".npy")
        part = "titles" if top.startswith("titles") else top
        sizes[part] = sizes.get(part, 0) + entry.size
    folder = version.base / FOLDER
    tries = [p for p in sorted(folder.glob("[!.]*")) if is_trie_of(p, manifest.base)]
    sizes["tries"] = sum(f.stat().st_size for p in tries for f in p.rglob("*") if f.is_file())
    sizes["manifest"] = (version.path / NAME).stat().st_size
    return KbInfo(
        path=path,
        version=manifest.version,
        counts=manifest.counts,
        added=delta.documents if delta else 0,
        removed=delta.removed if delta else 0,
        sizes={**sizes, "total": sum(sizes.values())},
        bm25=manifest.bm25,
        tries=[p.name for p in tries],
        settings=manifest.settings,
    )
