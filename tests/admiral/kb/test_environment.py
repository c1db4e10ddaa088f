"""The locale does not affect a knowledge base."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


LANGUAGES = {
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    # Like a Java process in Turkey, where the lower case of I has no dot.
    "tr_TR": {"LC_ALL": "tr_TR.UTF-8", "_JAVA_OPTIONS": "-Duser.language=tr -Duser.country=TR"},
}
SEARCH = """
import sys
from pathlib import Path
from admiral.kb import KnowledgeBase, build, check
folder = Path(sys.argv[1])
build(folder / "c.jsonl", folder / "kb", bm25=sys.argv[2], progress=False)
assert check(folder / "kb") == []
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
