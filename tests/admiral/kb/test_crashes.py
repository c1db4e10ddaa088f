"""A writer is killed at any moment: the old version or the new one is left, and can be searched."""

import json
import multiprocessing
import os
import random
import signal
import time

import pytest

from admiral.kb import KnowledgeBase, add, build, check, remove
from tests.admiral.kb.fake_encoder import FakeEncoder

KILLS = 7


def corpus(folder, name, count):
    path = folder / f"{name}.jsonl"
    titles = (f"{name} {number}" for number in range(count))
    lines = (json.dumps({"title": t, "text": f"The river {t} flows north."}) for t in titles)
    path.write_text("\n".join(lines))
    return path


CHANGES = {
    "index": lambda folder, kb: build(
        folder / "New.jsonl",
        kb,
        bm25="bm25s",
        overwrite=True,
        encoder=FakeEncoder(),
        progress=False,
    ),
    "add": lambda folder, kb: add(folder / "New.jsonl", kb, progress=False),
    "remove": lambda folder, kb: remove([f"Old {n}" for n in range(9)], kb, progress=False),
}


def contents(kb):
    assert check(kb) == []
    with KnowledgeBase.open(kb) as opened:
        hits = opened.search(["river"], 1000)[0]
        titles = sorted(opened.titles())
    assert sorted(hit.title for hit in hits) == titles
    return titles


@pytest.mark.parametrize("change", CHANGES)
def test_a_killed_change_leaves_the_old_or_the_new_version(change, tmp_path):
    old = corpus(tmp_path, "Old", 30)
    corpus(tmp_path, "New", 60)
    fork = multiprocessing.get_context("fork")
    moments, kb = random.Random(change), tmp_path / "kb"
    build(old, kb, bm25="bm25s", progress=False)
    before = contents(kb)
    began = time.monotonic()
    CHANGES[change](tmp_path, kb)
    seconds, after = time.monotonic() - began, contents(kb)
    kills = 0
    while kills < KILLS:
        build(old, kb, bm25="bm25s", overwrite=True, progress=False)
        process = fork.Process(target=CHANGES[change], args=(tmp_path, kb))
        process.start()
        time.sleep(moments.uniform(0, seconds))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        kills += process.exitcode != 0
        seconds *= 1 if process.exitcode else 0.8  # it was faster than at first
        assert contents(kb) in (before, after)
        with KnowledgeBase.open(kb) as opened:
            is_new = sorted(opened.titles()) == after
        if not is_new:
            CHANGES[change](tmp_path, kb)
        assert contents(kb) == after
    assert len(list((kb / "derived").iterdir())) == 2


def test_a_first_build_that_is_killed_leaves_nothing_to_open(tmp_path):
    old = corpus(tmp_path, "Old", 30)
    fork = multiprocessing.get_context("fork")
    for number in range(KILLS):
        kb = tmp_path / f"kb{number}"
        process = fork.Process(target=build, args=(old, kb), kwargs={"bm25": "bm25s"})
        process.start()
        time.sleep(random.Random(number).uniform(0, 0.3))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        if not (kb / "kb.sqlite").exists():
            build(old, kb, bm25="bm25s", progress=False)
        assert len(contents(kb)) == 30
