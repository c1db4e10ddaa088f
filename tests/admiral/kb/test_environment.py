"""Other processes, clocks and locales do not affect a knowledge base."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, build, verify
from admiral.kb.bm25 import RowIndex
from admiral.storage.atomic_files import swap_directories

ROOT = Path(__file__).parents[3]
INDEX = [sys.executable, "-c", "from admiral.cli.main import run; run()", "index"]


def write(path, word, count):
    records = (
        {"title": f"T{n}", "sentences": [f"{word} {n}."] * (n % 3 + 1)} for n in range(count)
    )
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@contextmanager
def constantly_replaced(folder):
    """Replace a knowledge base by two others in turn, as fast as possible."""
    for word, count in (("old", 30), ("new", 45)):
        build(write(folder / f"{word}.jsonl", word, count), folder / word, bm25="bm25s")
    shutil.copytree(folder / "old", folder / "kb")
    completed = threading.Event()

    def replace():
        while not completed.is_set():
            for word in ("new", "old"):
                shutil.copytree(folder / word, folder / "fresh")
                swap_directories(folder / "fresh", folder / "kb")
                shutil.rmtree(folder / "fresh")

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        yield folder / "kb"
    finally:
        completed.set()
        thread.join()


def test_opening_during_replacements_gives_one_build(tmp_path):
    errors = []
    searches = []
    with constantly_replaced(tmp_path) as path:
        until = time.monotonic() + 3
        while time.monotonic() < until:
            with KnowledgeBase.open(path) as kb:
                words = {document.sentences[0].split()[0] for document in kb.documents()}
                assert (len(kb), words) in [(30, {"old"}), (45, {"new"})]
                try:
                    (hits,) = kb.search(["old new"], 100)
                except AdmiralError as error:  # search opens the index, which has been replaced
                    errors.append(str(error))
                else:
                    searches.append(len(hits) == len(kb))
    assert searches
    assert all(searches)
    assert all("was replaced by another build" in message for message in errors)


def test_an_index_replaced_while_it_is_opened_is_an_error(tmp_path, monkeypatch):
    for word, count in (("old", 3), ("new", 4)):
        build(write(tmp_path / f"{word}.jsonl", word, count), tmp_path / word, bm25="bm25s")

    def replace_and_open(*args, **kwargs):
        (tmp_path / "old").rename(tmp_path / "gone")
        (tmp_path / "new").rename(tmp_path / "old")
        return RowIndex(*args, **kwargs)

    monkeypatch.setattr("admiral.kb.knowledge_base.RowIndex", replace_and_open)
    with (
        KnowledgeBase.open(tmp_path / "old") as kb,
        pytest.raises(AdmiralError, match="was replaced by another build"),
    ):
        kb.search(["old"], 3)


def test_concurrent_builds_succeed_or_report_the_lock(tmp_path):
    corpora = [write(tmp_path / f"{word}.jsonl", word, 300) for word in ("one", "two", "three")]
    kb = tmp_path / "kb"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    options = ["--kb", str(kb), "--bm25", "none", "--overwrite"]
    running = [
        subprocess.Popen([*INDEX, str(corpus), *options], env=env, stderr=subprocess.PIPE)
        for corpus in corpora
    ]
    ended = [(process.communicate()[1].decode(), process.returncode) for process in running]
    assert 0 in {status for _, status in ended}
    for said, status in ended:
        assert status == 0 or "another process is building or changing it" in said
    assert verify(kb) == []
    with KnowledgeBase.open(kb) as opened:
        words = {document.sentences[0].split()[0] for document in opened.documents()}
    assert (len(words), len(opened)) == (1, 300)
    assert {path.name for path in tmp_path.iterdir()} == {"kb", *(c.name for c in corpora)}


LANGUAGES = {
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    # Like a Java process in Turkey, where the lower case of I has no dot.
    "tr_TR": {"LC_ALL": "tr_TR.UTF-8", "_JAVA_OPTIONS": "-Duser.language=tr -Duser.country=TR"},
}
SEARCH = """
import sys
from pathlib import Path
from admiral.kb import KnowledgeBase, build, verify
folder = Path(sys.argv[1])
build(folder / "c.jsonl", folder / "kb", bm25=sys.argv[2], progress=False)
assert verify(folder / "kb") == []
with KnowledgeBase.open(folder / "kb") as kb:
    for query in ("TITLE INDIGO", "indigo title", "\\u0130stanbul", "ISTANBUL", "\\u0131rmak"):
        print(ascii([hit.title for hit in kb.search([query], 5)[0]]))
    print(ascii(list(kb.complete("I"))))
"""


@pytest.mark.parametrize("bm25", ["bm25s", pytest.param("lucene", marks=pytest.mark.slow)])
def test_the_locale_does_not_matter(bm25, write_jsonl):
    corpus = write_jsonl(
        [
            {"title": "INDIGO", "text": "The title is in capitals. I think."},
            {"title": "İstanbul", "text": "A city by the Bosporus, ISTANBUL in English."},
            {"title": "Irmak", "text": "A river: ırmak."},
        ],
        "c.jsonl",
    )
    outputs = {}
    for name, changes in {"as it is": {}, **LANGUAGES}.items():
        folder = corpus.parent / name
        folder.mkdir()
        shutil.copy(corpus, folder)
        env = {**os.environ, "PYTHONPATH": str(ROOT), **changes}
        completed = subprocess.run(
            [sys.executable, "-c", SEARCH, str(folder), bm25], env=env, capture_output=True
        )
        assert completed.returncode == 0, completed.stderr.decode()
        outputs[name] = completed.stdout
    assert "INDIGO" in outputs["as it is"].decode()
    assert outputs["C"] == outputs["tr_TR"] == outputs["as it is"]
