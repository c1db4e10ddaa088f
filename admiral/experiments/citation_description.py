"""The description of an experiment on citations, as read from its file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from admiral.citations.citation_settings import CitationConfig, load_citation_config
from admiral.citations.source_search import QUERY_FORMS
from admiral.errors import AdmiralError
from admiral.experiments.description import (
    check_keys,
    choice_value,
    count_value,
    list_value,
    load_description,
    mapping_value,
    paper_figures,
    text_value,
)
from admiral.storage.yaml_settings import parse_override

#: The task that such files name.
CITATIONS = "citations"
#: Which index a search reads, or how both are fused.
INDEXES = ("bm25", "minilm", "rrf", "union")
_KEYS = (
    *("title", "task", "claims", "sources", "library", "limit", "seed", "reference"),
    *("settings", "systems", "show", "paper"),
)
_FIELDS = ("claims", "limit", "seed")  # that --set changes, apart from settings
_SYSTEM_KEYS = ("name", "settings", "search")
_SEARCH_KEYS = ("index", "query")
_LIBRARY_KEYS = ("words", "stride", "k1", "b", "dense")


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """A search for the cited page: an index of `INDEXES` and a form of `QUERY_FORMS`."""

    index: str = "bm25"
    query: str = "title"


@dataclass(frozen=True, slots=True)
class CitationSystem:
    """A system to be compared."""

    name: str
    config: CitationConfig  # the settings with which citations are verified
    # for a search without verification, what is searched; otherwise None
    search: SearchSettings | None = None

    @property
    def folder(self) -> str:
        """Name of its directory."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


@dataclass(frozen=True, slots=True)
class LibraryRecipe:
    """Settings for building the library: source files, passages, BM25 and dense vectors."""

    sources: tuple[Path, ...]
    words: int = 100
    stride: int = 50
    k1: float = 0.9
    b: float = 0.4
    dense: bool = False


@dataclass(frozen=True, slots=True)
class CitationExperiment:
    """The description of an experiment on labelled citations."""

    # file, title, limit, seed, overrides, show, paper: as of
    # `admiral.experiments.description.Experiment`
    file: Path
    title: str
    claims: Path
    limit: int
    seed: int
    reference: str  # name of the system that the others are compared with; empty to compare none
    overrides: tuple[str, ...]
    library: LibraryRecipe
    systems: tuple[CitationSystem, ...]
    show: tuple[str, ...]
    paper: dict[str, Any]


def is_citation_experiment(path: Path, data: Path | None) -> bool:
    """Return whether a file describes an experiment on citations, by its task."""
    return load_description(path, data, None).get("task") == CITATIONS


def read_citation_experiment(
    path: Path, *, data: Path | None = None, overrides: Sequence[str] = ()
) -> CitationExperiment:
    """Return the checked description of an experiment on citations.

    `path`: YAML file; ``${data}`` in it is replaced by `data`. `overrides`: ``key=value``: a
    setting of all systems, or `claims`, `limit` or `seed`. Raises AdmiralError for an unreadable
    file, an unknown key or a bad value, naming file, key and remedy.
    """
    content = load_description(path, data, _KEYS)
    check_keys(content, _KEYS, str(path))
    items = [parse_override(override) for override in overrides]
    content |= {key: value for _, key, value in items if key in _FIELDS}
    shared = [f"{key}={value}" for _, key, value in items if key not in _FIELDS]
    where = str(path)
    claims = Path(text_value(content, "claims", where))
    sources = tuple(Path(str(source)) for source in list_value(content, "sources", where))
    for key, file in [("claims", claims), *(("sources", source) for source in sources)]:
        if not file.exists():
            raise AdmiralError(f"{path}: key {key!r}: {file} is missing. Check the path or --data")
    if not sources:
        raise AdmiralError(f"{path}: key 'sources': names no file of pages")
    systems = tuple(_systems(content, path, shared))
    names = tuple(system.name for system in systems)
    show = list_value(content, "show", where)
    return CitationExperiment(
        file=path,
        title=text_value(content, "title", where),
        claims=claims,
        limit=count_value(content, "limit", where),
        seed=count_value(content, "seed", where),
        reference=choice_value(content, "reference", names, path) if "reference" in content else "",
        overrides=tuple(overrides),
        library=_recipe(content, path, sources),
        systems=systems,
        show=tuple(map(str, show)),
        paper=paper_figures(content, path),
    )


def _recipe(content: dict[str, Any], path: Path, sources: tuple[Path, ...]) -> LibraryRecipe:
    given = mapping_value(content.get("library") or {}, path, "library")
    check_keys(given, _LIBRARY_KEYS, f"{path}: library")
    where = f"{path}: library"
    lengths = {key: count_value(given, key, where) for key in ("words", "stride") if key in given}
    if not all(lengths.values()):
        raise AdmiralError(f"{where}: 'words' and 'stride' must be at least 1")
    rates = {key: given[key] for key in ("k1", "b") if key in given}
    for key, value in rates.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise AdmiralError(f"{where}: key {key!r}: {value!r} is not a number from 0 on")
    dense = given.get("dense", False)
    if not isinstance(dense, bool):
        raise AdmiralError(f"{where}: key 'dense': {dense!r} is neither true nor false")
    return LibraryRecipe(sources, **lengths, **rates, dense=dense)


def _systems(
    content: dict[str, Any], path: Path, shared: Sequence[str]
) -> Iterator[CitationSystem]:
    common = mapping_value(content.get("settings") or {}, path, "settings")
    folders: dict[str, str] = {}
    entries = list_value(content, "systems", str(path))
    if not entries:
        raise AdmiralError(f"{path}: key 'systems': names no system")
    for index, entry in enumerate(entries):
        key = f"systems[{index}]"
        where = f"{path}: {key}"
        check_keys(mapping_value(entry, path, key), _SYSTEM_KEYS, where)
        own = mapping_value(entry.get("settings") or {}, path, f"{key}.settings")
        assignments = [f"{k}={_written(v)}" for k, v in {**common, **own}.items()]
        config = load_citation_config(None, [*assignments, *shared])
        search = None
        if "search" in entry:
            given = mapping_value(entry["search"], path, f"{key}.search")
            check_keys(given, _SEARCH_KEYS, f"{where}.search")
            within = Path(f"{where}.search")
            search = SearchSettings(
                choice_value(given, "index", INDEXES, within) if "index" in given else "bm25",
                choice_value(given, "query", tuple(QUERY_FORMS), within)
                if "query" in given
                else "title",
            )
        system = CitationSystem(text_value(entry, "name", where), config, search)
        if not system.folder or system.folder in folders:
            other = folders.get(system.folder, "")
            raise AdmiralError(f"{where}: key 'name': {system.name!r} is too similar to {other!r}")
        folders[system.folder] = system.name
        yield system


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
