"""What a knowledge base holds and how large its parts are."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from admiral.kb.manifest import FORMAT_VERSION, NAME, check_sizes, read_manifest
from admiral.kb.tries import FOLDER, is_trie_of


@dataclass(frozen=True, slots=True)
class KbInfo:
    """Facts about a knowledge base.

    Attributes
    ----------
    counts
        Documents, sentences, links.
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
    manifest = read_manifest(directory)
    check_sizes(directory, manifest)
    sizes = {"documents": 0, "titles": 0, "bm25": 0}
    for name, entry in manifest.files.items():
        part = "titles" if name.startswith("titles") else name.split("/")[0]
        sizes[part] = sizes.get(part, 0) + entry.size
    folder = directory / FOLDER
    tries = [p for p in sorted(folder.glob("[!.]*")) if is_trie_of(p, manifest)]
    sizes["tries"] = sum(f.stat().st_size for p in tries for f in p.rglob("*") if f.is_file())
    sizes["manifest"] = (directory / NAME).stat().st_size
    return KbInfo(
        path=str(path),
        version=FORMAT_VERSION,
        counts=manifest.counts,
        sizes={**sizes, "total": sum(sizes.values())},
        bm25=manifest.bm25,
        tries=[p.name for p in tries],
        settings=manifest.settings,
    )
