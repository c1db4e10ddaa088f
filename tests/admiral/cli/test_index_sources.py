"""Knowledge bases of sources on the command line."""

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


@pytest.fixture
def run(tmp_path, capsys):
    """Return the status and the outputs of a command on one knowledge base."""

    def call(*arguments):
        capsys.readouterr()
        status = main([*map(str, arguments), "--kb", str(tmp_path / "kb")])
        return (status, *capsys.readouterr())

    return call


def test_from_index_to_remove(sources, run):
    again = sources.with_name("again.jsonl")
    again.write_bytes(sources.read_bytes())
    status, out, _ = run("index", "--sources", sources, again, "--json")
    report = json.loads(out)
    assert (status, report["documents"], report["duplicates"], report["bad"]) == (0, 3, 3, 0)
    assert run("index", "--sources", sources)[0] == 1  # exists, of other corpora
    assert run("index", "--sources", sources, again)[0] == 0  # is up to date
    status, out, _ = run("search", "Word1", "-k", "1", "--json")
    assert (status, json.loads(out)["title"]) == (0, "T1")
    assert run("remove", "http://www.x.example/1/")[0] == 0
    status, _, error = run("remove", "x.example/1")
    assert (status, "no document has the title or URL 'x.example/1'" in error) == (1, True)
    report = json.loads(run("add", sources, "--json")[1])  # of sources, as the knowledge base is
    assert (report["added"], report["replaced"], report["documents"]) == (1, 2, 3)
    facts = json.loads(run("info", "--json")[1])
    assert (facts["counts"]["passages"], facts["counts"]["empty"]) == (9, 0)
    assert facts["settings"]["words"] == 100


def test_sources_are_added_to_other_documents(sources, run, tmp_path):
    (tmp_path / "corpus.jsonl").write_text('{"title": "Emu", "text": "A bird."}\n')
    assert run("index", tmp_path / "corpus.jsonl", "--bm25", "bm25s")[0] == 0
    assert run("add", "--sources", sources)[0] == 0
    assert json.loads(run("search", "Word2", "--json")[1])["title"] == "T2"
    assert run("remove", "x.example/2", "Emu")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--sources", "--words", "10", "--stride", "11"], 1, "stride"),
        (["--sources", "--bm25", "solr"], 2, "solr"),
        (["--sources", "--on-duplicate", "merge"], 2, "--on-duplicate is not for --sources"),
        (["--sources", "--format", "jsonl"], 2, "--format is not for --sources"),
        (["--base-url", "https://x.example"], 2, "--base-url needs --sources"),
    ],
)
def test_bad_settings_are_named(arguments, status, message, sources, run, tmp_path):
    found, _, error = run("index", sources, *arguments)
    assert (found, message in error) == (status, True)
    assert not (tmp_path / "kb").exists()
