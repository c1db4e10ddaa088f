"""Build twins from the documents of a knowledge base: claims that differ little, with evidence.

Run as ``python -m training.build_twins --kb KB --documents 60000 --exclude dev.jsonl OUT.jsonl``.
It needs spaCy and a model for English. A group depends on its document, its neighbours and the seed
alone, so an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, locate
from admiral.records import Document
from admiral.storage.output_paths import check_output_path
from admiral.synthesis.slots import is_list_page
from training.command_options import exclude_option, kb_option, seed_option
from training.data.claim_sources import titles_of
from training.data.twins import ParsedDocument, TwinMaker

_PARSED_SENTENCES = 6
_LONGEST = 400  # characters of a sentence
_BLOCK = 512  # documents that are parsed together
_NEIGHBOURS = 3
_POOL_SIZE = 4000


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@kb_option("name")
@click.option(
    "--documents",
    "count",
    type=click.IntRange(min=1),
    default=20000,
    show_default=True,
    help="Documents to make claims about, drawn at random.",
)
@click.option(
    "--model", default="en_core_web_sm", show_default=True, help="spaCy's model for English."
)
@exclude_option("documents of their evidence are left out")
@seed_option
def main(
    out: Path, name: str, count: int, model: str, exclude: tuple[Path, ...], seed: int
) -> None:
    """Write groups of examples to OUT (JSON Lines), the same ones for the same seed.

    What an interrupted run wrote is kept in OUT.partial, which the same command continues.
    """
    try:
        check_output_path(out)
        parser = open_parser(model)
        excluded = titles_of(exclude)
        with KnowledgeBase.open(locate(name)) as kb:
            written = build(kb, parser, out, count, excluded, seed)
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{out}: {written:,} examples", err=True)


def open_parser(model: str) -> Any:
    """Return spaCy's pipeline.

    Raises
    ------
    AdmiralError
        If spaCy or the model is not installed.
    """
    try:
        import spacy

        return spacy.load(model)
    except ImportError:
        raise AdmiralError("spaCy is not installed: pip install 'spacy>=3.8,<3.9'") from None
    except OSError as error:
        raise AdmiralError(f"--model {model}: {error}") from None


def build(
    kb: KnowledgeBase, parser: Any, out: Path, count: int, excluded: set[str], seed: int
) -> int:
    """Write the groups of `count` documents to `out`, and return the number of examples."""
    rows = random.Random(f"{seed} twins").sample(range(len(kb)), min(count, len(kb)))
    partial = out.with_name(f"{out.name}.partial")
    done, written = _resume(partial)
    with partial.open("a", encoding="utf-8") as file:
        pool: dict[str, list[str]] = defaultdict(list)
        for begin in tqdm(range(0, len(rows), _BLOCK), unit=" blocks", disable=None):
            block = rows[begin : begin + _BLOCK]
            documents = [kb.document_at(row) for row in block]
            documents = [d for d in documents if _is_usable(d, excluded)]
            # Neighbours are the documents of the block that share most words: a search a claim
            # would cost more than the parser.
            parsed = list(_parsed(documents, parser))
            _extend(pool, parsed)
            if begin // _BLOCK < done:
                continue
            maker = TwinMaker(pool)
            for own, neighbours in _with_neighbours(parsed, begin, seed):
                rng = random.Random(f"{seed} twins {own.title}")
                for example in maker.group(own, neighbours, rng, f"{seed} {own.title}"):
                    file.write(json.dumps(asdict(example), ensure_ascii=False) + "\n")
                    written += 1
            file.write(json.dumps({"blocks": begin // _BLOCK + 1}) + "\n")
            file.flush()
    kept = (line for line in partial.open(encoding="utf-8") if not line.startswith('{"blocks"'))
    with out.open("w", encoding="utf-8") as file:
        file.writelines(kept)
    partial.unlink()
    return written


def _resume(partial: Path) -> tuple[int, int]:
    """Cut a partial file after its last whole block; return the blocks and examples it holds."""
    if not partial.exists():
        return 0, 0
    lines = partial.read_bytes().splitlines(keepends=True)
    ends = [
        n for n, line in enumerate(lines) if line.startswith(b'{"blocks"') and line.endswith(b"\n")
    ]
    kept = lines[: ends[-1] + 1] if ends else []
    partial.write_bytes(b"".join(kept))
    return len(ends), len(kept) - len(ends)


def _is_usable(document: Document, excluded: set[str]) -> bool:
    return (
        document.title not in excluded
        and not is_list_page(document.title)
        and any(document.sentences)
    )


def _parsed(documents: Sequence[Document], parser: Any) -> Iterator[ParsedDocument]:
    texts: list[list[str]] = []
    for document in documents:
        own = [s.strip() for s in document.sentences if s.strip() and len(s) <= _LONGEST]
        texts.append(own[:_PARSED_SENTENCES])
    parses = parser.pipe((text for own in texts for text in own), batch_size=256)
    for document, own in zip(documents, texts, strict=True):
        trees = [next(parses) for _ in own]
        yield ParsedDocument(Document(document.title, tuple(own)), trees)


def _extend(pool: dict[str, list[str]], parsed: Sequence[ParsedDocument]) -> None:
    for document in parsed:
        for _, kind, text in document.values():
            if len(pool[kind]) < _POOL_SIZE:
                pool[kind].append(text)


def _with_neighbours(
    parsed: Sequence[ParsedDocument], begin: int, seed: int
) -> Iterator[tuple[ParsedDocument, list[ParsedDocument]]]:
    """Yield each document with the documents of its block that have most words in common."""
    words = [set(" ".join(d.sentences[:2]).casefold().split()) for d in parsed]
    counts: dict[str, int] = defaultdict(int)
    for own in words:
        for word in own:
            counts[word] += 1
    for at, document in enumerate(parsed):

        def closeness(other: int, at: int = at) -> float:
            return sum(1 / counts[word] for word in words[at] & words[other])

        ranked = sorted((n for n in range(len(parsed)) if n != at), key=closeness, reverse=True)
        yield document, [parsed[n] for n in ranked[:_NEIGHBOURS]]


if __name__ == "__main__":
    main()
