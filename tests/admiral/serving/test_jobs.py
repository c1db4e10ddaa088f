"""Jobs take turns; one that fails or is stopped does not end the others."""

import threading

import pytest

from admiral.errors import AdmiralError
from admiral.serving.jobs import WAITING, Job, Jobs
from admiral.serving.problems import ProblemError


@pytest.fixture
def jobs():
    opened = Jobs()
    yield opened
    opened.close()


def raising(error):
    def work():
        raise error

    return work


@pytest.mark.parametrize(
    ("work", "state", "problem"),
    [
        (lambda: None, "complete", ""),
        (raising(AdmiralError("a file is gone")), "failed", "a file is gone"),
        (raising(ZeroDivisionError()), "failed", "internal error; see the log of the service"),
    ],
)
def test_a_job_that_fails_says_why_and_the_next_goes_on(jobs, work, state, problem):
    first, second = Job(), Job()
    jobs.submit("first", first, work)
    jobs.submit("second", second, lambda: None)
    jobs._thread.shutdown()
    assert (first.state, first.problem) == (state, problem)
    assert second.state == "complete"
    assert jobs.get(Job, "first") is first


def test_few_jobs_wait_and_any_can_be_stopped(jobs):
    begun, going, undone = threading.Event(), threading.Event(), []

    def work():
        begun.set()
        assert going.wait(60)

    running = Job()
    jobs.submit("running", running, work, lambda: undone.append("running"))
    assert begun.wait(60)
    waiting = [Job() for _ in range(WAITING)]
    for number, job in enumerate(waiting):
        jobs.submit(str(number), job, lambda: None, lambda: undone.append("waiting"))
    with pytest.raises(ProblemError, match="all places"):
        jobs.submit("more", Job(), lambda: None)
    assert not jobs.stop(running)
    assert not jobs.stop(waiting[0])
    going.set()
    jobs._thread.shutdown()
    assert undone == ["running", "waiting"]
    assert [job.state for job in waiting] == ["failed", *["complete"] * (WAITING - 1)]
    assert jobs.stop(running)
    with pytest.raises(ProblemError, match="no such job"):
        jobs.get(Job, "more")
