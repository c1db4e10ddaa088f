"""``admiral library`` from building to searching, and its errors."""

import json

import pytest

from admiral.cli.main import main


@pytest.fixture
def sources(tmp_path):
    path = tmp_path / "sources.jsonl"
    records = [
        {"url": f"https://x.example/{n}", "title": f"T{n}", "text": f"Word{n} of the tower. " * 40}
        for n in range(3)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def run(capsys, *arguments):
    status = main(["library", *map(str, arguments)])
    output = capsys.readouterr()
    return status, output.out, output.err


def test_a_library_from_build_to_search(sources, tmp_path, capsys):
    place = ("--library", tmp_path / "library")
    status, out, _ = run(capsys, "build", sources, sources, *place, "--json")
    report = json.loads(out)
    assert (status, report["sources"], report["duplicates"], report["bad"]) == (0, 3, 3, 0)
    assert run(capsys, "build", sources, *place)[0] == 1  # exists already
    status, out, _ = run(capsys, "search", "Word1", *place, "-k", "1", "--json")
    assert (status, json.loads(out)["url"]) == (0, "https://x.example/1")
    assert "T1 <https://x.example/1>" in run(capsys, "search", "Word1", *place)[1]
    status, _, error = run(capsys, "search", "zebra", *place)
    assert status == 1
    assert "no passage" in error
    assert run(capsys, "remove", "http://www.x.example/1/", *place)[0] == 0
    status, _, error = run(capsys, "remove", "x.example/1", *place)
    assert (status, "no source" in error) == (1, True)
    status, out, _ = run(capsys, "add", sources, *place, "--json")
    assert {name: json.loads(out)[name] for name in ("added", "replaced", "sources")} == {
        "added": 1,
        "replaced": 2,
        "sources": 3,
    }
    status, out, _ = run(capsys, "info", *place, "--json")
    assert json.loads(out)["sources"] == 3
    assert "3 (0 without text)" in run(capsys, "info", *place)[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--words", "10", "--stride", "11"], "stride"),
        (["--bm25", "solr"], "solr"),
        (["--format", "pdf"], "pdf"),
        (["--on-duplicate", "merge"], "merge"),
    ],
)
def test_bad_settings_are_named(arguments, message, sources, tmp_path, capsys):
    status, _, error = run(capsys, "build", sources, "--library", tmp_path / "x", *arguments)
    assert status == 1
    assert message in error
    assert not (tmp_path / "x").exists()
