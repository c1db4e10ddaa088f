"""The form that audits a page, in Chromium: progress, the audit, hostile pages, keys."""

import pytest

pytest.importorskip("playwright", reason="needs Playwright: pip install playwright")

from playwright.sync_api import expect

from admiral.citations.citation_settings import CitationConfig
from admiral.serving.application import create_app
from admiral.serving.page_audits import PageAudits
from admiral.serving.service import Service
from admiral.sources import Source
from admiral.sources.source_indexing import build_sources
from tests.admiral.browser import BROWSER_MARKS, browser, context, no_serious_violation
from tests.admiral.citations.cited_pages import BRIDGE, HARBOUR
from tests.admiral.serving.live_service import listening

__all__ = ["browser", "context"]

pytestmark = BROWSER_MARKS

KEY = b"a-key-for-the-tests"
ATTACK = "<img src=x onerror=\"document.title='attacked'\">"
MARK = f"<ref>{HARBOUR.url}</ref>"
PAGE = (
    f"The Eastern Bridge was opened on 4 May 1932 by Governor Ada Lane.{MARK}\n"
    f"Ferries leave for the islands twice a day {ATTACK} in summer.<ref>{BRIDGE.url}</ref>\n"
)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    kb = tmp_path_factory.mktemp("form") / "kb"
    hostile = Source("https://h.example", f"{ATTACK} </script>", f"{ATTACK} {BRIDGE.text} {ATTACK}")
    build_sources([BRIDGE, HARBOUR, hostile], kb)
    service = Service({})
    config = CitationConfig(verifier="coverage", accept_above=0.5)
    audits = PageAudits(kb, config, service.jobs)
    with listening(create_app(service, [KEY], None, audits)) as url:
        yield url


@pytest.fixture
def page(context, address):
    opened = context.new_page()
    problems = []
    opened.on("console", lambda message: problems.append(message.text))
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.goto(f"{address}/audit")
    yield opened
    assert [each for each in problems if "401" not in each and "422" not in each] == []


def start(page):
    page.get_by_role("button", name="Audit").click()


def with_key(page):
    """Give the key, which is asked for once the service has refused a request."""
    start(page)
    expect(page.get_by_label("API key")).to_be_visible()
    page.get_by_label("API key").fill(KEY.decode())


def test_a_pasted_page_is_audited_and_saved_with_an_accepted_source(page):
    no_serious_violation(page)
    page.get_by_label("Page, as wikitext").fill(PAGE)
    page.get_by_label("Title").fill(f"Belmar {ATTACK}")
    with_key(page)
    start(page)
    expect(page.get_by_role("status")).to_have_text("Complete: 2 statements.")
    link = page.get_by_role("link", name="Show the audit")
    expect(link).to_be_focused()
    link.click()
    expect(page.get_by_role("article")).to_have_count(2)
    assert page.title() == "Audit of citations"
    article = page.get_by_role("article").filter(has=page.locator("strong", has_text="opened on"))
    expect(article).to_contain_text("Replace: ")
    article.get_by_label("Source").select_option(label="Eastern Bridge")
    article.get_by_label("accept").check()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the page").click()
    cited = f"{{{{cite web |url={BRIDGE.url} |title=Eastern Bridge}}}}"
    saved = download.value.path().read_text(encoding="utf-8")
    assert saved == PAGE.replace(MARK, f"<ref>{cited}</ref>")
    no_serious_violation(page)


def test_a_file_is_audited_under_its_name(page, tmp_path):
    file = tmp_path / "Belmar_(town).wiki"
    file.write_text(PAGE)
    page.get_by_label("or a file").set_input_files(file)
    expect(page.get_by_label("Title")).to_have_value("Belmar (town)")
    with_key(page)
    start(page)
    page.get_by_role("link", name="Show the audit").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Citations of Belmar (town)")


def test_errors_are_shown_and_leave_the_form_usable(page):
    start(page)
    expect(page.get_by_role("status")).to_contain_text("There is no page.")
    page.get_by_label("Page, as wikitext").fill("It rained.")
    with_key(page)
    start(page)
    expect(page.get_by_role("status")).to_contain_text("no statement with a reference")
    expect(page.get_by_role("button", name="Audit")).to_be_enabled()
