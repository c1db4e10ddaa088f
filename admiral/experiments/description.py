"""The description of an experiment, of either kind, read from its file. Unknown keys are errors."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, TypeVar

import yaml

from admiral.citations.citation_settings import CitationConfig
from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.evaluation.tasks import EVALUATION_TASKS, QRELS, Task
from admiral.settings import parse_override

#: Evaluation tasks by name; the demo claims follow the rules of HoVer.
EXPERIMENT_TASKS: dict[str, Task] = {
    # Qrels do not hold the claims.
    **{name: task for name, task in EVALUATION_TASKS.items() if name != QRELS},
    "demo": EVALUATION_TASKS["hover"],
}
#: Systems that only rank: BM25, BM25 with the titles that the claim mentions, or the first stage of
#: the settings.
BASELINES = ("bm25", "bm25+mentions", "titles", "first-stage")


class _Named:
    __slots__ = ()
    name: str

    @property
    def folder(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


@dataclass(frozen=True, slots=True)
class System(_Named):
    """A system to be compared."""

    name: str
    config: RetrievalConfig
    baseline: str | None = None  # one of `BASELINES`, or None for the whole method


AnySystem = TypeVar("AnySystem", bound=_Named)


@dataclass(frozen=True, slots=True)
class KnowledgeBaseRecipe:
    """Build instructions for a knowledge base of the experiment."""

    path: Path
    corpora: tuple[Path, ...]
    on_duplicate: str = "error"
    format: str = "auto"


@dataclass(frozen=True, slots=True)
class Experiment:
    """The description of an experiment."""

    file: Path
    title: str
    task: str
    claims: Path
    limit: int  # number of claims, evenly spaced in the file; 0 for all
    covered: bool  # only claims whose gold documents are in the first system's knowledge base
    ks: tuple[int, ...]
    seed: int
    reference: str  # name of the system that the others are compared with; empty to compare none
    overrides: tuple[str, ...]
    systems: tuple[System, ...]
    knowledge_bases: dict[str, KnowledgeBaseRecipe]
    # groups, show: groups of claims (all if empty) and columns of its table
    groups: tuple[str, ...]
    show: tuple[str, ...]
    paper: dict[str, Any]

    @property
    def evaluation_task(self) -> Task:
        """Task by whose rules the systems are evaluated."""
        return EXPERIMENT_TASKS[self.task]


_KEYS = (
    *("title", "task", "claims", "kb", "model", "limit", "covered", "ks", "seed"),
    *("reference", "knowledge_bases", "settings", "systems", "groups", "show", "paper"),
)
_FIELDS = ("task", "claims", "limit", "seed")  # that --set changes, apart from settings
_SYSTEM_KEYS = ("name", "baseline", "settings")
_RECIPE_KEYS = ("corpus", "on_duplicate", "format")
_PAPER_KEYS = ("table", "columns", "rows", "note")
# Which system is the counterpart of a row, and what the rows without one need.
_COUNTERPARTS = ("ours", "missing")


def read_experiment(
    path: Path, *, data: Path | None = None, kb_folder: Path, overrides: Sequence[str] = ()
) -> Experiment:
    """Return the checked description of an experiment.

    `path`: YAML file; ``${data}`` in it is replaced by `data`. `overrides`: ``key=value``: a
    setting of all systems, or `task`, `claims`, `limit` or `seed`. Raises AdmiralError for an
    unreadable file, an unknown key or a bad value, naming file, key and remedy.
    """
    content = load_description(path, data)
    items = [parse_override(override) for override in overrides]
    content |= {key: value for _, key, value in items if key in _FIELDS}
    settings = [item for item in items if item[1] not in _FIELDS]
    check_keys(content, _KEYS, str(path))
    task = choice_value(content, "task", tuple(EXPERIMENT_TASKS), path)
    recipes = dict(_recipes(content, path, kb_folder))
    systems = tuple(_with_folders(_systems(content, path, recipes, settings), path))
    return Experiment(
        file=path,
        title=text_value(content, "title", str(path)),
        task=task,
        claims=_claims(content, task, path),
        limit=count_value(content, "limit", str(path)),
        covered=flag_value(content, "covered", str(path)),
        ks=tuple(number_value(k, str(path), "ks") for k in list_value(content, "ks", str(path))),
        seed=count_value(content, "seed", str(path)),
        reference=_reference(content, systems, path),
        overrides=tuple(overrides),
        systems=systems,
        knowledge_bases=recipes,
        groups=tuple(map(str, list_value(content, "groups", str(path)))),
        show=tuple(map(str, list_value(content, "show", str(path)))),
        paper=paper_figures(content, path),
    )


def load_description(
    path: Path, data: Path | None, keys: Sequence[str] | None = _KEYS
) -> dict[str, Any]:
    """Return the content of the file of an experiment, with `data` for ``${data}``."""
    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise AdmiralError(f"{path}: the experiment cannot be read: {reason}") from error
    except yaml.YAMLError as error:
        raise AdmiralError(f"{path}: not a YAML file: {' '.join(str(error).split())}") from error
    if not isinstance(loaded, dict):
        raise AdmiralError(f"{path}: expected lines of the form 'key: value', found a list")
    if data is not None and keys is not None:
        check_keys(loaded, keys, str(path))
    return {str(key): _filled(value, data, f"{path}: key {key!r}") for key, value in loaded.items()}


def _filled(value: Any, data: Path | None, where: str) -> Any:
    """Return a value of the file with `data` for ``${data}``, the only variable."""
    if isinstance(value, dict):
        return {key: _filled(each, data, where) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, data, where) for each in value]
    if not isinstance(value, str):
        return value
    filled = value if data is None else value.replace("${data}", str(data))
    if "${" in filled:
        remedy = "Give --data DIR or set ADMIRAL_DATA; ${data} is the only variable"
        raise AdmiralError(f"{where}: {value!r} names a variable. {remedy}")
    return filled


def _claims(content: dict[str, Any], task: str, path: Path) -> Path:
    if content.get("claims") in (None, "demo") and task == "demo":
        with as_file(files("admiral") / "data" / "demo" / "claims.jsonl") as bundled:
            return bundled
    claims = Path(text_value(content, "claims", str(path)))
    if not claims.is_file():
        raise AdmiralError(
            f"{path}: key 'claims': {claims} is not a file. Check the path or --data"
        )
    return claims


def _recipes(
    content: dict[str, Any], path: Path, folder: Path
) -> Iterator[tuple[str, KnowledgeBaseRecipe]]:
    recipes = content.get("knowledge_bases") or {}
    for name, value in mapping_value(recipes, path, "knowledge_bases").items():
        key = f"knowledge_bases.{name}"
        recipe = mapping_value(value, path, key)
        check_keys(recipe, _RECIPE_KEYS, f"{path}: {key}")
        corpora = recipe.get("corpus") or []
        if not isinstance(corpora, list):
            corpora = [corpora]
        if not corpora:
            raise AdmiralError(f"{path}: key {key + '.corpus'!r}: is missing. Name a corpus")
        options = {key: str(recipe[key]) for key in ("on_duplicate", "format") if key in recipe}
        yield (
            str(name),
            KnowledgeBaseRecipe(
                folder / str(name), tuple(Path(str(corpus)) for corpus in corpora), **options
            ),
        )


def _systems(
    content: dict[str, Any],
    path: Path,
    recipes: dict[str, KnowledgeBaseRecipe],
    overrides: Sequence[tuple[str, str, str]],
) -> Iterator[System]:
    shared: list[tuple[str, str, Any]] = [
        (str(path), key, content[key]) for key in ("kb", "model") if key in content
    ]
    common = mapping_value(content.get("settings") or {}, path, "settings")
    shared += [(f"{path}: settings", str(key), value) for key, value in common.items()]
    for entry, where, own in _entries(content, path, _SYSTEM_KEYS):
        baseline = (
            choice_value(entry, "baseline", BASELINES, Path(where)) if "baseline" in entry else None
        )
        items = [*shared, *((f"{where}.settings", str(k), v) for k, v in own.items()), *overrides]
        config = RetrievalConfig.build(items)
        if config.kb in recipes:
            config = config.changed(kb=str(recipes[config.kb].path))
        yield System(text_value(entry, "name", where), config, baseline)


def _entries(
    content: dict[str, Any], path: Path, keys: Sequence[str]
) -> Iterator[tuple[dict[str, Any], str, dict[str, Any]]]:
    entries = list_value(content, "systems", str(path))
    if not entries:
        raise AdmiralError(f"{path}: key 'systems': names no system")
    for index, entry in enumerate(entries):
        key = f"systems[{index}]"
        check_keys(mapping_value(entry, path, key), keys, f"{path}: {key}")
        own = mapping_value(entry.get("settings") or {}, path, f"{key}.settings")
        yield entry, f"{path}: {key}", own


def _with_folders(systems: Iterator[AnySystem], path: Path) -> Iterator[AnySystem]:
    folders: dict[str, str] = {}
    for index, system in enumerate(systems):
        if not system.folder or system.folder in folders:
            other = folders.get(system.folder, "")
            where = f"{path}: systems[{index}]"
            raise AdmiralError(f"{where}: key 'name': {system.name!r} is too similar to {other!r}")
        folders[system.folder] = system.name
        yield system


def _reference(content: dict[str, Any], systems: Sequence[_Named], path: Path) -> str:
    if "reference" not in content:
        return ""
    return choice_value(content, "reference", tuple(system.name for system in systems), path)


def paper_figures(content: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the checked figures of the paper."""
    paper = mapping_value(content.get("paper") or {}, path, "paper")
    check_keys(paper, (*_PAPER_KEYS, *_COUNTERPARTS), f"{path}: paper")
    for key in _PAPER_KEYS:
        if paper and key not in paper:
            raise AdmiralError(f"{path}: key 'paper.{key}': is missing")
    columns = list_value(paper, "columns", f"{path}: paper")
    for name, row in mapping_value(paper.get("rows") or {}, path, "paper.rows").items():
        if not isinstance(row, list) or len(row) != len(columns):
            raise AdmiralError(f"{path}: key 'paper.rows.{name}': not {len(columns)} figures")
    for key in _COUNTERPARTS:
        for name in mapping_value(paper.get(key) or {}, path, f"paper.{key}"):
            if name not in paper["rows"]:
                raise AdmiralError(f"{path}: key 'paper.{key}': {name!r} is no row of the paper")
    return paper


