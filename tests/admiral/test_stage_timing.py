"""Timings of stages: nesting, threads and errors."""

import threading
import time

import pytest

from admiral.protocols import timed, timing_stages


def test_a_stage_counts_those_inside_it():
    seconds = {}

    @timed("inner")
    def inner():
        time.sleep(0.01)

    def report(stage, duration, claims):
        assert claims == 3
        seconds[stage] = duration

    with timing_stages(report, 3), timed("outer"):
        inner()
    assert list(seconds) == ["inner", "outer"]
    assert 0.01 <= seconds["inner"] <= seconds["outer"]


def test_only_the_thread_of_the_block_reports():
    stages = []

    def other():
        with timed("of another thread"):
            pass

    with timing_stages(lambda stage, *_: stages.append(stage), 1):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        with timing_stages(None, 1), timed("hidden"):
            pass
        with timed("reported"):
            pass
    with timed("after the block"):
        pass
    assert stages == ["reported"]


def test_a_stage_that_fails_is_not_reported():
    stages = []

    def fail():
        with timed("failing"):
            raise ValueError("the stage has failed")

    with timing_stages(lambda stage, *_: stages.append(stage), 1):
        with pytest.raises(ValueError, match="the stage has failed"):
            fail()
        with timed("next"):
            pass
    assert stages == ["next"]
