"""The code of docs/updating.md is run as it stands."""

from __future__ import annotations

import json
import re
from pathlib import Path

from admiral.kb import KnowledgeBase, build, info

PAGE = Path(__file__).parents[2] / "docs" / "updating.md"


def test_the_code_does_what_the_page_says(tmp_path, monkeypatch):
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    monkeypatch.chdir(tmp_path)
    for name, titles in {"corpus": ["Seth Meyers", "Bird"], "more": ["Bird", "Nest"]}.items():
        lines = [json.dumps({"title": title, "text": f"{name}."}) for title in titles]
        Path(f"{name}.jsonl").write_text("\n".join(lines))
    build("corpus.jsonl", "my-kb", bm25="none", progress=False)
    exec(compile(code, str(PAGE), "exec"), {})
    with KnowledgeBase.open("my-kb") as kb:
        found = [(document.title, *document.sentences) for document in kb.documents()]
        assert found == [("Bird", "more."), ("Nest", "more.")]
    assert info("my-kb").removed == 0
