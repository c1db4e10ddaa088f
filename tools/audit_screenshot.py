"""Make docs/audit.png: the audit of a page of the demo, with sources fetched from a local server.

Run as ``python tools/audit_screenshot.py docs/audit.png``. It needs Playwright, and Chromium in the
variable CHROMIUM or under one of its usual names. A server on this machine offers the sources of
the demo as pages of HTML; `admiral fetch` gets them, and `admiral audit` checks the page.
"""

from __future__ import annotations

import html
import json
import os
import shutil
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import sync_playwright

from admiral.cli.main import main as admiral

DEMO = Path(__file__).parents[1] / "admiral" / "data" / "citations"
PAGE = "Hubble_Space_Telescope.wiki"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDTH, HEIGHT = 1200, 1000


class Sources(ThreadingHTTPServer):
    """Serves the sources of the demo, each under the host and path of its URL."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        lines = (DEMO / "sources.jsonl").read_text(encoding="utf-8").splitlines()
        records = [json.loads(line) for line in lines]
        self.pages = {"/" + each["url"].partition("://")[2]: _page(each) for each in records}

    @property
    def address(self) -> str:
        """The address under which all hosts of the demo are."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Sources

    def do_GET(self) -> None:
        found = self.server.pages.get(self.path)
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(found or b"")

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


def _page(record: dict[str, str]) -> bytes:
    title, text = html.escape(record.get("title", "")), html.escape(record.get("text", ""))
    paragraphs = "".join(f"<p>{line}</p>" for line in text.splitlines())
    return (
        f'<!doctype html><html lang="en"><head><title>{title}</title></head><body><article>'
        f"<h1>{title}</h1>{paragraphs}</article></body></html>"
    ).encode()


def audit(folder: Path, server: Sources) -> Path:
    """Fetch the sources, and return the audit of the page."""
    page, urls, kb = folder / PAGE, folder / "urls.txt", folder / "kb"
    text = (DEMO / "pages" / PAGE).read_text(encoding="utf-8")
    page.write_text(text.replace("https://", f"{server.address}/"), encoding="utf-8")
    urls.write_text("".join(f"{server.address}{path}\n" for path in server.pages))
    output = folder / "audit.html"
    host = server.address.removeprefix("http://")
    options = ["--kb", str(kb), "--allow-host", host, "--delay", "0", "--no-progress"]
    for arguments in (
        ["fetch", str(urls), *options],
        ["audit", str(page), "--kb", str(kb), "--output", str(output), "--quiet"],
    ):
        if status := admiral(arguments):
            sys.exit(status)
    return output


def main(image: Path) -> None:
    """Write the image."""
    chromium = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    server = Sources()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        output = audit(Path(folder), server)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            tab = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            tab.goto(output.as_uri())
            tab.get_by_label("Decision").select_option("replace")
            tab.get_by_role("article").filter(visible=True).first.get_by_label("accept").check()
            tab.evaluate("scrollTo(0, 0)")
            tab.screenshot(path=image, full_page=True)
            browser.close()
    server.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
