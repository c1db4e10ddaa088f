"""What a decoding step pays for the constraint, beside a prefix function over nested dicts.

    python -m benchmarks.masks [--titles TITLES.gz] [--limit 100000] [--model mini --model base]

From the scores of all tokens to those of the allowed ones: by transformers' own processor with a
`prefix_allowed_tokens_fn`, by `ConstraintLogitsProcessor`, and by our beam search, which gathers allowed
tokens only, and in whose figure the choice of the beams that go on is included (``topk`` is what
the other two still have to pay for it). At depth 0 all beams of a claim are the same for
``generate``, while the beam search has one; the last line shows it with all of them there.

There are 25 beams a claim, behind the first tokens of random titles. `mini` has its own vocabulary;
`base` is of the size of BART-base, over whose 50,265 tokens those of `mini` are spread. The last
column is the call of the decoder, and the share that the search's constraint has beside it. Times
are processor times of one thread, the best of several decodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from transformers import PrefixConstrainedLogitsProcessor

from benchmarks.models import load
from benchmarks.nested import prefix_function
from benchmarks.timing import best, best_of_each
from benchmarks.titles import Titles
from trie import ConstraintLogitsProcessor, Seq2Seq, TokenTrie, TrieConstraint
from trie.decoding.continuations import Continuations, ContinuationSelector
from trie.decoding.next_tokens import ConstraintBatch
from trie.index.bit_vector import Ints

_DEPTHS, _BEAMS, _SECONDS = 4, 25, 3.0
_SOURCE = 40  # tokens of a claim
Sequences = list[list[int]]


class Search:
    """The part of a step of the beam search that is there for the constraint."""

    def __init__(self, constraint: TrieConstraint, logits: torch.Tensor) -> None:
        self._constraint, self._logits = constraint, logits
        self._totals = logits.logsumexp(-1).double()

    def step(self, claims: Ints, rows: Ints, states: Ints) -> Continuations:
        """Return the best continuations of beams of these claims, rows and states."""
        rules = ConstraintBatch([self._constraint] * (int(claims.max()) + 1))
        following = rules.following(claims, states, self._logits.shape[1])
        scores = np.zeros(len(claims))
        chooser = ContinuationSelector(self._logits, self._totals, claims, scores, rows, following)
        return chooser.best(2 * _BEAMS)


def choose(kept: torch.Tensor, claims: int, *, first: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the best continuations of each claim, as ``generate`` chooses them."""
    scores = torch.zeros(claims, _BEAMS)
    if first:
        scores[:, 1:] = -1e9
    return (kept + scores.view(-1, 1)).view(claims, -1).topk(2 * _BEAMS)


def same_choice(kept: torch.Tensor, choice: Continuations, *, first: bool) -> bool:
    """Whether the beam search chose what ``generate`` would choose of these scores."""
    claims, vocabulary = len(kept) // _BEAMS, kept.shape[1]
    scores, places = choose(kept, claims, first=first)
    counted = scores > -1e8
    beams = choice.claims * _BEAMS if first else choice.beams
    found = np.stack([beams * vocabulary + choice.tokens, choice.scores])
    lines = torch.arange(claims)[:, None] * _BEAMS * vocabulary
    expected = torch.stack([(places + lines)[counted].double(), scores[counted].double()]).numpy()
    found, expected = (pairs[:, pairs[0].argsort()] for pairs in (found, expected))
    return found.shape == expected.shape and np.allclose(found, expected, rtol=0, atol=1e-4)


def decoder_call(model: Seq2Seq, claims: int, repeats: int) -> float:
    """Return the seconds of a call of the decoder behind some tokens."""
    rng = np.random.default_rng(0)
    with model.inference_context():
        encoded = model.encode(rng.integers(1000, model.vocab_size, (claims, _SOURCE)).tolist())
        cache = model.new_cache()
        tokens = torch.from_numpy(rng.integers(1000, model.vocab_size, (claims, _BEAMS, 1)))
        model.step(encoded, cache, tokens.expand(-1, -1, _DEPTHS))
        return best(lambda: model.step(encoded, cache, tokens), repeats=repeats, seconds=_SECONDS)[
            0
        ]


