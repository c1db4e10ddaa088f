"""The code of docs/integrations.md is run as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "integrations.md"
CODES = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
NEEDS = (None, "langchain_core", "haystack")


@pytest.mark.parametrize(
    ("code", "needs"), list(zip(CODES, NEEDS, strict=True)), ids=("asyncio", *NEEDS[1:])
)
def test_the_code_does_what_the_page_says(code, needs, monkeypatch, capsys):
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    if needs is not None:
        pytest.importorskip(needs, reason=f"needs the package {needs}")
    exec(compile(code, str(PAGE), "exec"), {})
    assert "Seth Meyers" in capsys.readouterr().out
