"""Measure the cost of a constraint per decoding step.

    python -m benchmarks.masks [--titles TITLES.gz] [--limit 100000] [--model mini --model base]

Prints the time of masking the scores of all tokens: by transformers' own processor with a
`prefix_allowed_tokens_fn` over nested dicts, by `ConstraintLogitsProcessor`, and by our beam
search. The beam search gathers only allowed tokens, and its time includes the selection of beams;
``topk`` is the time that the other two still need for it. At depth 0 all beams of an input are
equal in ``generate``, while our beam search has one; the last line shows it with all beams.

Each input has 25 beams, with prefixes of random titles. `mini` has its own vocabulary; `base` has
the size of BART-base, with the tokens of `mini` spread over its 50,265 tokens. The last column is
the time of a decoder call, and the constraint's time relative to it. Times are processor times of
one thread, the best of several runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np
import torch
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    PrefixConstrainedLogitsProcessor,
)

from admiral.io.streams import open_binary
from admiral.kb import KnowledgeBase, demo_kb
from admiral.models.checkpoint import locate_checkpoint
from trie import ConstraintLogitsProcessor, SafeTokenizer, Seq2Seq, TokenTrie, TrieConstraint
from trie.beam_decoding import ConstraintBatch, Continuations, ContinuationSelector
from trie.token_trie import Ints

_DEPTHS, _BEAMS, _SECONDS = 4, 25, 3.0
_SOURCE = 40  # tokens of an input
_MINI = locate_checkpoint("mini")
_BASE: dict[str, Any] = {  # the size of BART-base; the rest is as in `mini`
    "vocab_size": 50265,
    "d_model": 768,
    "encoder_layers": 6,
    "decoder_layers": 6,
    "encoder_ffn_dim": 3072,
    "decoder_ffn_dim": 3072,
    "max_position_embeddings": 1024,
}
Sequences = list[list[int]]
T = TypeVar("T")


def load(name: str) -> BartForConditionalGeneration:
    """Return `mini`, or a model of the size of BART-base with scores far apart."""
    if name == "mini":
        return BartForConditionalGeneration.from_pretrained(_MINI, dtype=torch.float32).eval()
    torch.manual_seed(0)
    model = BartForConditionalGeneration(BartConfig.from_pretrained(_MINI, **_BASE)).eval()
    model.final_logits_bias.normal_()
    return model


def read_titles(path: Path | None) -> Iterator[str]:
    """Yield the titles of a file, one a line, or those of the demo knowledge base."""
    if path is None:
        with KnowledgeBase.open(demo_kb()) as kb:
            yield from kb.titles()
        return
    with open_binary(path) as lines:
        yield from filter(None, (line.decode().rstrip("\n") for line in lines))


def spell(titles: Iterator[str], vocab_size: int) -> Sequences:
    """Return the tokens of titles by `mini`, spread over a vocabulary."""
    tokenizer = SafeTokenizer.load(_MINI)
    return [
        [token * vocab_size // tokenizer.size for token in ids]
        for batch in iter(lambda: list(islice(titles, 8192)), [])
        for ids in tokenizer.encode_batch(batch)
    ]


def prefix_function(sequences: Sequences, end: int) -> Callable[[int, torch.Tensor], list[int]]:
    """Return a `prefix_allowed_tokens_fn` over nested dicts of `sequences` and the end token."""
    root: dict[int, Any] = {}
    for sequence in sequences:
        node = root
        for token in (*sequence, end):
            node = node.setdefault(token, {})

    def allowed(_: int, ids: torch.Tensor) -> list[int]:
        node = root
        for token in ids.tolist()[1:]:
            node = node.get(token, {})
        return list(node) or [end]

    return allowed


def best(work: Callable[[], T], repeats: int) -> tuple[float, T]:
    """Return the least processor time of `work`, in seconds, and its last result."""
    times, results = best_of_each([work], repeats)
    return times[0], results[0]


def best_of_each(steps: Sequence[Callable[[], T]], repeats: int) -> tuple[list[float], list[T]]:
    """Return the least processor time of each of several steps, which are run in turn."""
    times: list[list[float]] = [[] for _ in steps]
    while not times[0] or (len(times[0]) < repeats and sum(map(sum, times)) < _SECONDS):
        results = []
        for step, spent in zip(steps, times, strict=True):
            began = time.process_time()
            results.append(step())
            spent.append(time.process_time() - began)
    return [min(spent) for spent in times], results


class Search:
    """The part of a beam search step that the constraint needs."""

    def __init__(self, constraint: TrieConstraint, logits: torch.Tensor) -> None:
        self._constraint, self._logits = constraint, logits
        self._log_normalisers = logits.logsumexp(-1).double()

    def step(self, inputs: Ints, rows: Ints, states: Ints) -> Continuations:
        """Return the best continuations of beams, given their inputs, rows and states."""
        batch = ConstraintBatch([self._constraint] * (int(inputs.max()) + 1))
        next_tokens = batch.next_tokens(inputs, states, self._logits.shape[1])
        scores = np.zeros(len(inputs))
        selector = ContinuationSelector(
            self._logits, self._log_normalisers, inputs, scores, rows, next_tokens
        )
        return selector.top_k(2 * _BEAMS)


def select_top_k(
    masked: torch.Tensor, inputs: int, *, first: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the best continuations of each input, as ``generate`` selects them."""
    scores = torch.zeros(inputs, _BEAMS)
    if first:
        scores[:, 1:] = -1e9
    return (masked + scores.view(-1, 1)).view(inputs, -1).topk(2 * _BEAMS)


