from __future__ import annotations

import re

import numpy as np

from admiral.experiments import job_process as machine


def test_versions_and_hardware() -> None:
    assert {"admiral", "python", "torch", "numpy"} <= set(machine.package_versions())
    assert re.search(r", \d+ cores", machine.hardware())


def test_the_commit_is_a_hash() -> None:
    commit = machine.commit()
    assert commit is None or re.fullmatch(r"[0-9a-f]{40}\+?", commit)


def test_peak_memory_grows_with_allocations() -> None:
    before = machine.peak_memory()
    block = np.ones(2**25)  # 256 MiB
    assert machine.peak_memory() >= min(before + block.nbytes // 2, block.nbytes)
