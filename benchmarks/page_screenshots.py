"""Take the screenshots of the page of `admiral serve` that the documentation shows.

    python -m benchmarks.page_screenshots docs --url http://127.0.0.1:8080

needs a running `admiral serve`, Playwright and Chromium.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import click

CLAIM = "The 66th Primetime Emmy Awards was hosted by an Iraqi comedian born in 1973."
SHOTS: dict[str, dict[str, Any]] = {
    "page-wide.png": {"viewport": {"width": 1180, "height": 980}},
    "page-dark.png": {"viewport": {"width": 1180, "height": 980}, "color_scheme": "dark"},
    "page-narrow.png": {"viewport": {"width": 390, "height": 900}},
}


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--url", default="http://127.0.0.1:8080", help="Address of the service.")
@click.option("--claim", default=CLAIM, help="Claim that is shown.")
def main(folder: Path, url: str, claim: str) -> None:
    """Write the screenshots to FOLDER."""
    from playwright.sync_api import expect, sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name, options in SHOTS.items():
            page = browser.new_page(**options)
            page.goto(f"{url}/#{urlencode({'claim': claim, 'hops': 'dynamic'})}")
            expect(page.get_by_role("status")).to_contain_text("Complete", timeout=120_000)
            page.locator("#hop-2 tr.contradicts").first.focus()
            page.locator("#result" if page.viewport_size["width"] > 600 else "#hop-2").evaluate(
                "each => each.scrollIntoView()"
            )
            page.screenshot(path=folder / name)
            click.echo(f"{folder / name}: {(folder / name).stat().st_size / 1000:.0f} kB")
        browser.close()


if __name__ == "__main__":
    main()
