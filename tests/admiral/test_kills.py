"""200 kills: each writer is killed at any moment, and readers find the old or the new state."""

import multiprocessing
import random
import shutil
import time

import pytest

from tests.admiral.download.local_site import Answer, page, serving
from tests.admiral.writers import PAGES, WRITERS, Place

KILLS = 25  # of each writer


@pytest.fixture(scope="module")
def site():
    """Serve a file and some pages, which take a while."""
    with serving() as started:
        started.answers["/file"] = Answer(bytes(range(256)) * 2000, seconds=0.01, pieces=20)
        for number in range(PAGES):
            text = f"In the year {1900 + number}, the river rose and flooded the whole valley."
            started.answers[f"/page-{number}"] = page(text)
        yield started


@pytest.fixture(scope="module")
def processes():
    """Return a way to start processes that have imported the writers, and no thread of another."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.admiral.writers"])
    return context


def run(processes, name, place, seconds=None):
    """Run a writer, for so many seconds at most; return its exit code and the time that it took."""
    process = processes.Process(target=write, args=(name, place))
    began = time.monotonic()
    process.start()
    process.join(seconds)
    process.kill()
    process.join()
    return process.exitcode, time.monotonic() - began


def write(name, place):
    WRITERS[name].write(place)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", WRITERS)
def test_kills_lose_nothing(name, site, processes, tmp_path):
    writer = WRITERS[name]

    def prepared(number):
        place = Place(tmp_path / str(number), site.url(""))
        place.folder.mkdir()
        writer.prepare(place)
        return place

    whole = prepared("whole")
    old = writer.read(whole)
    code, seconds = run(processes, name, whole)
    assert code == 0
    new = writer.read(whole)
    assert new != old
    moments, kills, done = random.Random(name), 0, 0
    while kills < KILLS:
        place = prepared(kills + done)
        code, _ = run(processes, name, place, moments.uniform(0, seconds))
        if code == 0:  # it was faster than at first
            done, seconds = done + 1, 0.8 * seconds
            assert done < 4 * KILLS
        else:
            kills += 1
            found = writer.read(place)
            assert found in (old, new) or is_part(found, new)
        assert run(processes, name, place)[0] == 0
        assert writer.read(place) == new
        shutil.rmtree(place.folder)


def is_part(found, new):
    """Return whether these are some of the pages: each is kept once it has come."""
    return (
        isinstance(found, dict)
        and all("/page-" in url for url in found)
        and found.items() <= new.items()
    )
