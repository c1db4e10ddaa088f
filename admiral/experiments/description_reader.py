"""Reading the file of an experiment; a misspelt key is an error and not a default."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationKeyError, OmegaConfBaseException

from admiral.config import build_config
from admiral.errors import AdmiralError, first_line
from admiral.experiments.description import BASELINES, RULES, Base, Experiment, System
from admiral.experiments.description_fields import (
    check_keys,
    choice,
    count,
    listed,
    mapping,
    number,
    text,
)
from admiral.storage.yaml_settings import parse_override

_KEYS = (
    *("title", "task", "claims", "kb", "model", "limit", "ks", "seed"),
    *("knowledge_bases", "settings", "systems", "groups", "show", "paper"),
)
_PLAIN = ("task", "claims", "limit", "seed")  # what --set changes besides settings
_SYSTEM = ("name", "baseline", "settings")
_BASE = ("corpus", "on_duplicate", "format")
_PAPER = ("table", "columns", "rows", "note")


def read_experiment(
    path: Path,
    *,
    data: Path | None = None,
    bases: Path,
    overrides: Sequence[str] = (),
) -> Experiment:
    """Return the experiment that a YAML file describes, checked.

    Parameters
    ----------
    path
        The file. ``${data}`` in it stands for `data`.
    data
        The folder of the data sets.
    bases
        The folder that knowledge bases are built in.
    overrides
        ``key=value``: a setting of all systems, or the file's `task`, `claims`, `limit` or `seed`.

    Raises
    ------
    AdmiralError
        For an unreadable file, an unknown key or a bad value, naming file, key and remedy.
    """
    content = _load(path, data)
    items = [parse_override(one) for one in overrides]
    content |= {key: value for _, key, value in items if key in _PLAIN}
    settings = [item for item in items if item[1] not in _PLAIN]
    check_keys(content, _KEYS, str(path))
    task = choice(content, "task", tuple(RULES), path)
    built = dict(_bases(content, path, bases))
    return Experiment(
        file=path,
        title=text(content, "title", str(path)),
        task=task,
        claims=_claims(content, task, path),
        limit=count(content, "limit", str(path)),
        ks=tuple(number(k, str(path), "ks") for k in listed(content, "ks", str(path))),
        seed=count(content, "seed", str(path)),
        overrides=tuple(overrides),
        systems=tuple(_systems(content, path, built, settings)),
        bases=built,
        groups=tuple(map(str, listed(content, "groups", str(path)))),
        show=tuple(map(str, listed(content, "show", str(path)))),
        paper=_paper(content, path),
    )


def _load(path: Path, data: Path | None) -> dict[str, Any]:
    try:
        loaded = OmegaConf.load(path)
        if not isinstance(loaded, DictConfig):
            raise AdmiralError(f"{path}: expected lines of the form 'key: value', found a list")
        if data is not None:
            check_keys(loaded, _KEYS, str(path))
            loaded["data"] = str(data)
        content: Any = OmegaConf.to_container(loaded, resolve=True)
    except InterpolationKeyError as error:
        remedy = "Give --data DIR or set ADMIRAL_DATA, and use no other variable than ${data}"
        raise AdmiralError(
            f"{path}: key {error.full_key!r}: {first_line(error)}. {remedy}"
        ) from error
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise AdmiralError(f"{path}: the experiment cannot be read: {reason}") from error
    except (yaml.YAMLError, OmegaConfBaseException) as error:
        raise AdmiralError(f"{path}: not a YAML file: {' '.join(str(error).split())}") from error
    content.pop("data", None)
    return dict(content)


def _claims(content: dict[str, Any], task: str, path: Path) -> Path:
    if content.get("claims") in (None, "demo") and task == "demo":
        with as_file(files("admiral") / "data" / "demo" / "claims.jsonl") as bundled:
            return bundled
    claims = Path(text(content, "claims", str(path)))
    if not claims.is_file():
        raise AdmiralError(f"{path}: key 'claims': {claims} is no file. Check the path or --data")
    return claims


def _bases(content: dict[str, Any], path: Path, folder: Path) -> Iterator[tuple[str, Base]]:
    named = content.get("knowledge_bases") or {}
    for name, one in mapping(named, path, "knowledge_bases").items():
        key = f"knowledge_bases.{name}"
        described = mapping(one, path, key)
        check_keys(described, _BASE, f"{path}: {key}")
        corpora = described.get("corpus") or []
        many = corpora if isinstance(corpora, list) else [corpora]
        if not many:
            raise AdmiralError(f"{path}: key {key + '.corpus'!r}: is missing. Name a corpus")
        chosen = {
            key: str(described[key]) for key in ("on_duplicate", "format") if key in described
        }
        yield str(name), Base(folder / str(name), tuple(Path(str(c)) for c in many), **chosen)


def _systems(
    content: dict[str, Any],
    path: Path,
    bases: dict[str, Base],
    overrides: Sequence[tuple[str, str, str]],
) -> Iterator[System]:
    shared: list[tuple[str, str, Any]] = [
        (str(path), key, content[key]) for key in ("kb", "model") if key in content
    ]
    common = mapping(content.get("settings") or {}, path, "settings")
    shared += [(f"{path}: settings", str(key), value) for key, value in common.items()]
    folders: dict[str, str] = {}
    described = listed(content, "systems", str(path))
    if not described:
        raise AdmiralError(f"{path}: key 'systems': names no system")
    for place, one in enumerate(described):
        where = f"{path}: systems[{place}]"
        check_keys(mapping(one, path, f"systems[{place}]"), _SYSTEM, where)
        baseline = choice(one, "baseline", BASELINES, Path(where)) if "baseline" in one else None
        own = mapping(one.get("settings") or {}, path, f"systems[{place}].settings")
        items = [*shared, *((f"{where}.settings", str(k), v) for k, v in own.items()), *overrides]
        config = build_config(items)
        if config.kb in bases:
            config.kb = str(bases[config.kb].path)
        system = System(text(one, "name", where), config, baseline)
        if not system.folder or system.folder in folders:
            other = folders.get(system.folder, "")
            raise AdmiralError(f"{where}: key 'name': {system.name!r} is too like {other!r}")
        folders[system.folder] = system.name
        yield system


def _paper(content: dict[str, Any], path: Path) -> dict[str, Any]:
    paper = mapping(content.get("paper") or {}, path, "paper")
    check_keys(paper, _PAPER, f"{path}: paper")
    for key in _PAPER:
        if paper and key not in paper:
            raise AdmiralError(f"{path}: key 'paper.{key}': is missing")
    columns = listed(paper, "columns", f"{path}: paper")
    for name, row in mapping(paper.get("rows") or {}, path, "paper.rows").items():
        if not isinstance(row, list) or len(row) != len(columns):
            raise AdmiralError(f"{path}: key 'paper.rows.{name}': not {len(columns)} figures")
    return paper
