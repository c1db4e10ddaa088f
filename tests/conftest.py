"""What all tests share: the environment, and how hypothesis searches."""

import gc
import os
import signal

# Before torch is imported anywhere; see admiral/__init__.py.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is downloaded at run time
if "PYTEST_XDIST_WORKER" in os.environ:
    # The workers take all processors already.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

# A shell that starts the tests in the background makes them ignore Ctrl-C, and so every process
# that they start; tests interrupt some of these.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The quick checks look at the same few examples each time, so that a change fails by its own fault
# only; `make test-all` looks for new ones (--hypothesis-profile=search).
settings.register_profile(
    "search",
    deadline=None,  # the machines of CI are busy
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("same", settings.get_profile("search"), derandomize=True, max_examples=25)
settings.load_profile("same")


def pytest_collection_finish():
    """Leave out of each garbage collection what the imports made: it takes a second to look at."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def user_cache(tmp_path_factory):
    """Give the session a user cache of its own, so that no test sees an older run's files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_sync():
    """Leave out `fsync`: no test cuts the power, and a file that is written takes 10 ms less."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture
def set_threads():
    """Set torch's number of threads, until the end of the test."""
    import torch

    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)
