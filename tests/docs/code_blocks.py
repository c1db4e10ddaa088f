"""The pages of the documentation, and the code blocks on them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*(ROOT / "docs").rglob("*.md"), *(ROOT / f"{n}.md" for n in ("README", "CONTRIBUTING"))]
)
#: Its sections were written by a program.
GENERATED = ROOT / "docs" / "results.md"
#: Keys that `benchmarks.compare_systems --set` accepts in addition to the settings of systems.
OF_EXPERIMENTS = {"task", "claims", "limit"}

_FENCE = re.compile(
    r"(?:^<!-- not run: (?P<reason>[^\n]+) -->\n)?"
    r"^```(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.M | re.S,
)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced code block.

    Attributes
    ----------
    line
        Where it begins in its page.
    reason
        Why it is not run; None if it is.
    """

    page: Path
    line: int
    language: str
    code: str
    reason: str | None

    def __str__(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page):
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        line = text.count("\n", 0, match.start("language")) + 1
        yield Block(page, line, match["language"], match["code"], match["reason"])


def runnable(*languages):
    return [
        block
        for page in PAGES
        for block in blocks(page)
        if block.language in languages and block.reason is None
    ]


def commands(code):
    """Return the commands of a shell block, continued lines joined."""
    return [line for line in code.replace("\\\n", " ").splitlines() if line.strip()]
