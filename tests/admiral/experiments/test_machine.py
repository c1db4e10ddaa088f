import numpy as np

from admiral.experiments import job_process as machine


def test_peak_memory_grows_with_allocations():
    before = machine.peak_memory()
    block = np.ones(2**25)  # 256 MiB
    assert machine.peak_memory() >= min(before + block.nbytes // 2, block.nbytes)
