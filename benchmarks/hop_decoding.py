"""Claims per second with fixed hops, and the decoding of these hops beside ``generate``.

    python -m benchmarks.hop_decoding [CLAIMS.jsonl] [--kb KB] [--size large] [--device cuda]

The whole system answers the claims, once for each batch size. The inputs and constraints that its
hop retriever decodes on the way are kept. They are then decoded alone, by our beam search and by
transformers' ``generate`` with a `prefix_allowed_tokens_fn` over the same constraints, all beams
and tokens as in the system. `large` is of the size of BART-large, with random weights: it takes the
time of a trained one, but what it finds means nothing. Seconds are those of the wall; run it where
nothing else runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click
import torch

from admiral import Admiral, Claim, RetrievalConfig, load_config
from admiral.io.claims import evenly_spaced, read_claims
from admiral.kb import KnowledgeBase, locate
from admiral.models.checkpoint import Checkpoint, load_checkpoint, locate_checkpoint
from admiral.models.devices import choose_device, choose_dtype
from admiral.models.heads import RerankHead
from admiral.retrieval import hop_retriever
from admiral.scheduling.memory import free_cached_memory, is_out_of_memory
from benchmarks.models import SIZES, load
from benchmarks.nested import constraint_function, generate
from trie import Constraint, SafeTokenizer, Seq2Seq, beam_search

_DEMO = Path(str(files("admiral"))) / "data" / "demo" / "claims.jsonl"


@dataclass(frozen=True, slots=True)
class Decoding:
    """What one claim gave the beam search at one hop."""

    ids: Sequence[int]
    constraint: Constraint
    beams: int


def checkpoint_of(size: str, config: RetrievalConfig) -> Checkpoint:
    """Return `mini`, or its tokenizer with a model of another size, where the settings say."""
    device, dtype = choose_device(config.device), choose_dtype(config)
    if size == "mini":
        return load_checkpoint("mini", device, dtype)
    path, model = locate_checkpoint("mini"), load(size)
    tokens = SafeTokenizer.load(path, model.config.decoder_start_token_id)
    model.to(device)  # type: ignore[arg-type]
    head = RerankHead(model.lm_head.in_features).to(device).eval()
    return Checkpoint(path, Seq2Seq(model, dtype), tokens, head)


@contextmanager
def noted(kept: list[Decoding]) -> Iterator[None]:
    """Note what the hop retriever has decoded meanwhile."""

    def search(model: Seq2Seq, inputs: Any, constraints: Any, **named: Any) -> Any:
        kept.extend(map(Decoding, inputs, constraints, [named["beam_size"]] * len(inputs)))
        return beam_search(model, inputs, constraints, **named)

    with patch.object(hop_retriever, "beam_search", search):
        yield


def seconds(work: Callable[[], object]) -> float | None:
    """Return what it takes, by the wall; None if it runs out of memory."""
    try:
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        began = time.perf_counter()
        work()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return time.perf_counter() - began
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
    free_cached_memory()
    return None


def grouped(decodings: Sequence[Decoding], batch: int) -> Iterator[Sequence[Decoding]]:
    """Yield batches of equally many beams, of inputs of about one length."""
    for beams in sorted({one.beams for one in decodings}):
        same = [one for one in decodings if one.beams == beams]
        same.sort(key=lambda one: len(one.ids))
        yield from (same[at : at + batch] for at in range(0, len(same), batch))


def ours(model: Seq2Seq, decodings: Sequence[Decoding], batch: int) -> None:
    """Decode all by our beam search."""
    for some in grouped(decodings, batch):
        beam_search(
            model,
            [one.ids for one in some],
            [one.constraint for one in some],
            beam_size=some[0].beams,
            max_length=model.max_target,
        )


def by_generate(model: Any, decodings: Sequence[Decoding], batch: int) -> None:
    """Decode all by transformers."""
    for some in grouped(decodings, batch):
        constraints = [one.constraint for one in some]
        with torch.inference_mode():
            generate(
                model,
                [one.ids for one in some],
                constraint_function(constraints, model.config.eos_token_id),
                beams=some[0].beams,
                most=model.config.max_position_embeddings - 1,
            )


def answer(system: Admiral, claims: Sequence[Claim], batch: int) -> None:
    """Answer claims by the whole system."""
    config = replace(system.config, batch_size=batch)
    list(Admiral(system.kb, system.checkpoint, config, system.stages).retrieve_many(claims))


def cell(count: int, taken: float | None) -> str:
    """Return claims per second and seconds of a claim."""
    return "out of memory" if taken is None else f"{count / taken:.3f} ({taken / count:.3f} s)"


@click.command()
@click.argument("claims", type=click.Path(path_type=Path, exists=True), default=_DEMO)
@click.option("--kb", default="demo", show_default=True)
@click.option("--size", type=click.Choice(["mini", *SIZES]), default="mini", show_default=True)
@click.option("--device", default="auto", show_default=True)
@click.option("--hops", default="2", show_default=True)
@click.option("--limit", default=32, show_default=True, help="Claims, spread over the file.")
@click.option("--batch", "batches", multiple=True, default=[1, 8, 32], show_default=True)
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Further settings.")
def main(
    claims: Path,
    kb: str,
    size: str,
    device: str,
    hops: str,
    limit: int,
    batches: tuple[int, ...],
    settings: tuple[str, ...],
) -> None:
    """Measure and print."""
    config = load_config(None, [f"kb={kb}", f"device={device}", f"hops={hops}", *settings])
    if config.threads:  # the system takes them anyway
        torch.set_num_threads(config.threads)
    asked = evenly_spaced(list(read_claims(claims)), limit)
    checkpoint, opened = checkpoint_of(size, config), KnowledgeBase.open(locate(kb))
    plain = load(size).to(checkpoint.model.device)  # type: ignore[arg-type]
    if choose_dtype(config) is torch.bfloat16:
        plain = plain.to(torch.bfloat16)
    with Admiral(opened, checkpoint, config) as system:
        kept: list[Decoding] = []
        with noted(kept):
            answer(system, asked, max(batches))  # also compiles the constraints, warms up
        by_generate(plain, kept[:1], 1)
        where = torch.cuda.get_device_name() if torch.cuda.is_available() else "processor"
        print(f"{size}, {hops} hops, {len(asked)} claims, {len(kept)} decodings; {where}")
        print("claims per second (seconds of a claim)\n")
        print("| batch | whole system | its decoding | generate |\n|---|---|---|---|")
        for batch in batches:
            cells = [
                cell(len(asked), seconds(work))
                for work in (
                    lambda: answer(system, asked, batch),  # noqa: B023
                    lambda: ours(checkpoint.model, kept, batch),  # noqa: B023
                    lambda: by_generate(plain, kept, batch),  # noqa: B023
                )
            ]
            print(f"| {batch} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
