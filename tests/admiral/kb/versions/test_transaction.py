"""Changes are atomic, writers exclusive, and readers see one version."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from filelock import FileLock

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, add, build, compact, embed, remove, verify
from admiral.kb.store import NAME, read_manifest
from admiral.kb.store.snapshot import Snapshot
from admiral.records import Sentence
from tests.admiral.failing_calls import Failing, full_disk, marked_faults
from tests.admiral.kb.embeddings.fake_encoder import FakeEncoder

ROOT = Path(__file__).parents[4]
TITLES = ["Bird", "Seed", "Tit", "Nest", "Egg"]


def corpus(folder, texts):
    path = folder / "corpus.jsonl"
    lines = [json.dumps({"title": title, "text": text}) for title, text in texts.items()]
    path.write_text("\n".join(lines))
    return path


def contents(kb):
    """Return the sentences of each document, and whether a vector is stored for the first."""
    with KnowledgeBase.open(kb) as opened:
        documents = {document.title: document.sentences for document in opened.documents()}
        hits = opened.search(["text"], len(TITLES))[0]
        assert sorted(hit.title for hit in hits) == sorted(documents)
        stored = opened.stored_vectors(FakeEncoder())
        assert stored is not None
        first = [Sentence(title, 0, sentences[0]) for title, sentences in documents.items()]
        is_stored = stored.unit_vectors(first).any(axis=1).tolist()
    return {
        title: (*sentences, f"vector: {known}")
        for (title, sentences), known in zip(documents.items(), is_stored, strict=True)
    }


@pytest.fixture(scope="module")
def updated(tmp_path_factory):
    """Build a knowledge base with a delta segment, so that every kind of change does something."""
    folder = tmp_path_factory.mktemp("updated")
    texts = {title: f"A text on {title}." for title in ("Bird", "Seed", "Tit")}
    kb = folder / "kb"
    build(corpus(folder, texts), kb, bm25="bm25s", encoder=FakeEncoder(), progress=False)
    add(corpus(folder, {"Nest": "A text of old."}), kb, progress=False)
    remove(["Seed"], folder / "kb", progress=False)
    return folder / "kb"


def _copy(updated, kb):
    """Copy the knowledge base to `kb` and write the corpus of `_add` beside it."""
    shutil.rmtree(kb, ignore_errors=True)
    shutil.copytree(updated, kb)
    corpus(kb.parent, {"Egg": "A new text.", "Bird": "Other text.", "Nest": "A text of today."})


def _add(kb):
    return add(kb.parent / "corpus.jsonl", kb, on_duplicate="replace", progress=False)


def _remove(kb):
    return remove(["Bird", "Nest"], kb, ignore_missing=True, progress=False)


def _compact(kb):
    return compact(kb, progress=False)


def _embed(kb):
    return embed(kb, FakeEncoder(), progress=False)


CHANGES = {"add": _add, "remove": _remove, "compact": _compact, "embed": _embed}


def check_survived(kb, change, before, after):
    """Check the state after a failed change; return whether the change was made nevertheless."""
    documents = contents(kb)
    assert documents in (before, after)
    assert verify(kb) == []
    CHANGES[change](kb)  # the same command works afterwards
    assert contents(kb) == after
    assert verify(kb) == []
    manifest = read_manifest(kb)
    parts = {manifest.base.path} | ({manifest.delta.path} if manifest.delta else set())
    assert {f"segments/{p.name}" for p in (kb / "segments").glob("*")} == parts - {"."}
    assert not list(kb.glob("*.partial"))
    assert (kb / "documents").exists() == (manifest.base.path == ".")
    return documents == after


@pytest.mark.parametrize(("owner", "name"), marked_faults(), ids=str)
@pytest.mark.parametrize(
    "change",
    ["add", *(pytest.param(c, marks=pytest.mark.slow) for c in ("compact", "remove", "embed"))],
)
def test_every_failing_call_leaves_the_old_or_the_new_version(
    change, owner, name, updated, tmp_path, monkeypatch
):
    kb = tmp_path / "kb"
    _copy(updated, kb)
    before = contents(kb)
    CHANGES[change](kb)
    after = contents(kb)
    messages = []
    for n in range(200):
        _copy(updated, kb)
        with monkeypatch.context() as patch:
            fault = Failing(getattr(owner, name), n, full_disk)
            fault.patch(patch, owner, name)
            try:
                CHANGES[change](kb)
            except AdmiralError as error:
                messages.append(str(error))
        if fault.left >= 0:
            break  # fewer than n calls: all have failed once
        check_survived(kb, change, before, after)
    else:
        pytest.fail("no end of calls")
    assert all("No space left" in message for message in messages)


def test_a_second_writer_fails_or_waits(updated, tmp_path):
    kb = tmp_path / "kb"
    _copy(updated, kb)
    lock = FileLock(tmp_path / ".kb.lock")
    with lock:
        for change in CHANGES.values():
            with pytest.raises(AdmiralError, match="another process is building or changing it"):
                change(kb)
        with pytest.raises(AdmiralError, match="another process is building or changing it"):
            build(tmp_path / "corpus.jsonl", kb, bm25="none", overwrite=True, progress=False)
        done = []
        thread = threading.Thread(
            target=lambda: done.append(remove(["Bird"], kb, wait=True, progress=False))
        )
        thread.start()
        time.sleep(0.3)
        assert not done
    thread.join(60)
    assert done
    assert "Bird" not in contents(kb)


READER = """
import sys
from pathlib import Path
from admiral.kb import KnowledgeBase
kb, stop = map(Path, sys.argv[1:])
seen, last = set(), False
while True:
    last = stop.exists()
    with KnowledgeBase.open(kb) as opened:
        number = opened.document("Version").sentences[0]
        titles = set(opened.titles())
        expected = {"Version", "Bird"} | {f"Number {n}" for n in range(int(number))}
        assert titles == expected, (number, titles)
        hits = opened.search([f"version {number}"], 1)[0]
        assert hits[0].title == "Version", hits
        assert {d.title for d in opened.documents()} == titles
    if not seen:
        print("ready", flush=True)
    seen.add(int(number))
    if last:
        break
