"""Time of a decode with ever more titles: it should not grow.

    python -m benchmarks.growth [--titles TITLES.gz] [--model mini] [--count 10000 --count 5400000]

The same claims (random tokens) are decoded over tries of random titles of a file, or, where there
are not so many, of generated ones with the same statistics of tokens (`benchmarks.titles`). Titles
are cut, so that every decode has about as many steps. "New" is the first decode of a claim, which
visits nodes that no other has visited, "again" the best of those after it. Claims and tries take
turns, and times are processor times of one thread, so that other work on the machine counts little.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click
import numpy as np
import torch

from benchmarks.models import Timed, load
from benchmarks.timing import best_of_each
from benchmarks.titles import Titles
from trie import TokenTrie, TrieConstraint, beam_search
from trie.token_trie import build_arrays

_MOST, _SOURCE = 6, 40  # tokens of a title and of a claim


def cut(titles: Titles) -> Titles:
    """Return the beginnings of titles."""
    places = np.arange(titles.flat.size) - np.repeat(
        np.cumsum(titles.lengths) - titles.lengths, titles.lengths
    )
    return Titles(titles.flat[places < _MOST], np.minimum(titles.lengths, _MOST))


def measure(
    model: Timed, titles: Titles, counts: tuple[int, ...], claims: int, beams: int, repeats: int
) -> Iterator[str]:
    """Yield the lines of the table."""
    some = [cut(titles.some(count)) for count in counts]
    tries = [TokenTrie(build_arrays(part.flat, part.lengths)) for part in some]
    constraints = [TrieConstraint(trie, model.eos) for trie in tries]
    inputs = np.random.default_rng(0).integers(1000, model.vocab_size, (claims, _SOURCE)).tolist()
    search = partial(beam_search, model, beam_size=beams, max_length=_MOST + 1)
    search([inputs[0][::-1]], [constraints[0]])  # what is done once for a model
    works = [partial(search, [ids], [rule]) for ids in inputs for rule in constraints]
    new, _ = best_of_each(works, repeats=1)
    steps = []
    for work in works:
        model.tokens = 0
        work()
        steps.append(model.tokens)
    model.decodes.clear()
    again, _ = best_of_each(works, repeats=repeats)
    inside = np.reshape(model.decodes, (-1, claims, len(counts))).min(axis=0)
    first, later, tokens = (np.reshape(x, inside.shape) for x in (new, again, steps))
    head = ("titles", "new", "again", "steps", "without the decoder, ms a step")
    yield "{:>12}{:>16}{:>16}{:>8}{:>32}".format(*head)
    for at, count in enumerate(counts):
        cells = [first[:, at].mean(), later[:, at].mean()]
        ratios = [cells[0] / first[:, 0].mean(), cells[1] / later[:, 0].mean()]
        outside = 1e3 * ((later[:, at] - inside[:, at]) / tokens[:, at]).mean()
        columns = [f"{c:.3f} ({r:.2f}x)" for c, r in zip(cells, ratios, strict=True)]
        line = f"{count:12,}" + "".join(f"{c:>16}" for c in columns)
        yield f"{line}{tokens[:, at].mean():8.1f}{outside:32.2f}"


@click.command()
@click.option("--titles", type=click.Path(path_type=Path, exists=True), help="Text, or text.gz.")
@click.option("--model", "name", default="mini", show_default=True, help="mini or base.")
@click.option(
    "--count",
    "counts",
    multiple=True,
    default=[10_000, 100_000, 1_000_000, 5_400_000],
    show_default=True,
)
@click.option("--claims", default=8, show_default=True)
@click.option("--beams", default=25, show_default=True)
@click.option("--repeats", default=5, show_default=True)
def main(
    titles: Path | None, name: str, counts: tuple[int, ...], claims: int, beams: int, repeats: int
) -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    model = Timed(load(name))
    spelt = Titles.spelt(titles, model.vocab_size)
    print(f"{name}: {beams} beams, {claims} claims; seconds a claim")
    for line in measure(model, spelt, counts, claims, beams, repeats):
        print(line, flush=True)


if __name__ == "__main__":
    main()
