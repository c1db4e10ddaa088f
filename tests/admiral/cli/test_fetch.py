"""``admiral fetch`` with a site on this machine."""

from __future__ import annotations

import json

import pytest

from admiral.cli.main import main
from admiral.sources.open_sources import Sources
from tests.admiral.download.local_site import Answer, page, serving
from tests.admiral.kb.corpus.files.test_pdf_files import pdf, shown

PAGE = """The Tyne is long.<ref>{{{{cite web|url={0}/live|title=Rain|archive-url={0}/copy}}}}</ref>
It flooded.<ref>[{0}/flood Flood]</ref> It froze.<ref>{{{{cite book|title=Ice|last=Hill|isbn=1}}}}
</ref> It dried.<ref>[{0}/gone Gone]</ref> It is long.<ref>[{0}/paper.pdf Paper]</ref>
"""


@pytest.fixture
def site():
    with serving() as started:
        started.answers |= {
            "/copy": page("The Tyne is a river that flows through the north for many miles.", "T"),
            "/flood": page("In 1771 the river rose, and it flooded the whole valley.", "Flood"),
            "/paper.pdf": Answer(
                pdf(shown("The river is 118 kilometres long.")), "application/pdf"
            ),
        }
        yield started


@pytest.fixture
def folder(tmp_path, site):
    (tmp_path / "Tyne.wiki").write_text(PAGE.format(site.url("")))
    return tmp_path


@pytest.fixture
def run(folder, site, capsys):
    """Return the status and the outputs of the command."""

    def call(*arguments, page="Tyne.wiki", allowed=True):
        command = ["fetch", str(folder / page), "--kb", str(folder / "kb")]
        options = ["--delay", "0", "--no-progress"]
        if allowed:
            options += ["--allow-host", site.host]
        capsys.readouterr()
        status = main([*command, *options, *arguments])
        return (status, *capsys.readouterr())

    return call


def test_what_is_missing_is_listed(run, site):
    status, out, error = run("--list-missing")
    assert status == 0
    assert out.splitlines() == [
        f"{site.url('/live')} {site.url('/copy')}",
        *(site.url(path) for path in ("/flood", "/gone", "/paper.pdf")),
        "# not on the web: Hill. Ice. ISBN 1",
    ]
    assert "4 of 4 sources on the web are missing; 1 source is not on the web" in error
    records = [json.loads(line) for line in run("--list-missing", "--json")[1].splitlines()]
    rain = {"url": site.url("/live"), "title": "Rain", "archive_url": site.url("/copy")}
    assert records[0].items() >= {"status": "missing", "claims": 1, **rain}.items()
    ice = {"title": "Ice", "author": "Hill", "isbn": "1"}
    assert records[-1].items() >= {"status": "not_web", "claims": 1, **ice}.items()
    assert site.asked == []


def test_the_status_says_that_every_address_failed(run, site):
    site.answers.clear()
    status, _, error = run()
    assert (status, "nothing could be fetched. `--list-missing` prints" in error) == (1, True)


def test_sources_are_fetched_into_a_new_knowledge_base(run, folder, site):
    status, out, _ = run()
    assert status == 0
    assert "3 fetched, 3 of 4 sources on the web are there; 1 source is not on the web" in out
    assert "/gone: the server answers 404" in out
    assert "admiral add --sources pages.jsonl --kb" in out
    with Sources.open(folder / "kb") as opened:
        source = opened.source(site.url("/live"))
        assert source.archive_url == site.url("/copy")
        assert "flows through the north" in source.text
        assert "118 kilometres" in opened.source(site.url("/paper.pdf")).text
    asked = len(site.asked)
    again = run()[1]
    assert "0 fetched, 3 of 4" in again
    assert "/gone: the server answers 404" in again
    assert len(site.asked) == asked  # what is there, or gone, is not asked for again
    assert run("--list-missing")[1].splitlines()[0] == site.url("/gone")
    site.answers["/gone"] = page("It was a dry summer in the valley of the river.")
    assert "1 fetched, 4 of 4" in run("--retry")[1]


def test_pages_that_were_not_added_are_added_by_the_next_run(run, folder, site):
    (folder / "kb").write_text("in the way")
    status, _, error = run()
    assert status == 1
    assert "kb" in error
    asked = len(site.asked)
    (folder / "kb").unlink()
    assert "0 fetched, 3 of 4" in run()[1]
    assert len(site.asked) == asked


def test_lists_of_addresses(run, folder, site):
    urls = folder / "urls.txt"
    urls.write_text(f"# x\n{site.url('/flood')}\n\n{site.url('/live')} {site.url('/copy')}\n")
    counts = json.loads(run("--json", page="urls.txt")[1])
    assert counts == {
        "sources": 2, "fetched": 2, "without_text": 0, "failed": {}, "failed_before": 0,
        "not_tried": 0, "not_web": 0,
    }  # fmt: skip
    urls.write_text("The Tyne is a river.")
    status, _, error = run(page="urls.txt")
    assert status == 1
    assert "urls.txt:1: field 'url'" in error


def test_claims_of_a_file(run, folder, site):
    record = {"claim": "It flooded.", "urls": [site.url("/flood")]}
    (folder / "citations.jsonl").write_text(json.dumps(record))
    assert "1 fetched, 1 of 1" in run(page="citations.jsonl")[1]


def test_private_addresses_are_refused(run, site):
    status, out, _ = run(allowed=False)
    assert status == 1
    assert "is not of the public internet" in out
    assert site.asked == []


def test_without_a_network_it_says_what_to_bring(run, folder):
    (folder / "urls.txt").write_text("http://nowhere.invalid/a\nhttp://elsewhere.invalid/b\n")
    status, _, error = run(page="urls.txt")
    assert status == 1
    assert "this machine may be offline" in error
    assert "admiral index --sources pages.jsonl --kb" in error
    record = {"url": "http://nowhere.invalid/a", "html": "<p>It rained on the whole valley.</p>"}
    (folder / "pages.jsonl").write_text(json.dumps(record))
    build = ["index", "--sources", str(folder / "pages.jsonl"), "--kb", str(folder / "kb")]
    assert main(build) == 0
    assert run("--list-missing", page="urls.txt")[1] == "http://elsewhere.invalid/b\n"


def test_an_archive_without_a_place_for_the_address(run):
    status, _, error = run("--archive", "https://archive.example/")
    assert status == 1
    assert "Write {url} in it" in error
