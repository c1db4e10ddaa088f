"""The system answers what the golden files say, and the comparison notices if it does not."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.golden import parts
from tests.golden.commands import FailedCommandError, admiral
from tests.golden.differences import differences
from tests.golden.golden import compare, main
from tests.golden.parts import FILES, PARTS, golden

ROOT = Path(__file__).parents[2]
_VARIANTS = [name for name in PARTS if name.startswith("retrieve-")]


def check(*arguments: str) -> None:
    """Run the check in a process of its own, so that other tests do not set its threads."""
    command = [sys.executable, "-m", "tests.golden.golden", "check", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_few_answers_of_each_part() -> None:
    check("--quick")


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_all_answers(name: str) -> None:
    check(name)


def test_files_are_complete_and_small() -> None:
    files = list(FILES.glob("*.json"))
    assert {file.stem for file in files} == PARTS.keys()
    assert sum(file.stat().st_size for file in files) < 1_500_000
    assert len(_VARIANTS) == 4
    for name in _VARIANTS:
        assert len(golden(name)) == 24


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        (("documents", 0, 0), "Oslo", 'documents[0][0]: "Rome" -> "Oslo"'),
        (("documents", 1, 1), 2.001, "documents[1][1]: 2.0 -> 2.001"),
        (("documents", 1, 2), 2, "documents[1][2]: 1 -> 2"),
        (("evidence", 0, 1), 4, "evidence[0][1]: 3 -> 4"),
        (("hops", 0, "proof", 0, 2), "!", 'hops[0].proof[0][2]: "=" -> "!"'),
        (("hops", 0, "proof", 0, 0), "is", 'hops[0].proof[0][0]: "was" -> "is"'),
        (("hops", 0, "proof"), None, 'hops[0].proof: [["was", "is", "="]] -> null'),
        (("hops", 1, "sufficient"), False, "hops[1].sufficient: true -> false"),
        (("hops", 1, "sufficient"), 1, "hops[1].sufficient: true -> 1"),
        (("stopped",), "max_hops", 'stopped: "sufficient" -> "max_hops"'),
        (("verdict",), None, 'verdict: {"label": "SUPPORTS"} -> null'),
        (("warnings",), ["long"], 'warnings: missing -> ["long"]'),
    ],
)
def test_a_changed_value_is_reported(path: tuple[Any, ...], value: object, line: str) -> None:
    before, after = _record(), _record()
    inner = after
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    assert list(differences({"a-001": before}, {"a-001": after})) == [f"a-001.{line}"]
    assert len(list(differences(after, before))) == 1


def _record() -> dict[str, Any]:
    """Return a new record in the form of the golden files."""
    return {
        "documents": [["Rome", 3.0, 0], ["Tiber", 2.0, 1], ["Paris", 1.0, 0]],
        "evidence": [["Rome", 3, 0.5]],
        "hops": [
            {"proof": [["was", "is", "="]], "sufficient": False},
            {"proof": None, "sufficient": True},
        ],
        "stopped": "sufficient",
        "verdict": {"label": "SUPPORTS"},
    }


def test_what_is_missing_added_or_moved_is_reported() -> None:
    after = _record()
    del after["hops"][1]
    assert list(differences(_record(), after)) == [
        'hops[1]: [{"proof": null, "sufficient": true}] -> []'
    ]
    after = _record()
    del after["verdict"]
    assert list(differences(_record(), after)) == ['verdict: {"label": "SUPPORTS"} -> missing']
    after = _record()
    after["documents"].insert(1, ["Oslo", 2.5, 0])
    assert list(differences(_record(), after)) == ['documents[1]: [] -> [["Oslo", 2.5, 0]]']
    after = _record()
    after["documents"].reverse()
    assert len(list(differences(_record(), after))) >= 1
    assert list(differences({"a": 1, "b": 2}, {"a": 1})) == ["b: 2 -> missing"]


def test_scores_may_differ_by_the_tolerance() -> None:
    assert list(differences({"score": 1.0}, {"score": 1.00009})) == []
    assert list(differences({"score": 1.0}, {"score": 1.00011})) == ["score: 1.0 -> 1.00011"]
    assert list(differences([["Rome", 1.0]], [["Rome", 0.99991]])) == []
    assert list(differences(_record(), _record())) == []


@pytest.mark.parametrize("name", sorted(PARTS.keys() - {"audit"}))
def test_a_score_of_each_file_counts(name: str) -> None:
    records = golden(name)
    changed = copy.deepcopy(records)
    holder, key = _first_score(changed)
    holder[key] += 1e-3
    assert len(list(differences(records, changed))) == 1


def test_the_texts_of_an_audit_count() -> None:
    records = golden("audit")
    changed = copy.deepcopy(records)
    statement = changed["Kakapo"]["statements"][0]
    statement[0] = "flag"
    assert list(differences(records, changed)) == ['Kakapo.statements[0][0]: "keep" -> "flag"']


def _first_score(value: Any) -> tuple[Any, Any]:
    """Return a container in JSON and the key of a number with a fraction in it."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(inner, float):
            return value, key
        if isinstance(inner, (dict, list)) and (found := _first_score(inner))[0] is not None:
            return found
    return None, None


def test_a_quick_check_compares_the_records_that_it_makes() -> None:
    expected = {"a": {"score": 1.0}, "b": {"score": 2.0}}
    assert compare(expected, {"b": {"score": 2.0}}, quick=True) == []
    assert compare(expected, {"b": {"score": 3.0}}, quick=True) == ["b.score: 2.0 -> 3.0"]
    assert compare(expected, {"c": {}}, quick=True) == ["c: missing -> {}"]
    assert compare(expected, {"b": {"score": 2.0}}, quick=False) == ['a: {"score": 1.0} -> missing']


def test_check_prints_differences_and_write_removes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OMP_NUM_THREADS", "HF_HUB_OFFLINE", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, os.environ.get(name, "1"))  # restores what the script sets
    monkeypatch.setattr(parts, "FILES", tmp_path)
    for name in ("verify-citation", "evaluate-citations"):
        (tmp_path / f"{name}.json").write_bytes((FILES / f"{name}.json").read_bytes())
    path = tmp_path / "evaluate-citations.json"
    records = json.loads(path.read_text())
    claims = records["claims"]
    path.write_text(json.dumps({**records, "claims": claims + 1}))
    done = CliRunner().invoke(main, ["check", "evaluate-citations"])
    assert done.exit_code == 1
    assert "evaluate-citations: 1 difference, " in done.output
    assert f"\n  claims: {claims + 1} -> {claims}\n" in done.output
    assert CliRunner().invoke(main, ["write", "evaluate-citations"]).exit_code == 0
    assert list(differences(records, json.loads(path.read_text()))) == []
    assert CliRunner().invoke(main, ["check", "evaluate-citations"]).exit_code == 0


def test_a_failed_command_says_why() -> None:
    with pytest.raises(FailedCommandError, match=r"admiral titles --kb absent: status 1\n.*absent"):
        admiral("titles", "--kb", "absent")