def selects_the_same(masked: torch.Tensor, best: Continuations, *, first: bool) -> bool:
    """Return whether the beam search selected what ``generate`` would select."""
    inputs, vocab_size = len(masked) // _BEAMS, masked.shape[1]
    scores, places = select_top_k(masked, inputs, first=first)
    valid = scores > -1e8
    beams = best.inputs * _BEAMS if first else best.beams
    ours = np.stack([beams * vocab_size + best.tokens, best.scores])
    offsets = torch.arange(inputs)[:, None] * _BEAMS * vocab_size
    theirs = torch.stack([(places + offsets)[valid].double(), scores[valid].double()]).numpy()
    ours, theirs = (pairs[:, pairs[0].argsort()] for pairs in (ours, theirs))
    return ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=0, atol=1e-4)


def time_decoder_call(model: Seq2Seq, inputs: int, repeats: int) -> float:
    """Return the seconds of a decoder call after some tokens."""
    rng = np.random.default_rng(0)
    with model.inference_context():
        encoded = model.encode(rng.integers(1000, model.vocab_size, (inputs, _SOURCE)).tolist())
        cache = model.new_cache()
        tokens = torch.from_numpy(rng.integers(1000, model.vocab_size, (inputs, _BEAMS, 1)))
        model.step(encoded, cache, tokens.expand(-1, -1, _DEPTHS))
        return best(lambda: model.step(encoded, cache, tokens), repeats)[0]


def measure(sequences: Sequences, model: Seq2Seq, inputs: int, repeats: int) -> Iterator[str]:
    """Yield the lines of the table for a batch of inputs."""
    beams, vocab_size = inputs * _BEAMS, model.vocab_size
    rng = np.random.default_rng(0)
    long = [sequence for sequence in sequences if len(sequence) >= _DEPTHS]
    prefixes = [long[at] for at in rng.choice(len(long), beams, replace=len(long) < beams)]
    logits = torch.from_numpy(rng.normal(size=(beams, vocab_size)).astype(np.float32) * 3)
    scores = logits.log_softmax(-1)
    constraint = TrieConstraint(TokenTrie.build(sequences), model.eos)
    # transformers' classes have decorators that hide their types.
    dicts: Any = PrefixConstrainedLogitsProcessor(prefix_function(sequences, model.eos), _BEAMS)
    processor, search = ConstraintLogitsProcessor(constraint), Search(constraint, logits)
    ids = [torch.tensor([[model.start, *s[:depth]] for s in prefixes]) for depth in range(_DEPTHS)]
    states = [np.array([constraint.walk(s[:depth]) for s in prefixes]) for depth in range(_DEPTHS)]
    rows, first = np.arange(beams), np.arange(inputs) * _BEAMS
    each = [(rows // _BEAMS, rows, s) for s in states]
    slow, expected = best_of_each([partial(dicts, i, scores) for i in ids], repeats)
    fast, masked = best_of_each([partial(processor, i, scores) for i in ids], repeats)
    steps = [(first // _BEAMS, first, states[0][first]), *each[1:], each[0]]
    ours, choices = best_of_each([partial(search.step, *s) for s in steps], repeats)
    topk, _ = best(lambda: select_top_k(scores, inputs, first=False), repeats)
    call = time_decoder_call(model, inputs, repeats)
    yield f"{beams} beams x {vocab_size:,} tokens, {len(sequences):,} titles; µs per step"
    names = ("depth", "allowed", "dicts", "processor", "search", "topk", "decoder")
    yield "{:>8}{:>9}{:>11}{:>19}{:>19}{:>9}{:>18}".format(*names)
    for at, (depth, label) in enumerate([(0, "0"), (1, "1"), (2, "2"), (3, "3"), (0, "0, all")]):
        cells = [f"{t * 1e6:,.0f} ({slow[depth] / t:,.1f}x)" for t in (fast[depth], ours[at])]
        cells += [f"{topk * 1e6:,.0f}", f"{call * 1e6:,.0f} ({ours[at] / call:.1%})"]
        allowed = float((expected[depth] > -torch.inf).sum(1).float().mean())
        line = f"{label:>8}{allowed:9,.0f}{slow[depth] * 1e6:11,.0f}"
        line += "{:>19}{:>19}{:>9}{:>18}".format(*cells)
        same = torch.equal(expected[depth], masked[depth])
        if at < _DEPTHS:
            same = same and selects_the_same(expected[depth], choices[at], first=at == 0)
        yield line + ("" if same else "  RESULTS DIFFER")


@click.command()
@click.option(
    "--titles", type=click.Path(path_type=Path, exists=True), help="A text file, may be gzipped."
)
@click.option("--limit", type=int, help="Number of titles, the first ones; all by default.")
@click.option("--model", "names", multiple=True, default=["mini", "base"], show_default=True)
@click.option("--inputs", "batches", multiple=True, default=[1, 10], show_default=True)
@click.option("--repeats", default=50, show_default=True)
def main(
    titles: Path | None, limit: int | None, names: tuple[str], batches: tuple[int], repeats: int
) -> None:
    """Print the table for each model and batch size."""
    torch.set_num_threads(1)
    for name in names:
        model = Seq2Seq(load(name))
        sequences = spell(islice(read_titles(titles), limit), model.vocab_size)
        for count in batches:
            for line in measure(sequences, model, count, repeats):
                print(line, flush=True)


if __name__ == "__main__":
    main()
