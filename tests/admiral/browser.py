"""Chromium for tests of pages, and the check that axe-core makes of them."""

import os
import shutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="needs Playwright: pip install playwright")

from playwright.sync_api import expect, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
AXE = Path(sys.prefix) / "axe" / "node_modules" / "axe-core" / "axe.min.js"

#: The marks of modules that use `browser`.
BROWSER_MARKS = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed"),
]

# Milliseconds; a busy machine takes long to begin, so this is no measure of speed.
_PATIENCE = 60_000
expect.set_options(timeout=_PATIENCE)


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        # Chromium's sandbox needs rights that containers do not give.
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def context(browser):
    made = browser.new_context(viewport={"width": 1200, "height": 900}, accept_downloads=True)
    made.set_default_timeout(_PATIENCE)
    yield made
    made.close()


def no_serious_violation(page):
    """Check the page with axe-core, where it is installed."""
    if not AXE.exists():
        return
    page.evaluate(AXE.read_text(encoding="utf-8"))
    report = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    serious = [
        (violation["id"], [node["html"][:200] for node in violation["nodes"]])
        for violation in report["violations"]
        if violation["impact"] in ("serious", "critical")
    ]
    assert serious == []
