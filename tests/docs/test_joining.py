"""The code of docs/joining.md is run as it stands."""

from __future__ import annotations

import json
import re
from pathlib import Path

from admiral.kb import build

PAGE = Path(__file__).parents[2] / "docs" / "joining.md"


def test_the_code_does_what_the_page_says(tmp_path, monkeypatch, capsys):
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    monkeypatch.chdir(tmp_path)
    titles = {"wiki-1": "Late Night", "wiki-2": "Seth Meyers", "my-kb": "Late Night"}
    for name, title in titles.items():
        record = {"title": title, "text": f"A host of {name} late at night."}
        Path("corpus.jsonl").write_text(json.dumps(record))
        build("corpus.jsonl", name, bm25="bm25s", progress=False)
    exec(compile(code, str(PAGE), "exec"), {})
    said = capsys.readouterr().out
    assert said.startswith("2 [[ScoredTitle(title='Late Night'")
    assert said.count("ScoredTitle") == 2