print(sorted(seen))
"""


def test_readers_see_one_version_at_a_time(tmp_path):
    kb, stop, changes = tmp_path / "kb", tmp_path / "stop", 9
    build(corpus(tmp_path, {"Version": "0", "Bird": "A text."}), kb, bm25="bm25s", progress=False)
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(kb), str(stop)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert reader.stdout.readline() == "ready\n"
    for number in range(1, changes + 1):
        new = {"Version": str(number), f"Number {number - 1}": "A text."}
        add(corpus(tmp_path, new), kb, on_duplicate="replace", progress=False)
        if number % 3 == 0:
            compact(kb, progress=False)
    stop.touch()
    output, errors = reader.communicate(timeout=120)
    assert reader.returncode == 0, errors
    seen = json.loads(output)
    assert (seen[0], seen[-1]) == (0, changes)
    remove(["Bird"], kb, progress=False)
    assert len(list((kb / "segments").iterdir())) == 2  # base and delta


def test_files_of_an_open_snapshot_are_not_removed(updated, tmp_path):
    kb = tmp_path / "kb"
    shutil.copytree(updated, kb)
    with KnowledgeBase.open(kb) as old:
        expected = list(old.documents())
        compact(kb, progress=False)
        remove(["Bird"], kb, progress=False)
        assert old.search(["text"], 9)[
            0
        ]  # opens the index now, from files that the new version does not use
        assert list(old.documents()) == expected
        assert not old.current
        assert verify(kb) == []
        assert (kb / "documents").is_dir()
    compact(kb, progress=False)
    assert sorted(path.name for path in kb.iterdir()) == [NAME, "segments"]
    with KnowledgeBase.open(kb) as new:
        assert new.current


def test_a_garbage_collected_snapshot_releases_its_locks(updated, tmp_path):
    kb = tmp_path / "kb"
    shutil.copytree(updated, kb)
    version = Snapshot.open(kb)
    del version
    compact(kb, progress=False)
    assert not (kb / "documents").exists()


def test_a_file_system_without_locks(updated, tmp_path, monkeypatch):
    def none(descriptor, operation):
        raise OSError(37, "No locks available")

    kb = tmp_path / "kb"
    _copy(updated, kb)
    before = contents(kb)
    with monkeypatch.context() as patch:
        # Only the locks of readers; writers use another library.
        locks = SimpleNamespace(flock=none, LOCK_SH=1, LOCK_EX=2, LOCK_NB=4)
        patch.setattr("admiral.kb.store.snapshot.fcntl", locks)
        compact(kb, progress=False)
        assert contents(kb) == before
        assert verify(kb) == []
    assert (kb / "documents").exists()


def test_a_missing_segment(updated, tmp_path):
    kb = tmp_path / "kb"
    shutil.copytree(updated, kb)
    (part,) = (kb / "segments").iterdir()
    shutil.rmtree(part)
    with pytest.raises(AdmiralError, match=rf"{part}.*: missing"):
        KnowledgeBase.open(kb)


def test_foreign_files_are_not_removed(updated, tmp_path):
    kb = tmp_path / "kb"
    shutil.copytree(updated, kb)
    for name in ("segments/notes", "titles.txt"):
        (kb / name).write_text("x")
    compact(kb, progress=False)
    assert (kb / "segments" / "notes").exists()
    problems = [problem.removeprefix(f"{kb}/") for problem in verify(kb)]
    assert problems == [
        "segments/notes: does not belong there",
        "titles.txt: does not belong there",
    ]
