"""Make docs/page-wide.png: the page of `admiral serve` with the result of a claim of the demo.

Run as ``python tools/page_screenshot.py docs/page-wide.png``, with a width in pixels after it for
another one. It needs Playwright, and Chromium in the variable CHROMIUM or under one of its usual
names.
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
from playwright.sync_api import expect, sync_playwright

from admiral import RetrievalConfig
from admiral.serving.application import create_app
from admiral.serving.document_uploads import Uploads
from admiral.serving.service import Service

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDTH, HEIGHT = 1280, 1000
EXAMPLE = 2  # of those at the start
PATIENCE = 120_000  # milliseconds


def screenshot(address: str, image: Path, width: int) -> None:
    """Write an image of the result of an example."""
    chromium = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": width, "height": HEIGHT})
        tab.goto(address)
        tab.locator("#examples a").nth(EXAMPLE).click(timeout=PATIENCE)
        expect(tab.locator("#status")).to_have_text(re.compile("^Complete"), timeout=PATIENCE)
        tab.screenshot(path=image)
        browser.close()


def main(image: Path, width: int = WIDTH) -> None:
    """Write the image."""
    service = Service.open(["demo"], RetrievalConfig())
    # As in `make serve`; nothing is uploaded, so the folder is never made.
    app = create_app(service, uploads=Uploads(service, Path("uploads")))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    with socket.create_server(("127.0.0.1", 0)) as bound:
        serving = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        serving.start()
        try:
            screenshot(f"http://127.0.0.1:{bound.getsockname()[1]}", image, width)
        finally:
            server.should_exit = True
            serving.join()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
