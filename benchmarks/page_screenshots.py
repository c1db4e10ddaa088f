"""Take the screenshots of the page of `admiral serve` that the documentation shows.

    python -m benchmarks.page_screenshots docs --url http://127.0.0.1:8080

needs a running `admiral serve`, Playwright, Pillow and Chromium.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode

import click

CLAIM = "The 66th Primetime Emmy Awards was hosted by an Iraqi comedian born in 1973."
SHOTS: dict[str, tuple[int, int, Literal["light", "dark"]]] = {
    "page-wide.png": (1180, 1120, "light"),
    "page-dark.png": (1180, 1120, "dark"),
    "page-narrow.png": (390, 1100, "light"),
}
_PATIENCE = 600_000  # milliseconds


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
        page = browser.new_page()
        page.goto(f"{url}/#{urlencode({'claim': claim, 'hops': 'dynamic'})}")
        expect(page.get_by_role("status")).to_contain_text("Complete after", timeout=_PATIENCE)
        # Lights the quotation of a step, without scrolling to it.
        page.locator("#hop-1 tr.contradicts").first.evaluate(
            "row => row.focus({preventScroll: true})"
        )
        for name, (width, height, scheme) in SHOTS.items():
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=folder / name)
            # Few colours, for small files.
            with Image.open(folder / name) as image:
                few = image.convert("RGB").quantize(160, dither=Image.Dither.NONE)
            few.save(folder / name, optimize=True)
            click.echo(f"{folder / name}: {(folder / name).stat().st_size / 1000:.0f} kB")
        browser.close()


if __name__ == "__main__":
    main()