def check_keys(content: Any, keys: Sequence[str], where: str) -> None:
    """Raise `AdmiralError` for the first unknown key, and suggest a similar one."""
    for key in content:
        if key not in keys:
            close = difflib.get_close_matches(str(key), keys, n=1)
            remedy = f"Did you mean {close[0]!r}?" if close else f"Known keys: {', '.join(keys)}."
            raise AdmiralError(f"{where}: key {key!r}: there is no such key. {remedy}")


def mapping_value(value: Any, path: Path, key: str) -> dict[str, Any]:
    """Return a value that must be a mapping."""
    if not isinstance(value, dict):
        raise AdmiralError(f"{path}: key {key!r}: expected 'key: value' lines, found {value!r}")
    return value


def text_value(content: dict[str, Any], key: str, where: str) -> str:
    """Return a text."""
    value = content.get(key)
    if value is None or isinstance(value, (dict, list)) or not str(value).strip():
        raise AdmiralError(f"{where}: key {key!r}: is missing or not text")
    return str(value)


def choice_value(content: dict[str, Any], key: str, choices: Sequence[str], path: Path) -> str:
    """Return a text that must be one of `choices`."""
    value = text_value(content, key, str(path))
    if value not in choices:
        raise AdmiralError(f"{path}: key {key!r}: {value!r} is not one of {', '.join(choices)}")
    return value


