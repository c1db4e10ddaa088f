"""Files of pages and dumps, the command, and the records of citations."""

from __future__ import annotations

import bz2
import json

import pytest
from click.testing import CliRunner

from admiral.citations.citation_file import parse_claim, read_citations
from admiral.citations.citation_records import Citation, CitedClaim
from admiral.citations.extract import claims_of_file
from admiral.cli.cite import extract_citations_command
from admiral.errors import AdmiralError, RecordError
from admiral.records import json_of

FAILED = (
    "It rained.<ref>https://a.example/1</ref>{{failed verification}} "
    "It dried.<ref>[http://b.example B]</ref>"
)


def dumped(title, text, *, namespace=0, redirect=False):
    to = '<redirect title="X" />' if redirect else ""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    return (
        f"<page><title>{title}</title><ns>{namespace}</ns><id>7</id>{to}<revision><id>9</id>"
        f'<text xml:space="preserve">{escaped}</text></revision></page>'
    )


DUMP = (
    '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11"><siteinfo>'
    "<sitename>Wikipedia</sitename></siteinfo>"
    + dumped("Weather", FAILED)
    + dumped("Talk:Weather", FAILED, namespace=1)
    + dumped("Rain", FAILED, redirect=True)
    + dumped("Sun", "It shines.<ref>http://c.example</ref>")
    + "</mediawiki>"
)


def run(*arguments):
    result = CliRunner().invoke(extract_citations_command, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_a_compressed_dump_gives_the_failed_references(tmp_path):
    dump, output = tmp_path / "dump.xml.bz2", tmp_path / "c.jsonl"
    dump.write_bytes(bz2.compress(DUMP.encode()))
    run(dump, "--format", "dump", "--tagged", "failed-verification", "--output", output)
    (claim,) = read_citations(output)
    assert (claim.page, claim.claim, claim.tags) == (
        "Weather",
        "It rained.",
        ("failed-verification",),
    )
    run(dump, "--output", output)  # recognised by its beginning
    assert [each.page for each in read_citations(output)] == ["Weather", "Weather", "Sun"]


def test_a_dump_that_is_cut_off_is_one_error_and_writes_nothing(tmp_path):
    dump, output = tmp_path / "dump.xml", tmp_path / "c.jsonl"
    dump.write_text(DUMP[:-60])
    output.write_text("old")
    with pytest.raises(AdmiralError, match=r"dump\.xml: is not a whole XML dump .* after 3 pages"):
        run(dump, "--output", output)
    assert output.read_text() == "old"


def test_entities_of_a_dump_are_not_resolved(tmp_path):
    (tmp_path / "d.xml").write_text(
        '<!DOCTYPE m [<!ENTITY a SYSTEM "file:///etc/hostname">]>' + DUMP.replace("shines", "&a;")
    )
    claims = list(claims_of_file(tmp_path / "d.xml", format="dump"))
    assert [each.claim for each in claims][:2] == ["It rained.", "It dried."]
    assert all(each.claim == "It" for each in claims[2:])


def test_errors_name_the_file_and_the_remedy(tmp_path):
    page = tmp_path / "page.wiki"
    page.write_bytes(b"It rained.\xff")
    with pytest.raises(AdmiralError, match=r"page\.wiki: is not UTF-8 \(byte 11\)"):
        run(page, "--output", tmp_path / "c.jsonl")
    with pytest.raises(AdmiralError, match=r"none\.wiki: cannot be read"):
        run(tmp_path / "none.wiki", "--output", tmp_path / "c.jsonl")
    with pytest.raises(AdmiralError, match="--tagged nonsense: is not a known tag"):
        run(page, "--output", tmp_path / "c.jsonl", "--tagged", "nonsense")


def test_records_are_read_as_they_were_written(tmp_path):
    claim = CitedClaim(
        "T:1:1",
        "It rained, it dried.",
        "T",
        ("A", "B"),
        "Before.",
        "After.",
        (0, 10),
        "list",
        ("dead-link",),
        (Citation("https://a.example", "1", quote="wet"), Citation("", "2", "A book")),
    )
    record = json.loads(json.dumps(json_of(claim)))
    assert record["citations"][1]["archive_url"] is None
    assert parse_claim(record, "f:1") == claim


def test_a_record_of_wafer():
    record = {
        "id": "w1",
        "input": "Jo [SEP] Section::::Career.:Late years. [SEP] He won. He lost in 1999[CIT]. "
        "After.",
        "output": [
            {
                "answer": "https://a.example/x",
                "provenance": [{"url": "https://a.example/x", "title": "Ex", "text": "..."}],
            },
            {"answer": "https://b.example", "provenance": []},
        ],
        "meta": {"sentences": ["He won.", "He lost in 1999[CIT]"], "wikipedia_title": "Jo"},
    }
    claim = parse_claim(record, "f:1")
    assert claim == CitedClaim(
        "w1",
        "He lost in 1999",
        "Jo",
        ("Career", "Late years"),
        "He won.",
        ". After.",
        (0, 15),
        citations=(Citation("https://a.example/x", title="Ex"), Citation("https://b.example")),
    )
    failed = record | {
        "input": "He lost in 1999[CIT]",
        "meta": {},
        "output": [
            {"answer": "Failed verification", "provenance": [{"url": "https://a.example/x"}]}
        ],
    }
    claim = parse_claim(failed, "f:1")
    assert (claim.claim, claim.tags) == ("He lost in 1999", ("failed-verification",))
    assert [each.url for each in claim.citations] == ["https://a.example/x"]


def test_a_record_of_wice():
    meta = {
        "id": "d1",
        "claim_title": "Jo",
        "claim_section": "Career.:Solo",
        "claim_context": "Up.",
    }
    record = {"label": "supported", "claim": "He won.", "evidence": ["x"], "meta": meta}
    assert parse_claim(record, "f:1") == CitedClaim(
        "d1",
        "He won.",
        "Jo",
        ("Career", "Solo"),
        "Up.",
        span=(0, 7),
        citations=(Citation("wice:d1"),),
    )


@pytest.mark.parametrize(
    ("record", "field"),
    [
        ({}, "claim"),
        ({"claim": " "}, "claim"),
        ({"claim": 5}, "claim"),
        ({"claim": "a", "span": [0, 9]}, "span"),
        ({"claim": "a", "kind": "poem"}, "kind"),
        ({"claim": "a", "citations": "x"}, "citations"),
        ({"claim": "a", "citations": [{"url": 1}]}, "citations[0].url"),
        ({"claim": "a", "section": [1]}, "section[0]"),
        ({"claim": "a", "id": True}, "id"),
        ({"input": "", "output": []}, "input"),
        ({"input": "a[CIT]", "output": {}}, "output"),
    ],
)
def test_bad_records_name_the_field(record, field):
    with pytest.raises(RecordError) as caught:
        parse_claim(record, "f:1")
    assert caught.value.field == field


def test_an_id_that_occurs_twice_is_an_error(tmp_path):
    (tmp_path / "c.jsonl").write_text('{"id": "1", "claim": "a"}\n{"id": "1", "claim": "b"}\n')
    with pytest.raises(RecordError, match=r"also the id at .*:1"):
        list(read_citations(tmp_path / "c.jsonl"))
