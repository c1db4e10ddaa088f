"""The beam search beside transformers' ``generate``, and beside itself without a constraint.

    python -m benchmarks.beam [--titles TITLES.gz] [--model mini] [--batch 1] [--limit 100000]

All decode the same claims (random tokens) with the same model: the bundled `mini`, or one of the
size of BART-base with random weights. Titles are those of a file, or like those of the demo
knowledge base, as `mini` spells them, spread over the model's vocabulary. ``generate`` gets a
`prefix_allowed_tokens_fn` over nested dicts. "Any token" is the same search without the
constraint, for as many tokens. Times are processor times of one thread, the best of several runs,
so that other work on the machine counts little.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch

from benchmarks.models import Timed, load
from benchmarks.nested import generate, prefix_function
from benchmarks.timing import best
from benchmarks.titles import Titles
from trie import Hypothesis, TokenTrie, Transitions, TrieConstraint, beam_search
from trie.token_trie import Ints

_SECONDS = 10.0  # of repeats of the same
Sequences = list[list[int]]
Decode = Callable[[Sequences], list[list[Hypothesis]]]


class Free:
    """A constraint that allows every token, `length` of them and then the end token."""

    start = 0

    def __init__(self, vocabulary: int, eos: int, length: int) -> None:
        self._tokens = np.delete(np.arange(vocabulary), eos)
        self._eos, self._length = eos, length

    def transitions(self, states: Ints) -> Transitions:
        """Return what may follow; states count tokens."""
        choices = [self._tokens, np.array([self._eos]), np.empty(0, dtype=np.int64)]
        found = [choices[int(np.sign(state - self._length)) + 1] for state in states.tolist()]
        sizes = np.array([len(tokens) for tokens in found])
        return Transitions(np.concatenate(found), np.repeat(states + 1, sizes), sizes)


def by_generate(model: Any, sequences: Sequences, beams: int) -> Decode:
    """Return a function that decodes by transformers."""
    end = model.config.eos_token_id
    following = prefix_function(sequences, end)

    def decode(inputs: Sequences) -> list[list[Hypothesis]]:
        out = generate(
            model,
            inputs,
            following,
            beams=beams,
            most=max(map(len, sequences)) + 1,
            output_scores=True,
            return_dict_in_generate=True,
        )
        rows = [tuple(row[1 : row.index(end, 1) + 1]) for row in out.sequences.tolist()]
        found = list(map(Hypothesis, rows, out.sequences_scores.tolist(), [0] * len(rows)))
        return [found[at : at + beams] for at in range(0, len(found), beams)]

    return decode


def differences(ours: list[list[Hypothesis]], theirs: list[list[Hypothesis]]) -> tuple[int, float]:
    """Return at how many places the sequences differ, and the greatest difference of scores."""
    pairs = [pair for both in zip(ours, theirs, strict=True) for pair in zip(*both, strict=True)]
    return sum(a.tokens != b.tokens for a, b in pairs), max(
        abs(a.score - b.score) for a, b in pairs
    )


def measure(
    model: Timed, theirs: Decode, sequences: Sequences, inputs: Sequences, beams: int, repeats: int
) -> str:
    """Return the line of the table for a batch of claims."""
    batch, most = len(inputs), max(map(len, sequences)) + 1
    search = partial(beam_search, model, inputs, beam_size=beams, max_length=most)
    titles = TrieConstraint(TokenTrie.build(sequences), model.eos)
    model.tokens = 0
    search([titles] * batch)  # compiles what it visits
    tokens = model.tokens
    every = Free(model.vocab_size, model.eos, tokens - 1)
    limit: dict[str, Any] = {"repeats": repeats, "seconds": _SECONDS}
    model.decodes.clear()
    ours, found = best(lambda: search([titles] * batch), **limit)
    inside = min(model.decodes)
    unbound, _ = best(lambda: search([every] * batch), **limit)
    slow, expected = best(lambda: theirs(inputs), **limit)
    cells = [f"{t / batch:.3f} ({t / ours:.2f}x)" for t in (inside, unbound, slow)]
    wrong, gap = differences(found, expected)
    line = f"{batch:8}{tokens:8}{ours / batch:9.3f}" + "".join(f"{c:>17}" for c in cells)
    return f"{line}  {wrong} of {batch * beams} sequences, scores {gap:.0e}"


@click.command()
@click.option("--titles", type=click.Path(path_type=Path, exists=True), help="Text, or text.gz.")
@click.option("--limit", default=100_000, show_default=True, help="Number of titles.")
@click.option("--tokens", "most", default=6, show_default=True, help="Titles are cut to so many.")
@click.option("--model", "names", multiple=True, default=["mini", "base"], show_default=True)
@click.option("--batch", "batches", multiple=True, default=[1, 8, 32], show_default=True)
@click.option("--beams", default=25, show_default=True)
@click.option("--length", default=40, show_default=True, help="Tokens of a claim.")
@click.option("--repeats", default=5, show_default=True)
def main(
    titles: Path | None,
    limit: int,
    most: int,
    names: tuple[str, ...],
    batches: tuple[int, ...],
    beams: int,
    length: int,
    repeats: int,
) -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    for name in names:
        loaded = load(name)
        model = Timed(loaded)
        spelt = Titles.spelt(titles, model.vocab_size).some(limit).lists()
        sequences = [sequence[:most] for sequence in spelt]
        theirs = by_generate(loaded, sequences, beams)
        print(f"{name}: {limit:,} titles, {beams} beams; seconds a claim")
        names_of = ("claims", "tokens", "ours", "its decoder", "any token", "generate")
        print("{:>8}{:>8}{:>9}{:>17}{:>17}{:>17}  differences".format(*names_of))
        for batch in batches:
            rng = np.random.default_rng(batch)
            inputs = rng.integers(1000, model.vocab_size, (batch, length)).tolist()
            print(measure(model, theirs, sequences, inputs, beams, repeats), flush=True)


if __name__ == "__main__":
    main()