def list_value(content: dict[str, Any], key: str, where: str) -> list[Any]:
    """Return a list, empty if the key is missing."""
    value = content.get(key) or []
    if not isinstance(value, list):
        raise AdmiralError(f"{where}: key {key!r}: {value!r} is not a list")
    return value


def flag_value(content: dict[str, Any], key: str, where: str) -> bool:
    """Return true or false, false if the key is missing."""
    value = content.get(key, False)
    if not isinstance(value, bool):
        raise AdmiralError(f"{where}: key {key!r}: {value!r} is neither true nor false")
    return value


def count_value(content: dict[str, Any], key: str, where: str) -> int:
    """Return a number that is not negative, 0 if the key is missing."""
    return number_value(content[key], where, key, minimum=0) if key in content else 0


def number_value(value: Any, where: str, key: str, minimum: int = 1) -> int:
    """Return a value that must be an integer from `minimum` on."""
    try:
        whole = int(str(value))
    except ValueError:
        whole = -1
    if whole < minimum or isinstance(value, bool):
        raise AdmiralError(f"{where}: key {key!r}: {value!r} is not an integer from {minimum} on")
    return whole


#: The task that such files name.
CITATIONS = "citations"
#: Which index a search reads, or how both are fused.
INDEXES = ("bm25", "minilm", "rrf")
_CITATION_KEYS = (
    *("title", "task", "claims", "sources", "library", "limit", "seed", "reference"),
    *("settings", "systems", "show", "paper"),
)
_CITATION_FIELDS = ("claims", "limit", "seed")  # that --set changes, apart from settings
_CITATION_SYSTEM_KEYS = ("name", "settings", "search")
_SEARCH_KEYS = ("index",)
_LIBRARY_KEYS = ("words", "stride", "k1", "b", "dense")


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """A search for the cited page: an index of `INDEXES`."""

    index: str = "bm25"


