"""Trained readers side by side: accuracy by source, pairs with both claims right, and proofs.

Run as ``python -m benchmarks.reader_ablation --base runs/base --dev runs/dev-examples.jsonl
READER ...``. Of each reader, the verdicts are those of the automaton and of the whole head. Groups
of several examples are right if all are. ``--proofs N`` prints the most probable proofs of the
first N decided examples.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import numpy as np
import torch

from proofs.verifier.natural_logic_reader import (
    STATES,
    NaturalLogicReader,
    ReaderEncoder,
    ReaderOutput,
    best_path,
    new_reader,
)
from training.data.examples import UNLABELLED, Example
from training.reading import ReadingExample, collate, encoded_by
from training.reading.adapters import load_reader, with_adapters
from training.verification import POSSIBLE, ExampleSet, read_example_set


def open_reader(folder: Path, base: Path) -> tuple[NaturalLogicReader, ReaderEncoder]:
    """Open a trained reader on its encoder."""
    reader, tokenizer = new_reader(base, 0)
    if rank := json.loads((folder / "config.json").read_text())["rank"]:
        with_adapters(reader, rank)
    load_reader(reader, folder)
    return reader.eval(), ReaderEncoder.of(tokenizer, 384)


@torch.no_grad()
def outputs(
    reader: NaturalLogicReader, data: ExampleSet[ReadingExample], pad: int, size: int = 16
) -> Iterator[tuple[Example, ReaderOutput, int]]:
    """Yield each example with the output of its batch and its row there."""
    for begin in range(0, len(data.items), size):
        batch = collate(data.items[begin : begin + size], pad)
        output = reader(batch.ids, batch.mask, batch.spans, batch.markers)
        for row, example in enumerate(data.examples[begin : begin + size]):
            yield example, output, row


def table(results: dict[str, dict[str, dict[str, list[bool]]]], sources: Sequence[str]) -> None:
    """Print the share of right examples, and of groups with all right, by reader and source."""
    click.echo(f"| reader | read by | {' | '.join(sources)} |")
    click.echo("|---" * (len(sources) + 2) + "|")
    for name, heads in results.items():
        for head, by_source in heads.items():
            cells = [f"{np.mean(by_source[source]):.3f}" for source in sources]
            click.echo(f"| {name} | {head} | {' | '.join(cells)} |")


def proof_lines(example: Example, output: ReaderOutput, row: int, places: list[str]) -> list[str]:
    """Return the most probable proof of an example, a line for each span."""
    verdict = STATES[int(output.verdicts[row].argmax())]
    path = best_path(output.operators[row, : len(places)].tolist(), verdict)
    chances = output.operators[row].exp()
    lines = [
        f"{example.claim}  ->  {verdict.value} ({float(output.verdicts[row].max().exp()):.2f})"
    ]
    for number, (span, operator) in enumerate(zip(places, path, strict=True)):
        quoted = example.evidence[int(output.quoted[row, number, : len(example.evidence)].argmax())]
        chance = float(chances[number].max())
        lines.append(f"    {{{span}}} {operator.value} ({chance:.2f}) [{': '.join(quoted)[:80]}]")
    return lines


@click.command()
@click.argument("readers", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--base", type=click.Path(path_type=Path, exists=True), default="runs/base")
@click.option("--dev", multiple=True, type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--limit", default=100, show_default=True, help="Examples of each source.")
@click.option("--proofs", default=0, show_default=True, help="Proofs of each reader.")
def main(
    readers: tuple[Path, ...], base: Path, dev: tuple[Path, ...], limit: int, proofs: int
) -> None:
    """Print the table of readers, and proofs of each."""
    results: dict[str, dict[str, dict[str, list[bool]]]] = {}
    sources: list[str] = []
    for folder in readers:
        reader, encoder = open_reader(folder, base)
        data = read_example_set("evaluate", dev, encoder, encoded_by(encoder), limit)
        rights: dict[str, dict[str, list[bool]]] = {}
        groups: dict[str, dict[tuple[str, str], list[bool]]] = {}
        shown: list[str] = []
        for example, output, row in outputs(reader, data, encoder.special.pad):
            if example.label == UNLABELLED:
                continue
            for head, scores in (("automaton", output.verdicts), ("whole head", output.whole)):
                right = bool(POSSIBLE[example.label] >> int(scores[row].argmax()) & 1)
                rights.setdefault(head, defaultdict(list))[example.source].append(right)
                if example.group:
                    key = (example.source, example.group)
                    groups.setdefault(head, defaultdict(list))[key].append(right)
            if len(shown) < proofs and example.source in ("contrast", "vitaminc"):
                (read,) = encoder.encode([example.claim], [example.evidence])
                places = [example.claim[begin:end] for begin, end in read.places]
                shown.append("\n".join(proof_lines(example, output, row, places)))
        for head, by_group in groups.items():
            for (source, _), each in by_group.items():
                if len(each) > 1:
                    rights[head].setdefault(f"{source} pairs", []).append(all(each))
        results[folder.name] = rights
        sources = sorted(rights["automaton"])
        click.echo("\n".join([f"## {folder.name}", *shown, ""]) if shown else "")
    table(results, sources)


if __name__ == "__main__":
    main()
