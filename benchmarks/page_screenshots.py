"""Take the screenshots of the page of `admiral serve` that the documentation shows.

    python -m benchmarks.page_screenshots docs --url http://127.0.0.1:8080

needs a running `admiral serve`, Playwright, Pillow and Chromium.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import click

CLAIM = "The 66th Primetime Emmy Awards was hosted by an Iraqi comedian born in 1973."
SHOTS: dict[str, dict[str, Any]] = {
    "page-wide.png": {"viewport": {"width": 1180, "height": 1120}},
    "page-dark.png": {"viewport": {"width": 1180, "height": 1120}, "color_scheme": "dark"},
    "page-narrow.png": {"viewport": {"width": 390, "height": 1100}},
}


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--url", default="http://127.0.0.1:8080", help="Address of the service.")
@click.option("--claim", default=CLAIM, help="Claim that is shown.")
def main(folder: Path, url: str, claim: str) -> None:
    """Write the screenshots to FOLDER."""
    from PIL import Image
    from playwright.sync_api import expect, sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name, options in SHOTS.items():
            page = browser.new_page(**options)
            page.goto(f"{url}/#{urlencode({'claim': claim, 'hops': 'dynamic'})}")
            expect(page.get_by_role("status")).to_contain_text("Complete", timeout=120_000)
            # Lights the quotation of a step, without scrolling to it.
            page.locator("#hop-1 tr.contradicts").first.evaluate(
                "row => row.focus({preventScroll: true})"
            )
            page.screenshot(path=folder / name)
            # Few colours, for small files.
            with Image.open(folder / name) as image:
                image.convert("RGB").quantize(160, dither=Image.Dither.NONE).save(
                    folder / name, optimize=True
                )
            click.echo(f"{folder / name}: {(folder / name).stat().st_size / 1000:.0f} kB")
        browser.close()


if __name__ == "__main__":
    main()