@dataclass(frozen=True, slots=True)
class CitationSystem(_Named):
    """A system to be compared."""

    name: str
    config: CitationConfig  # the settings with which citations are verified
    # for a search without verification, what is searched; otherwise None
    search: SearchSettings | None = None


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
    content = load_description(path, data, _CITATION_KEYS)
    check_keys(content, _CITATION_KEYS, str(path))
    items = [parse_override(override) for override in overrides]
    content |= {key: value for _, key, value in items if key in _CITATION_FIELDS}
    shared = [f"{key}={value}" for _, key, value in items if key not in _CITATION_FIELDS]
    where = str(path)
    claims = Path(text_value(content, "claims", where))
    sources = tuple(Path(str(source)) for source in list_value(content, "sources", where))
    for key, file in [("claims", claims), *(("sources", source) for source in sources)]:
        if not file.exists():
            raise AdmiralError(f"{path}: key {key!r}: {file} is missing. Check the path or --data")
    if not sources:
        raise AdmiralError(f"{path}: key 'sources': names no file of pages")
    systems = tuple(_with_folders(_citation_systems(content, path, shared), path))
    show = list_value(content, "show", where)
    return CitationExperiment(
        file=path,
        title=text_value(content, "title", where),
        claims=claims,
        limit=count_value(content, "limit", where),
        seed=count_value(content, "seed", where),
        reference=_reference(content, systems, path),
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
    return LibraryRecipe(sources, **lengths, **rates, dense=flag_value(given, "dense", where))


def _citation_systems(
    content: dict[str, Any], path: Path, shared: Sequence[str]
) -> Iterator[CitationSystem]:
    common = mapping_value(content.get("settings") or {}, path, "settings")
    for entry, where, own in _entries(content, path, _CITATION_SYSTEM_KEYS):
        assignments = [f"{k}={_written(v)}" for k, v in {**common, **own}.items()]
        config = CitationConfig.read(None, [*assignments, *shared])
        search = None
        if "search" in entry:
            given = mapping_value(
                entry["search"], path, f"{where.removeprefix(f'{path}: ')}.search"
            )
            check_keys(given, _SEARCH_KEYS, f"{where}.search")
            within = Path(f"{where}.search")
            search = SearchSettings(
                **{key: choice_value(given, key, INDEXES, within) for key in given}
            )
        yield CitationSystem(text_value(entry, "name", where), config, search)


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
