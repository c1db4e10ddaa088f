"""Parameters of the ranking on the graph, chosen by cross-validation over claims.

    python -m benchmarks.graph_parameters CLAIMS.jsonl --kb KB [--limit 400] [--folds 5]

The claims come with gold evidence; the knowledge base needs a graph and a BM25 index. A combination
of values is as good as the share of claims with all gold documents among the first k, averaged over
all k. For each fold, the best combination on the other folds is measured on it; the mean of these
is what a choice on such claims is worth on new ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np

from admiral.gold import GoldClaim, read_gold
from admiral.graph import GraphRanker, MentionGraph, PageRankParameters
from admiral.io.claims import evenly_spaced
from admiral.kb import KnowledgeBase, locate
from admiral.records import ScoredTitle

CUTS = (5, 10, 20, 50, 100)
RESTARTS, WEIGHTS, DOCUMENTS = (0.2, 0.3, 0.5, 0.7), (0.1, 0.25, 0.5), (10, 20)


class RememberingBm25:
    """A knowledge base that searches for each claim only once.

    Parameters
    ----------
    kb
        The open knowledge base.
    most
        Largest number of documents that is asked for.
    """

    def __init__(self, kb: KnowledgeBase, most: int) -> None:
        self._kb, self._most = kb, most
        self._found: dict[str, list[ScoredTitle]] = {}

    def __getattr__(self, name: str) -> object:
        return getattr(self._kb, name)

    def search(self, queries: Sequence[str], k: int) -> list[list[ScoredTitle]]:
        """Return the top `k` titles for each query."""
        for query in queries:
            if query not in self._found:
                (self._found[query],) = self._kb.search([query], self._most)
        return [self._found[query][:k] for query in queries]


def combinations() -> Iterator[PageRankParameters]:
    """Yield all combinations of values."""
    for restart, weight, documents in product(RESTARTS, WEIGHTS, DOCUMENTS):
        yield PageRankParameters(restart=restart, bm25_weight=weight, bm25_documents=documents)


def hits(order: Sequence[int], gold: Sequence[set[int]]) -> list[bool]:
    """Return for each cut whether the first rows hold all of one set of gold documents."""
    return [any(rows <= set(order[:cut]) for rows in gold) for cut in CUTS]


class Choice(NamedTuple):
    """The outcome of a cross-validation.

    Attributes
    ----------
    held_out
        Share of hits at each cut, of the combinations chosen on the other folds.
    chosen
        Number of the combination chosen for each fold, and last, of that chosen on all claims.
    """

    held_out: np.ndarray
    chosen: list[int]


def cross_validate(found: np.ndarray, folds: int) -> Choice:
    """Choose a combination for each fold by the other folds.

    Parameters
    ----------
    found
        Hits, bool, (combinations, claims, cuts).
    folds
        Number of folds; claim `n` is in fold ``n % folds``.
    """
    fold = np.arange(found.shape[1]) % folds
    chosen, parts = [], []
    for number in range(folds):
        best = int(found[:, fold != number].mean(axis=(1, 2)).argmax())
        chosen.append(best)
        parts.append(found[best, fold == number])
    chosen.append(int(found.mean(axis=(1, 2)).argmax()))
    return Choice(np.concatenate(parts).mean(axis=0), chosen)


def gold_rows(kb: KnowledgeBase, claim: GoldClaim) -> list[set[int]]:
    """Return the rows of each set of gold documents that the knowledge base has."""
    sets = [{kb.row(title) for title in titles} for titles in claim.title_sets if titles]
    return [{row for row in rows if row is not None} for rows in sets if None not in rows]


@click.command()
@click.argument("claims", type=click.Path(path_type=Path))
@click.option("--kb", required=True, help="Knowledge base with a graph.")
@click.option("--limit", type=click.IntRange(0), default=0, help="Number of claims, evenly spaced.")
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True)
def main(claims: Path, kb: str, limit: int, folds: int) -> None:
    """Measure all combinations and choose."""
    grid = list(combinations())
    read = list(read_gold(claims))
    with KnowledgeBase.open(locate(kb)) as opened:
        pairs = [(c.claim, gold_rows(opened, c)) for c in evenly_spaced(read, limit)]
        pairs = [(text, gold) for text, gold in pairs if gold]
        remembering = RememberingBm25(opened, max(DOCUMENTS))
        graph = MentionGraph.open(opened)
        rankers = [GraphRanker(remembering, graph, each) for each in grid]  # type: ignore[arg-type]
        found = np.zeros((len(grid), len(pairs), len(CUTS)), dtype=bool)
        for claim, (text, gold) in enumerate(pairs):
            for number, ranker in enumerate(rankers):
                ranks = ranker.pagerank(ranker.seeds(text))
                order = ranks.rows[np.argsort(-ranks.scores, kind="stable")[: CUTS[-1]]]
                found[number, claim] = hits(order.tolist(), gold)
    choice = cross_validate(found, folds)
    print(f"{len(pairs)} claims; all gold documents @ {', '.join(map(str, CUTS))}")
    for parameters, shares in zip(grid, found.mean(axis=1), strict=True):
        print(shown(shares), parameters.restart, parameters.bm25_weight, parameters.bm25_documents)
    print(shown(choice.held_out), "held out")
    for number in choice.chosen:
        print("chosen:", grid[number])


def shown(shares: np.ndarray) -> str:
    """Return the shares at all cuts and their mean."""
    return " ".join(f"{share:.3f}" for share in (*shares, shares.mean()))


if __name__ == "__main__":
    main()
