"""A build is killed at any moment: readers find the old knowledge base or the new one."""

import json
import multiprocessing
import random
import time

import pytest

from admiral.kb import KnowledgeBase, build, verify

KILLS = 10
TEXT = "The river {0} flows through the north for many miles. {0} is long."


def rebuild(corpus, kb):
    build(corpus, kb, bm25="bm25s", overwrite=True, progress=False)


def documents(kb):
    assert verify(kb) == []
    with KnowledgeBase.open(kb) as opened:
        return {document.title: document.sentences for document in opened.documents()}


@pytest.mark.slow
def test_a_killed_build_leaves_the_old_or_the_new_knowledge_base(tmp_path):
    kb, corpora = tmp_path / "kb", []
    for name, count in (("Old", 5), ("New", 60)):
        corpora.append(tmp_path / f"{name}.jsonl")
        titles = [f"{name} {number}" for number in range(count)]
        records = [{"title": title, "text": TEXT.format(title)} for title in titles]
        corpora[-1].write_text("".join(json.dumps(record) + "\n" for record in records))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.admiral.kb.test_killed_build"])

    def killed(seconds):
        """Kill a build of the new one after some seconds; return whether it was still running."""
        process = context.Process(target=rebuild, args=(corpora[1], kb))
        process.start()
        process.join(seconds)
        process.kill()
        process.join()
        return process.exitcode != 0

    began = time.monotonic()
    assert not killed(600)
    seconds, new = time.monotonic() - began, documents(kb)
    rebuild(corpora[0], kb)
    old, kills, moments = documents(kb), 0, random.Random(0)
    while kills < KILLS:
        if killed(moments.uniform(0, seconds)):
            kills += 1
            assert documents(kb) in (old, new)
        else:  # it was faster than at first
            seconds *= 0.8
        rebuild(corpora[0], kb)
    assert not killed(600)
    assert documents(kb) == new
