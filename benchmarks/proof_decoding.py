"""Generated proofs: how many fail to parse, cover or quote, and what they cost.

Run as ``python -m benchmarks.proof_decoding --kb KB --count 10000 --beams 2``. Claims are
sentences of the
knowledge base, evidence is drawn from it at random; every fourth pair is hostile: marks of the
notation, control characters, lone surrogates, special tokens and white space of all sorts in any
order. Times compare whole proofs, proofs that stop at the first uncovered step, and as many tokens
of the same model without constraint.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from itertools import islice

import click
import torch

from admiral.kb import KnowledgeBase, locate
from admiral.models.checkpoint import Checkpoint, load_checkpoint
from benchmarks.beam import Free
from proofs import Proof, ProofError, ProofGenerator, ScoredProof, target_ids
from proofs.generation.source_input import encode_source
from trie import beam_search

Pair = tuple[str, list[tuple[str, str]]]
_HOSTILE = [
    *"{}[]=!|#<>\\", "}}", "]]", "{a}", "[b]", "a]b", "} [ ] #", "</s>", "<s>", "[SEP]", "<pad>",
    "<e0>", "\x00", "\x1c", "\u200b", "e\u0301", "\ud800", "𝔘", "日本語", "İstanbul", "ﬁne",
    "(1873)", "1,000.", "don't", "x" * 130, "the", "of", "not", "Irish", "1873", "first",
]  # fmt: skip
_SPACES = [" ", " ", "  ", "\n", "\t", "\u00a0", "\u2028", "\x1c", ""]


def pairs(kb: KnowledgeBase, seed: int, longest: int) -> Iterator[Pair]:
    """Yield pairs of claim and evidence without end."""
    rng, rows = random.Random(seed), kb.rows()

    def sentence() -> tuple[str, str]:
        document = kb.document_at(int(rows[rng.randrange(len(rows))]))
        text = rng.choice(document.sentences) if document.sentences else ""
        return document.title, " ".join(text.split()[:longest])

    def hostile(least: int) -> str:
        words = [rng.choice(_HOSTILE) + rng.choice(_SPACES) for _ in range(rng.randint(least, 16))]
        return "".join(words)

    number = 0
    while True:
        number += 1
        if number % 4:
            yield sentence()[1] or "Nothing.", [sentence() for _ in range(rng.randint(0, 3))]
        else:
            evidence = [(hostile(0), hostile(0)) for _ in range(rng.randint(0, 3))]
            yield "a " * rng.randint(0, 1) + hostile(1), evidence


def fault(pair: Pair, candidates: Sequence[ScoredProof]) -> str | None:
    """Return what is wrong with the proofs of a pair, None where nothing is."""
    claim, evidence = pair
    if not candidates:
        return "no proof" if claim.split() else None
    for proof, _ in candidates:
        try:
            proof.validate(claim, evidence)
            if Proof.parse(proof.to_text()) != proof:
                return "reads back otherwise"
        except ProofError as error:
            return str(error)
    return None


def times(checkpoint: Checkpoint, chosen: Sequence[Pair], beams: int) -> dict[str, float]:
    """Return the seconds a pair takes: whole, stopped at the first uncovered step, unconstrained.

    Without constraint as many tokens are decoded as the best whole proof has.
    """
    model, tokens = checkpoint.model, checkpoint.tokens
    spent = dict.fromkeys(("whole proof", "up to the first #", "unconstrained"), 0.0)
    for claim, evidence in chosen:
        for name, early in (("whole proof", False), ("up to the first #", True)):
            writer = ProofGenerator(model, tokens, beam_size=beams, stop_at_independence=early)
            began = time.perf_counter()
            (found,) = writer.generate([claim], [evidence])
            spent[name] += time.perf_counter() - began
            if not early:
                length = len(target_ids(tokens, found[0].proof, claim, evidence))
        source = encode_source(tokens, "prove", claim, evidence, model.max_source).ids
        began = time.perf_counter()
        free = Free(model.vocab_size, model.eos, length - 1)
        beam_search(model, [source], [free], beam_size=beams, max_length=length)
        spent["unconstrained"] += time.perf_counter() - began
    return {name: seconds / len(chosen) for name, seconds in spent.items()}


@click.command()
@click.option("--kb", default="demo", show_default=True)
@click.option("--model", default="mini", show_default=True)
@click.option("--count", default=10_000, show_default=True, help="Pairs of claim and evidence.")
@click.option("--beams", default=5, show_default=True)
@click.option("--batch", default=32, show_default=True)
@click.option("--longest", default=20, show_default=True, help="Words of a drawn sentence.")
@click.option("--timed", default=20, show_default=True, help="Pairs to time; 0 for none.")
@click.option("--precision", type=click.Choice(["fp32", "bf16"]), default="fp32")
@click.option("--seed", default=0, show_default=True)
def main(
    kb: str,
    model: str,
    count: int,
    beams: int,
    batch: int,
    longest: int,
    timed: int,
    precision: str,
    seed: int,
) -> None:
    """Generate proofs for random pairs of claim and evidence; count faults, take times."""
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    checkpoint = load_checkpoint(model, dtype=dtype)
    writer = ProofGenerator(
        checkpoint.model, checkpoint.tokens, beam_size=beams, batch_size=batch, max_length=128
    )
    with KnowledgeBase.open(locate(kb)) as opened:
        stream = pairs(opened, seed, longest)
        done = proofs = 0
        faults: list[str] = []
        began = time.perf_counter()
        while group := list(islice(stream, min(batch, count - done))):
            found = writer.generate([c for c, _ in group], [e for _, e in group])
            for pair, candidates in zip(group, found, strict=True):
                wrong = fault(pair, candidates)
                faults += [f"{pair!r}: {wrong}"] if wrong else []
                proofs += len(candidates)
            done += len(group)
            if done % (16 * batch) == 0:
                spent = time.perf_counter() - began
                click.echo(f"{done} pairs, {len(faults)} faults, {spent:.0f} s", err=True)
        click.echo(f"{done} pairs, {proofs} proofs, {beams} beams: {len(faults)} faults")
        for one in faults[:10]:
            click.echo(f"  {one}")
        if timed:
            usual = (p for at, p in enumerate(pairs(opened, seed + 1, 40), 1) if at % 4 and p[1])
            for name, seconds in times(checkpoint, list(islice(usual, timed)), 5).items():
                click.echo(f"{name}: {1000 * seconds:.0f} ms a claim, 5 beams")


if __name__ == "__main__":
    main()