def measure(sequences: Sequences, model: Seq2Seq, claims: int, repeats: int) -> Iterator[str]:
    """Yield the lines of the table for so many claims."""
    beams, vocabulary = claims * _BEAMS, model.vocab_size
    rng = np.random.default_rng(0)
    long = [sequence for sequence in sequences if len(sequence) >= _DEPTHS]
    some = [long[at] for at in rng.choice(len(long), beams, replace=len(long) < beams)]
    logits = torch.from_numpy(rng.normal(size=(beams, vocabulary)).astype(np.float32) * 3)
    scores = logits.log_softmax(-1)
    constraint = TrieConstraint(TokenTrie.build(sequences), model.eos)
    # transformers' classes have decorators that hide their types.
    dicts: Any = PrefixConstrainedLogitsProcessor(prefix_function(sequences, model.eos), _BEAMS)
    processor, search = ConstraintLogitsProcessor(constraint), Search(constraint, logits)
    ids = [torch.tensor([[model.start, *s[:depth]] for s in some]) for depth in range(_DEPTHS)]
    states = [np.array([constraint.walk(s[:depth]) for s in some]) for depth in range(_DEPTHS)]
    rows, first = np.arange(beams), np.arange(claims) * _BEAMS
    each = [(rows // _BEAMS, rows, s) for s in states]
    slow, kept = best_of_each(
        [partial(dicts, i, scores) for i in ids], repeats=repeats, seconds=_SECONDS
    )
    fast, masked = best_of_each(
        [partial(processor, i, scores) for i in ids], repeats=repeats, seconds=_SECONDS
    )
    steps = [(first // _BEAMS, first, states[0][first]), *each[1:], each[0]]
    ours, choices = best_of_each(
        [partial(search.step, *s) for s in steps], repeats=repeats, seconds=_SECONDS
    )
    topk, _ = best(lambda: choose(scores, claims, first=False), repeats=repeats, seconds=_SECONDS)
    call = decoder_call(model, claims, repeats)
    yield f"{beams} beams x {vocabulary:,} tokens, {len(sequences):,} titles; µs a step"
    names = ("depth", "allowed", "dicts", "processor", "search", "topk", "decoder")
    yield "{:>8}{:>9}{:>11}{:>19}{:>19}{:>9}{:>18}".format(*names)
    for at, (depth, label) in enumerate([(0, "0"), (1, "1"), (2, "2"), (3, "3"), (0, "0, all")]):
        cells = [f"{t * 1e6:,.0f} ({slow[depth] / t:,.1f}x)" for t in (fast[depth], ours[at])]
        cells += [f"{topk * 1e6:,.0f}", f"{call * 1e6:,.0f} ({ours[at] / call:.1%})"]
        allowed = float((kept[depth] > -torch.inf).sum(1).float().mean())
        line = f"{label:>8}{allowed:9,.0f}{slow[depth] * 1e6:11,.0f}"
        line += "{:>19}{:>19}{:>9}{:>18}".format(*cells)
        right = torch.equal(kept[depth], masked[depth])
        if at < _DEPTHS:
            right = right and same_choice(kept[depth], choices[at], first=at == 0)
        yield line + ("" if right else "  THEY DIFFER")


@click.command()
@click.option("--titles", type=click.Path(path_type=Path, exists=True), help="Text, or text.gz.")
@click.option("--limit", type=int, help="Only so many titles, or generated ones besides.")
@click.option("--model", "names", multiple=True, default=["mini", "base"], show_default=True)
@click.option("--claims", multiple=True, default=[1, 10], show_default=True)
@click.option("--repeats", default=50, show_default=True)
def main(
    titles: Path | None, limit: int | None, names: tuple[str], claims: tuple[int], repeats: int
) -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    for name in names:
        model = Seq2Seq(load(name))
        all_titles = Titles.spelt(titles, model.vocab_size)
        sequences = all_titles.some(limit or len(all_titles)).lists()
        for count in claims:
            for line in measure(sequences, model, count, repeats):
                print(line, flush=True)


if __name__ == "__main__":
    main()
