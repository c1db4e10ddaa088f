"""`admiral audit` over the bundled demo: decisions, statuses and errors."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from admiral.citations.citation_records import Citation, CitedClaim
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.citer import Citer
from admiral.citations.extract import claims_of_file
from admiral.cli.cite import audit_command
from admiral.errors import AdmiralError
from admiral.kb import build
from admiral.sources import Source
from admiral.sources.source_indexing import build_sources
from tests.admiral.io.test_rendering import Reader
from tests.admiral.kb.corpus.files.test_file_formats import pdf

DEMO = Path(__file__).parents[3] / "admiral" / "data" / "citations"


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    path = tmp_path_factory.mktemp("audits") / "kb"
    lines = (DEMO / "sources.jsonl").read_text(encoding="utf-8").splitlines()
    build_sources([Source(**json.loads(line)) for line in lines], path)
    return path


def run(*arguments):
    result = CliRunner().invoke(
        audit_command, [*map(str, arguments), "--quiet", "--verifier", "coverage"]
    )
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_a_page_of_the_demo(kb, tmp_path):
    output = tmp_path / "audit.html"
    page = DEMO / "pages" / "Hubble_Space_Telescope.wiki"
    result = run(page, "--kb", kb, "--output", output)
    assert re.search(
        r"audit\.html: 7 statements: \d to check, \d to replace, \d to keep, \d not checked",
        result.output,
    )
    found = Reader(output.read_text())
    assert found.tags.count("article") == 7
    assert "Citations of Hubble Space Telescope" in found.text
    # The statement whose source is another page of the demo comes first, and that is suggested.
    first = found.text[found.text.index("least support first") :]
    assert first.index("It was composed of 342 exposures.") < first.index("Keep:")
    assert "Ten days in December" in first[: first.index("Keep:")]


def test_a_folder_of_pages_and_its_work_list(kb, tmp_path):
    pages, output = tmp_path / "pages", tmp_path / "work"
    pages.mkdir()
    names = ["Hubble_Space_Telescope.wiki", *sorted(p.name for p in (DEMO / "pages").iterdir())[:1]]
    for name in dict.fromkeys(names):
        (pages / name).write_bytes((DEMO / "pages" / name).read_bytes())
    options = ("--kb", kb, "--output", output)
    result = run("--pages", pages, *options)
    assert re.search(r"index\.html: \d+ statements: \d+ to check", result.output)
    records = [json.loads(line) for line in (output / "worklist.jsonl").read_text().splitlines()]
    assert {record["audit"] for record in records} >= {"Hubble_Space_Telescope.html"}
    assert [record["urgency"] for record in records] == sorted(one["urgency"] for one in records)
    index = (output / "index.html").read_text()
    flagged = [record for record in records if record["flagged"]]
    assert flagged
    for record in flagged:
        assert record["summary"] in Reader(index).text
    (target,) = re.findall(r'href="(Hubble_Space_Telescope\.html)#(\w+)"', index)[:1]
    assert f'id="{target[1]}"' in (output / target[0]).read_text()
    # What is done is kept, and a page that is missing is made again.
    kept = (output / "Hubble_Space_Telescope.html").stat().st_mtime_ns
    other = next(p for p in output.glob("*.jsonl") if p.stem not in ("worklist", names[0][:-5]))
    before = other.read_bytes()
    other.unlink()
    run("--pages", pages, *options)
    assert (output / "Hubble_Space_Telescope.html").stat().st_mtime_ns == kept
    assert [_untimed(line) for line in other.read_bytes().splitlines()] == [
        _untimed(line) for line in before.splitlines()
    ]
    with pytest.raises(AdmiralError, match="was written with other settings"):
        run("--pages", pages, *options, "--set", "supported=0.9")


def _untimed(line):
    return json.loads(line) | {"seconds": 0}


def test_errors_of_folders(kb, tmp_path):
    (tmp_path / "pages").mkdir()
    options = ("--kb", kb, "--output")
    with pytest.raises(AdmiralError, match="holds no files"):
        run("--pages", tmp_path / "pages", *options, tmp_path / "work")
    (tmp_path / "pages" / "A.wiki").write_text("It rained.")
    with pytest.raises(AdmiralError, match="is not empty and holds no work list"):
        run("--pages", tmp_path / "pages", *options, tmp_path / "pages" / "..")
    assert run(*options, tmp_path / "work").exit_code == 2


def test_sites_of_a_block_list_are_not_suggested(kb, tmp_path):
    page = DEMO / "pages" / "Hubble_Space_Telescope.wiki"
    blocked = tmp_path / "blocked.txt"
    blocked.write_text("# agencies\n\nhttps://nasa.gov/\n")
    options = ("--kb", kb, "--output", tmp_path / "audit.html")
    block = ("--set", f"blocked_sites={blocked}")
    with pytest.raises(AdmiralError, match=r"blocked\.txt:3: 'https://nasa.gov/' is not a host"):
        run(page, *options, *block)
    sites = {
        json.loads(line)["url"].split("/")[2].removeprefix("www.")
        for line in (DEMO / "sources.jsonl").read_text().splitlines()
    }
    blocked.write_text("\n".join(sites))
    run(page, *options, *block)
    assert "cannot be a source, such as one of wikipedia, so it was not checked" in (
        Reader((tmp_path / "audit.html").read_text()).text.lower()
    )


def test_statuses_of_the_demo_are_those_of_its_gold_file(kb):
    """Of all claims with a source that cannot be checked, and some others."""
    gold = {}
    for line in (DEMO / "gold.jsonl").read_text().splitlines():
        record = json.loads(line)
        gold.setdefault(record["id"], []).append(record["status"])
    gold = {
        id: statuses
        for id, statuses in gold.items()
        if set(statuses) != {"scored"} or id.endswith(":1:1")
    }
    assert {each for statuses in gold.values() for each in statuses} == {
        *("scored", "not_in_knowledge_base", "no_text", "too_short", "not_english", "not_web")
    }
    pages = sorted((DEMO / "pages").iterdir())
    claims = [claim for page in pages for claim in claims_of_file(page) if claim.id in gold]
    config = CitationConfig(verifier="coverage", suggest=False)
    with Citer.open(kb, config=config) as citer:
        verdicts = list(citer.verify_many(claims))
    assert {each.claim.id: [one.status for one in each.existing] for each in verdicts} == gold
    for verdict in verdicts:
        if not any(each.status == "scored" for each in verdict.existing):
            assert verdict.decision == "not_checked"


def test_errors(kb, tmp_path):
    page = tmp_path / "bare.wiki"
    page.write_text("It rained.")
    with pytest.raises(AdmiralError, match=r"bare\.wiki: holds no statement with a reference"):
        run(page, "--kb", kb, "--output", tmp_path / "audit.html")
    assert not (tmp_path / "audit.html").exists()


def test_an_indexed_folder_has_sources(tmp_path):
    folder, page, output = tmp_path / "folder", tmp_path / "page.wiki", tmp_path / "audit.html"
    folder.mkdir()
    lamp = "The lamp of the old harbour burns whale oil since 1882. " + "It is white. " * 30
    (folder / "lamp.pdf").write_bytes(pdf(lamp, title="The lamp"))
    (folder / "town.html").write_text("<title>The town</title>" + "<p>The town is by the sea." * 9)
    build(folder, tmp_path / "kb", bm25="bm25s", progress=False)
    page.write_text(
        "The lamp of the old harbour burns whale oil since 1882."
        "<ref>{{cite web|url=https://lamps.example/|title=Lamps}}</ref>\n"
    )
    result = run(page, "--kb", tmp_path / "kb", "--output", output)
    assert "1 statement" in result.output
    text = Reader(output.read_text()).text
    assert "not in the knowledge base" in text
    cited = (Citation("The lamp"),)
    claim = CitedClaim("1", "The lamp burns whale oil since 1882.", citations=cited)
    with Citer.open(tmp_path / "kb", config=CitationConfig(verifier="coverage")) as citer:
        best, *_ = citer.suggest("The lamp of the old harbour burns whale oil.")
        assert (best.url, best.title) == (str(folder / "lamp.pdf"), "The lamp")
        verdict = citer.verify(claim)
    assert [one.status for one in verdict.existing] == ["scored"]
    assert verdict.decision == "keep"
