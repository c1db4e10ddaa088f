"""Make docs/page-wide.png, page-dark.png and page-narrow.png: the page with a claim of the demo.

Run as ``python tools/page_screenshots.py docs``. It needs Playwright, and Chromium in the variable
CHROMIUM or under one of its usual names.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import sys
import threading
from pathlib import Path

import uvicorn
from playwright.sync_api import Browser, expect, sync_playwright

from admiral import RetrievalConfig
from admiral.serving.application import create_app
from admiral.serving.service import Service

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# The file, the width and the colours; each shows the top of the page.
SHOTS = (("wide", 1280, "light"), ("dark", 1280, "dark"), ("narrow", 390, "light"))
HEIGHT = 1000
EXAMPLE = 2  # of those at the start
PATIENCE = 120_000  # milliseconds


def screenshot(browser: Browser, address: str, image: Path, width: int, colours: str) -> None:
    """Write an image of the result of an example."""
    tab = browser.new_page(viewport={"width": width, "height": HEIGHT}, color_scheme=colours)
    tab.goto(address)
    tab.locator("#examples a").nth(EXAMPLE).click(timeout=PATIENCE)
    expect(tab.locator("#status")).to_have_text(re.compile("^Complete"), timeout=PATIENCE)
    tab.screenshot(path=image)
    tab.close()


def main(folder: Path) -> None:
    """Write the images."""
    app = create_app(Service.open(["demo"], RetrievalConfig()))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    chromium = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    with socket.create_server(("127.0.0.1", 0)) as bound, sync_playwright() as playwright:
        serving = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        serving.start()
        address = f"http://127.0.0.1:{bound.getsockname()[1]}"
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            for name, width, colours in SHOTS:
                screenshot(browser, address, folder / f"page-{name}.png", width, colours)
        finally:
            browser.close()
            server.should_exit = True
            serving.join()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
