"""What expectation maximisation is worth when only the cited page is known, not the passage.

Run as ``python -m benchmarks.em_strategies TOKENS --dev WICE``. A linear score of few lexical
features of a passage is trained on the cited pages of TOKENS by each strategy of
`benchmarks.em_losses`, and measured on the labelled citations of WICE: AUROC by the
best passage, and how often that passage holds a gold sentence. Negatives are the passages of other
pages that cover most of the claim.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import click
import torch

from admiral.citations.source_collections import cut_source
from admiral.citations.verifiers.term_weights import TermWeights, text_stems
from admiral.citations.wice_records import WICE_LABELS, read_wice
from admiral.evaluation.citation_measures import auroc
from admiral.library.source_records import Passage
from benchmarks.citation_verification import holds_sentence
from benchmarks.em_losses import STRATEGIES, Strategy, em_loss
from training.citations import best_passage, pool_stems, read_token_claims

_OTHERS = 8  # pages that negatives are from
_STEPS = 100
_LEARNING_RATE = 0.1


def features(claim: str, passages: Sequence[Passage], stems: TermWeights) -> torch.Tensor:
    """Return the features of passages: three shares of the claim, and their position."""
    own = text_stems(claim)
    distinct, pairs = sorted(set(own)), set(pairwise(own))
    rows = []
    for passage in passages:
        words = text_stems(passage.text)
        found, neighbours = set(words), set(pairwise(words))
        rows.append(
            [
                stems.coverage(distinct, found),
                sum(stem in found for stem in distinct) / max(len(distinct), 1),
                len(pairs & neighbours) / max(len(pairs), 1),
                1 / (1 + passage.number),
            ]
        )
    return torch.tensor(rows)


def train(
    examples: Sequence[tuple[torch.Tensor, torch.Tensor]], strategy: Strategy, seed: int
) -> tuple[torch.Tensor, float]:
    """Return the weights of features, and the share of claims whose best passage has changed."""
    rows = torch.cat([part for example in examples for part in example])
    positives, negatives, at = [], [], 0
    for good, bad in examples:
        positives.append(range(at, at + len(good)))
        negatives.append(range(at + len(good), at + len(good) + len(bad)))
        at += len(good) + len(bad)
    weights = torch.ones(rows.shape[1], requires_grad=True)
    optimizer = torch.optim.Adam([weights], _LEARNING_RATE)
    generator = torch.Generator().manual_seed(seed)
    before = _chosen(rows @ weights.detach(), positives)
    for _ in range(_STEPS):
        optimizer.zero_grad()
        em_loss(rows @ weights, positives, negatives, strategy, generator=generator).backward()
        optimizer.step()
    after = _chosen(rows @ weights.detach(), positives)
    changed = sum(a != b for a, b in zip(before, after, strict=True)) / len(examples)
    return weights.detach(), changed


def _chosen(scores: torch.Tensor, positives: Sequence[range]) -> list[int]:
    return [int(scores[list(own)].argmax()) for own in positives]


@click.command()
@click.argument("tokens", type=click.Path(path_type=Path, exists=True))
@click.option("--dev", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--seed", default=0, show_default=True)
def main(tokens: Path, dev: Path, seed: int) -> None:
    """Compare strategies of weighting the passages of a cited page."""
    claims, citations = read_token_claims(tokens), read_wice(dev)
    stems = pool_stems([one.source for one in claims] + [each.source for each in citations])
    rng = random.Random(seed)
    pages = {one.source.text: cut_source(one.source) for one in claims}
    examples = []
    for one in claims:
        others = rng.sample([text for text in pages if text != one.source.text], _OTHERS)
        bad = [pages[text][best_passage(one.claim, pages[text], stems)] for text in others]
        good = pages[one.source.text]
        examples.append((features(one.claim, good, stems), features(one.claim, bad, stems)))
    supported = [each.label == WICE_LABELS[-1] for each in citations]
    sources = [cut_source(each.source) for each in citations]
    inputs = [
        features(each.claim.claim, source, stems)
        for each, source in zip(citations, sources, strict=True)
    ]
    click.echo("| strategy | supported > rest | gold sentence in the best passage | changed |")
    click.echo("|---|---|---|---|")
    for strategy in STRATEGIES:
        weights, changed = train(examples, strategy, seed)
        scores = [rows @ weights for rows in inputs]
        best = [int(own.argmax()) for own in scores]
        held = [
            any(
                holds_sentence(source[at].start, source[at].end, each, n)
                for n in set().union(*each.gold)
            )
            for each, source, at in zip(citations, sources, best, strict=True)
            if each.gold
        ]
        area = auroc([float(own.max()) for own in scores], supported)
        share = sum(held) / len(held)
        click.echo(f"| {strategy} | {area:.3f} | {share:.3f} | {changed:.2f} |")


if __name__ == "__main__":
    main()
