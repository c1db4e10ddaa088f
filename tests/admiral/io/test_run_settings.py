"""The settings beside some results; what a run does with them is in test_output.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from admiral.errors import AdmiralError
from admiral.io.run_settings import check_settings, write_settings


def test_what_the_machine_decides_can_be_named(tmp_path: Path) -> None:
    results, path = tmp_path / "results.jsonl", tmp_path / "settings.json"
    write_settings(path, {"precision": "fp32", "hops": "2"})
    check_settings(results, path, {"precision": "fp32", "hops": "2"})
    with pytest.raises(AdmiralError, match=r"now bf16\).* or go on with --set precision=fp32$"):
        check_settings(results, path, {"precision": "bf16", "hops": "2"})
    with pytest.raises(
        AdmiralError, match=r"was 2, now 3; precision .* --overwrite to start anew$"
    ):
        check_settings(results, path, {"precision": "bf16", "hops": "3"})
