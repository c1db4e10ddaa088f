"""Uploads in Chromium: files become a knowledge base, with progress, and are deleted again."""

import pytest

pytest.importorskip("playwright", reason="needs Playwright: pip install playwright")

from playwright.sync_api import expect

from admiral import Admiral
from admiral.serving.application import create_app
from admiral.serving.document_uploads import Uploads
from admiral.serving.service import Service
from tests.admiral.browser import BROWSER_MARKS, browser, context, no_serious_violation
from tests.admiral.kb.corpus.files.test_file_formats import pdf, word
from tests.admiral.serving.live_service import listening, quick_config

__all__ = ["browser", "context"]

pytestmark = BROWSER_MARKS

ATTACK = "<img src=x onerror=document.title='attacked'>"
BRIDGE = "The Eastern Bridge was opened in 1932 by Ada Lane."


@pytest.fixture
def page(context, user_cache, tmp_path):
    service = Service({"demo": Admiral.from_pretrained(config=quick_config())})
    app = create_app(service, uploads=Uploads(service, tmp_path / "uploads"))
    opened = context.new_page()
    problems = []
    opened.on("console", lambda message: problems.append(message.text))
    opened.on("pageerror", lambda error: problems.append(str(error)))
    with listening(app) as url:
        opened.goto(url)
        yield opened
        opened.close()
    assert problems == []


def test_documents_are_uploaded_checked_and_deleted(page, tmp_path):
    page.get_by_role("link", name="upload documents").click()
    expect(page.get_by_role("heading", name="Your documents")).to_be_focused()
    no_serious_violation(page)
    page.get_by_role("button", name="Make a knowledge base").click()
    expect(page.get_by_role("status")).to_contain_text("There is no file.")
    files = {
        f"Eastern Bridge {ATTACK}.txt": BRIDGE.encode(),
        "report.docx": word(),
        "lines.pdf": pdf("A river of Paris is the Seine.", title="On lines"),
        "broken.pdf": b"%PDF-1.4 no",
    }
    chosen = [{"name": name, "mimeType": "", "buffer": data} for name, data in files.items()]
    page.get_by_label("Files: choose them").set_input_files(chosen)
    page.get_by_label("Name").fill("My notes")
    page.get_by_role("button", name="Make a knowledge base").click()
    status = page.get_by_role("status")
    expect(status).to_have_text("Complete: 3 documents, 1 file left out.")
    page.get_by_text("1 file left out", exact=True).click()
    expect(page.get_by_text("broken.pdf: damaged")).to_be_visible()
    no_serious_violation(page)
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    link = page.get_by_role("link", name="Check claims against My-notes")
    link.click()
    expect(page.get_by_label("Knowledge base", exact=True)).to_have_value("My-notes")
    expect(page.locator("#examples a")).to_have_count(3)
    page.get_by_label("Claim, or a text").fill(BRIDGE)
    page.get_by_role("button", name="Find evidence").click()
    expect(status).to_contain_text("Complete after")
    expect(page.locator("#result")).to_contain_text(f"Eastern Bridge {ATTACK}")
    page.get_by_role("link", name="Your documents").click()
    page.get_by_role("button", name="Delete My-notes").click()
    page.get_by_role("button", name="Delete My-notes for good").click()
    expect(status).to_have_text("My-notes was deleted.")
    expect(page.locator("#uploads li")).to_have_count(0)
    expect(page.locator("#kb option")).to_have_count(1)
    assert list((tmp_path / "uploads").iterdir()) == []
    assert page.title() != "attacked"


def test_an_upload_that_fails_says_why(page):
    page.get_by_role("link", name="Your documents").click()
    file = {"name": "none.pdf", "mimeType": "", "buffer": b"%PDF-1.4 no"}
    page.get_by_label("Files: choose them").set_input_files(file)
    page.get_by_role("button", name="Make a knowledge base").click()
    message = "none: none of the files has a text that can be read."
    expect(page.get_by_role("status")).to_have_text(f"Error: {message}", timeout=30_000)
    expect(page.get_by_text("Failed: none of the files")).to_be_visible()
    expect(page.get_by_role("button", name="Make a knowledge base")).to_be_enabled()
