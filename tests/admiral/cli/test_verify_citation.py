"""The commands on citations: one pair, a file that is resumed, suggestions, evaluation."""

import json

import pytest
from click.testing import CliRunner

from admiral.cli.cite import cite_command, verify_citation_command
from admiral.cli.evaluate import evaluate_command
from admiral.errors import AdmiralError
from admiral.sources.source_indexing import build_sources
from tests.admiral.citations.cited_pages import BRIDGE, HARBOUR

_FAST = ["--verifier", "coverage"]
_RECORDS = [
    {
        "id": "1",
        "claim": "The Eastern Bridge was opened in 1932.",
        "citations": [{"url": BRIDGE.url}],
    },
    {
        "id": "2",
        "claim": "The Eastern Bridge is 320 metres long and was closed in 1978.",
        "citations": [{"url": HARBOUR.url}],
    },
    {"id": "3", "claim": "The lighthouse was first lit in 1911.", "citations": [{"url": ""}]},
]


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    path = tmp_path_factory.mktemp("commands") / "kb"
    build_sources([BRIDGE, HARBOUR], path)
    return path


@pytest.fixture
def citations(tmp_path):
    path = tmp_path / "citations.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in _RECORDS))
    return path


def _run(*arguments):
    result = CliRunner().invoke(
        verify_citation_command, [*map(str, arguments), *_FAST], standalone_mode=False
    )
    if result.exception is not None:
        raise result.exception
    return result


def _verdicts(path):
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [record | {"seconds": 0} for record in records]


def test_one_pair_without_a_knowledge_base(tmp_path):
    source = tmp_path / "page.txt"
    source.write_text(BRIDGE.text, encoding="utf-8")
    good = _run("--claim", "The Eastern Bridge was opened in 1932.", "--source", source)
    assert good.output.startswith("KEEP")
    assert good.return_value == 0
    wrong = "Zoe Quill painted portraits of horses in Zanzibar."
    bad = _run("--claim", wrong, "--source", source, "--fail-on-flag", "--json")
    assert json.loads(bad.output)["decision"] == "flag"
    assert bad.return_value == 1
    source.write_text("Too short.", encoding="utf-8")
    short = _run("--claim", wrong, "--source", source, "--fail-on-flag", "--json")
    assert json.loads(short.output)["existing"][0]["status"] == "too_short"
    assert short.return_value == 0


def test_an_html_page_as_the_source(tmp_path):
    source = tmp_path / "page.html"
    source.write_text(
        f"<html><head><title>Bridge</title></head><body><article><p>{BRIDGE.text}</p>"
        "</article></body></html>",
        encoding="utf-8",
    )
    result = _run("--claim", "The Eastern Bridge is long.", "--source", source, "--json")
    assert json.loads(result.output)["existing"][0]["status"] == "scored"


def test_a_run_that_was_killed_is_resumed(kb, citations, tmp_path):
    whole, output = tmp_path / "whole.jsonl", tmp_path / "verdicts.jsonl"
    _run("--kb", kb, "--input", citations, "--output", whole)
    assert [record["decision"] for record in _verdicts(whole)] == ["keep", "replace", "not_checked"]
    # As a process leaves it that is killed while it writes the second record.
    _run("--kb", kb, "--input", citations, "--output", output)
    first, second, _ = output.read_bytes().splitlines(keepends=True)
    output.write_bytes(first + second[:40])
    again = _run("--kb", kb, "--input", citations, "--output", output, "--fail-on-flag")
    assert again.return_value == 1
    assert _verdicts(output) == _verdicts(whole)


@pytest.mark.parametrize(
    ("line", "field"),
    [("{", "JSON"), ('{"id": "9"}', "claim"), ('{"claim": "x", "citations": [1]}', "citations")],
)
def test_bad_records_are_named(kb, tmp_path, line, field):
    path = tmp_path / "bad.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(AdmiralError, match=f"bad.jsonl:1.*{field}"):
        _run("--kb", kb, "--input", path)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--claim", "x"],
        ["--kb", "x"],
        ["--claim", "x", "--source", "y", "--input", "z"],
        ["--claim", "x", "--source", "y", "--kb", "z"],
    ],
)
def test_wrong_usage(arguments):
    assert CliRunner().invoke(verify_citation_command, arguments).exit_code == 2


def test_a_file_without_claims_is_an_error(kb, tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n")
    for output in ([], ["--output", tmp_path / "verdicts.jsonl"]):
        with pytest.raises(AdmiralError, match=r"empty\.jsonl: holds no claims"):
            _run("--kb", kb, "--input", empty, *output)
    assert not (tmp_path / "verdicts.jsonl").exists()


def test_what_was_not_checked_is_written_in_words(kb, citations):
    shown = _run("--kb", kb, "--input", citations).output
    assert "NOT CHECKED  The lighthouse" in shown
    assert "not checked: not web" in shown


def test_titles_are_no_part_of_quotations(tmp_path):
    source = tmp_path / "page.txt"
    source.write_text(f"The Eastern Bridge of Belmar\n{BRIDGE.text}", encoding="utf-8")
    shown = _run("--claim", "The Eastern Bridge was opened in 1932.", "--source", source).output
    assert "“The Eastern Bridge was opened on 4 May 1932" in shown


def test_cite_suggests_sources(kb):
    statement = "The lighthouse of the harbour was first lit in 1911."
    given = [statement, "--kb", str(kb), "--json", *_FAST]
    result = CliRunner().invoke(cite_command, given)
    first = json.loads(result.output.splitlines()[0])
    assert (first["rank"], first["url"], first["margin"]) == (1, HARBOUR.url, None)
    assert HARBOUR.text[first["passage"]["start"] : first["passage"]["end"]]
    readable = CliRunner().invoke(cite_command, [*given[:3], "-k", "1", *_FAST])
    assert HARBOUR.url in readable.output
    assert BRIDGE.url not in readable.output


def test_verdicts_on_labelled_claims_are_evaluated(tmp_path):
    """Sources and claims of the same records of WiCE's format, then its measures."""
    gold = tmp_path / "claims.jsonl"
    records = [
        _labelled("a-1", "The bridge was opened in 1932.", BRIDGE.text, "supported"),
        _labelled(
            "b-1",
            "The harbour has a lighthouse designed in 1850.",
            HARBOUR.text,
            "partially_supported",
        ),
        _labelled("c-1", "Zoe Quill painted horses in Zanzibar.", BRIDGE.text, "not_supported"),
    ]
    gold.write_text("".join(json.dumps(record) + "\n" for record in records))
    from admiral.sources.source_files import SourceFiles

    kb, output = tmp_path / "kb", tmp_path / "verdicts.jsonl"
    build_sources(SourceFiles([gold]), kb)
    _run("--kb", kb, "--input", gold, "--output", output, "--set", "suggest=false")
    result = CliRunner().invoke(
        evaluate_command, ["citations", "--gold", str(gold), "--predictions", str(output), "--json"]
    )
    record = json.loads(result.output)
    assert (record["claims"], record["not_scored"]) == (3, 0)
    assert record["measures"]["AUROC, supported > not"]["value"] == 1.0
    assert record["decisions"]["flag"]["not_supported"] == 1


def _labelled(id, claim, text, label):
    return {
        "claim": claim,
        "label": label,
        "evidence": ["(meta data) TITLE: A page", *text.split(". ")],
        "supporting_sentences": [[1]],
        "meta": {"id": id, "claim_title": id, "claim_section": "", "claim_context": ""},
    }
