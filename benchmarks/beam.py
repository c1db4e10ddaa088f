"""The beam search beside transformers' ``generate``, and beside itself without a constraint.

    python -m benchmarks.beam [--titles TITLES.gz] [--model mini] [--batch 1] [--limit 100000]

All decode the same claims (random tokens) with the same model: the bundled `mini`, or one of the
size of BART-base with random weights. Titles are random sequences of tokens, or those of a file as
`mini` spells them. ``generate`` gets a `prefix_allowed_tokens_fn` over nested dicts. Without a
constraint every token may follow, for as many tokens as the model decoded with it. Times are
processor times, the best of several runs, so that other work on the machine counts little.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from transformers import BartConfig, BartForConditionalGeneration

from admiral.checkpoint import locate_checkpoint
from benchmarks.trie import read_titles
from trie import Hypothesis, Seq2Seq, Tokens, TokenTrie, Transitions, TrieConstraint, beam_search
from trie.bits import Ints

MINI = locate_checkpoint("mini")
Sequences = list[list[int]]


# The size of BART-base; the rest is as in `mini`.
BASE: dict[str, Any] = {
    "vocab_size": 50265,
    "d_model": 768,
    "encoder_layers": 6,
    "decoder_layers": 6,
    "encoder_ffn_dim": 3072,
    "decoder_ffn_dim": 3072,
    "max_position_embeddings": 1024,
}


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


class Timed(Seq2Seq):
    """A model that notes how long it was called, and for how many tokens a beam."""

    seconds, tokens = 0.0, 0

    def step(self, *arguments: Any) -> torch.Tensor:
        """Decode the next tokens."""
        began = time.process_time()
        logits = super().step(*arguments)
        self.seconds += time.process_time() - began
        self.tokens += logits.shape[2]
        return logits


def load(name: str) -> BartForConditionalGeneration:
    """Return `mini`, or a model of the size of BART-base whose scores are far apart."""
    if name == "mini":
        return BartForConditionalGeneration.from_pretrained(MINI, dtype=torch.float32).eval()
    torch.manual_seed(0)
    model = BartForConditionalGeneration(BartConfig.from_pretrained(MINI, **BASE)).eval()
    model.final_logits_bias.normal_()
    return model


def random_titles(count: int, vocabulary: int) -> Sequences:
    """Return sequences of tokens of which a few are frequent, as in titles: about 5 tokens."""
    rng = np.random.default_rng(0)
    lengths = 1 + rng.poisson(3.5, count)
    tokens = 1000 + (rng.zipf(1.3, lengths.sum()) - 1) % (vocabulary - 1000)
    return [part.tolist() for part in np.split(tokens, np.cumsum(lengths)[:-1])]


def by_generate(
    model: Any, sequences: Sequences, beams: int
) -> Callable[[Sequences], list[list[Hypothesis]]]:
    """Return a function that decodes by transformers."""
    end = model.config.eos_token_id
    root: dict[int, Any] = {}
    for sequence in sequences:
        node = root
        for token in (*sequence, end):
            node = node.setdefault(token, {})

    def following(_: int, ids: torch.Tensor) -> list[int]:
        node = root
        for token in ids.tolist()[1:]:
            node = node.get(token, {})
        return list(node) or [end]

    def decode(inputs: Sequences) -> list[list[Hypothesis]]:
        out = model.generate(
            torch.tensor(inputs),
            attention_mask=torch.ones(len(inputs), len(inputs[0]), dtype=torch.int64),
            num_beams=beams,
            num_return_sequences=beams,
            max_new_tokens=max(map(len, sequences)) + 1,
            length_penalty=0.0,
            early_stopping=False,
            do_sample=False,
            forced_bos_token_id=None,
            forced_eos_token_id=None,
            prefix_allowed_tokens_fn=following,
            output_scores=True,
            return_dict_in_generate=True,
        )
        rows = [tuple(row[1 : row.index(end, 1) + 1]) for row in out.sequences.tolist()]
        found = list(map(Hypothesis, rows, out.sequences_scores.tolist(), [0] * len(rows)))
        return [found[at : at + beams] for at in range(0, len(found), beams)]

    return decode


def best(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Return the least processor time of `work`, in seconds, and its result."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        result = work()
        times.append(time.process_time() - began)
    return min(times), result


def differences(ours: list[list[Hypothesis]], theirs: list[list[Hypothesis]]) -> tuple[int, float]:
    """Return at how many places the sequences differ, and the greatest difference of scores."""
    pairs = [pair for both in zip(ours, theirs, strict=True) for pair in zip(*both, strict=True)]
    return sum(a.tokens != b.tokens for a, b in pairs), max(
        abs(a.score - b.score) for a, b in pairs
    )


@click.command()
@click.option("--titles", type=click.Path(path_type=Path, exists=True), help="Text, or text.gz.")
@click.option("--limit", default=100_000, show_default=True, help="Number of titles.")
@click.option("--model", "names", multiple=True, default=["mini", "base"], show_default=True)
@click.option("--batch", "batches", multiple=True, default=[1, 8, 32], show_default=True)
@click.option("--beams", default=25, show_default=True)
@click.option("--length", default=40, show_default=True, help="Tokens of a claim.")
@click.option("--repeats", default=3, show_default=True)
def main(
    titles: Path | None,
    limit: int,
    names: tuple[str, ...],
    batches: tuple[int, ...],
    beams: int,
    length: int,
    repeats: int,
) -> None:
    """Measure and print."""
    for name in names:
        loaded = load(name)
        model = Timed(loaded)
        if titles is None:
            sequences = random_titles(limit, model.vocabulary)
        else:
            tokens = Tokens.load(MINI)
            sequences = [tokens.encode(title) for title in islice(read_titles(titles), limit)]
        trie, decode = TokenTrie.build(sequences), by_generate(loaded, sequences, beams)
        most = max(map(len, sequences)) + 1
        print(f"{name}: {len(sequences):,} titles, {beams} beams; seconds a claim")
        print(f"{'claims':>8}{'ours':>9}{'model':>14}{'generate':>17}{'free':>17}  differences")
        for batch in batches:
            rng = np.random.default_rng(batch)
            inputs = rng.integers(1000, model.vocabulary, (batch, length)).tolist()
            constraints = [TrieConstraint(trie, model.eos) for _ in inputs]
            how: dict[str, Any] = {"beam_size": beams, "max_length": most}
            model.seconds, model.tokens = 0.0, 0
            beam_search(model, inputs, constraints, **how)
            free = [Free(model.vocabulary, model.eos, model.tokens - 1)] * batch
            model.seconds = 0.0
            ours, found = best(lambda: beam_search(model, inputs, constraints, **how), repeats)  # noqa: B023
            inside = model.seconds / repeats
            theirs, expected = best(lambda: decode(inputs), repeats)  # noqa: B023
            unbound, _ = best(lambda: beam_search(model, inputs, free, **how), repeats)  # noqa: B023
            cells = [f"{t / batch:9.3f} ({t / ours:.2f}x)" for t in (inside, theirs, unbound)]
            wrong, gap = differences(found, expected)
            print(f"{batch:8}{ours / batch:9.3f}" + "".join(f"{c:>17}" for c in cells), end="")
            print(f"  {wrong} of {batch * beams} sequences, scores {gap:.0e}")


if __name__ == "__main__":
    main()
