"""Count the gold and other documents that texts mention, by title and with aliases.

    python -m benchmarks.mention_counts CLAIMS.jsonl --kb KB

The claims come with gold evidence in a format of `admiral.gold`. Those with a gold document that
the knowledge base does not have are left out. No model is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from admiral.gold import GoldClaim, read_gold
from admiral.io.claims import evenly_spaced
from admiral.kb import KnowledgeBase
from admiral.kb.demo import locate
from admiral.protocols import MentionFinder
from admiral.records import Sentence
from admiral.retrieval.mentions import TitleMentionFinder


class MentionCounts(NamedTuple):
    """Numbers of documents, summed over claims.

    Attributes
    ----------
    gold
        Gold documents.
    by_claim
        Gold documents that the claim mentions.
    by_any
        Gold documents that the claim or another gold document mentions.
    others
        Other documents that the claim mentions.
    others_by_gold
        Other documents that gold documents mention.
    """

    gold: int = 0
    by_claim: int = 0
    by_any: int = 0
    others: int = 0
    others_by_gold: int = 0


def count_mentions(finder: MentionFinder, claims: Iterable[GoldClaim]) -> MentionCounts:
    """Count the documents that claims and the beginnings of their gold documents mention."""
    total = MentionCounts()
    for claim in claims:
        gold = set(claim.titles)
        by_claim = set(finder.in_text(claim.claim))
        by_gold = {t for title in gold for t in finder.in_evidence([Sentence(title, 0, "")])}
        counts = (
            len(gold),
            len(gold & by_claim),
            len(gold & (by_claim | by_gold)),
            len(by_claim - gold),
            len(by_gold - gold),
        )
        total = MentionCounts(*map(sum, zip(total, counts, strict=True)))
    return total


def table(rows: Sequence[tuple[str, MentionCounts]]) -> Iterable[str]:
    """Yield the lines of a table."""
    yield (
        "| mentions | gold documents | named by the claim | by it or another gold document "
        "| others named by the claim | by gold documents |"
    )
    yield "|---|---|---|---|---|---|"
    for name, counts in rows:
        yield f"| {name} | {' | '.join(f'{count:,}' for count in counts)} |"


@click.command()
@click.argument("claims", type=click.Path(path_type=Path, exists=True))
@click.option("--kb", default="demo", show_default=True)
@click.option("--limit", default=0, help="Maximum number of claims; 0 for all.")
def main(claims: Path, kb: str, limit: int) -> None:
    """Print how many gold documents of CLAIMS are mentioned, without and with aliases."""
    with KnowledgeBase.open(locate(kb)) as opened:
        given = [claim for claim in read_gold(claims) if claim.evidence]
        known = [c for c in given if all(opened.row(title) is not None for title in c.titles)]
        chosen = list(evenly_spaced(known, limit))
        rows = [
            (name, count_mentions(TitleMentionFinder(opened, aliases=aliases), chosen))
            for name, aliases in (("titles", False), ("titles and aliases", True))
        ]
    click.echo(f"{len(chosen):,} of {len(given):,} claims\n")
    for line in table(rows):
        click.echo(line)


if __name__ == "__main__":
    main()
