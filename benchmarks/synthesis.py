"""How fast claims are written from a knowledge base, of how many documents, and whether any leaks.

Run as ``python -m benchmarks.synthesis --kb KB --count 5000``. Whether a claim shows a word of a
title that it hides is checked here by code of its own.
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Any

import click

from admiral.kb import KnowledgeBase, locate
from admiral.synthesis import SynthesisSettings, Synthesizer

# Words of titles that say nothing by themselves.
_FREE = set(
    re.findall(
        r"\w+",
        "a an and as at by de del di du for from in is it la le los no of on or the to van von "
        "with",
    )
)


def words(text: str) -> set[str]:
    """Return the words of a text in small letters, without accents."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return set(re.findall(r"\w+", plain.casefold()))


def leaked(record: Mapping[str, Any]) -> set[str]:
    """Return the words of hidden titles that a claim's record shows in the claim.

    What stands in the parenthesis of a title is no name; words of titles that are named count as
    named.
    """
    hidden = set(record["described"])
    named = {title for title, _ in record["supporting_facts"]} - hidden
    allowed = _FREE.union(*(words(title) for title in named))
    names = set().union(*(words(re.sub(r"\s*\([^()]*\)$", "", title) or title) for title in hidden))
    return words(record["claim"]) & (names - allowed)


@click.command()
@click.option("--kb", default="demo", show_default=True)
@click.option("--count", default=5000, show_default=True)
@click.option("--seed", default=0, show_default=True)
def main(kb: str, count: int, seed: int) -> None:
    """Print claims per second, shares by documents and labels, duplicates and leaks."""
    with KnowledgeBase.open(locate(kb)) as opened:
        began = time.process_time()
        synthesizer = Synthesizer(opened, SynthesisSettings(seed=seed))
        ready = time.process_time()
        records = [claim.to_json() for claim in islice(synthesizer.claims(), count)]
        spent = time.process_time() - ready
    documents = Counter(record["num_hops"] for record in records)
    refuted = sum(record["label"] == "REFUTED" for record in records)
    leaks = [record["claim"] for record in records if leaked(record)]
    texts = {record["claim"] for record in records}
    click.echo(
        f"claims: {len(records):,} ({len(texts):,} distinct), {synthesizer.n_duplicates:,} left out"
    )
    click.echo(f"processor time: {len(records) / spent:,.0f} claims/s after {ready - began:.1f} s")
    shares = ", ".join(f"{n}: {documents[n] / len(records):.2f}" for n in sorted(documents))
    click.echo(f"documents of a claim: {shares}; refuted: {refuted / len(records):.2f}")
    click.echo(f"claims that show a word of a hidden title: {len(leaks)}")
    for claim in leaks[:10]:
        click.echo(f"  {claim}")


if __name__ == "__main__":
    main()
