"""Build training examples of the verifier: claims and sentences of evidence, with labels.

Run as ``python -m training build_examples --nli FOLDER --kb KB --source hover:claims.jsonl
--worlds 50000 OUT.jsonl``.

Pairs of natural language inference have the fields `premise`, `hypothesis`, `label` and `source`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

import click

from admiral.errors import AdmiralError
from admiral.io.sentence_splitter import split_sentences
from admiral.kb import KnowledgeBase, locate
from admiral.records import read_record
from admiral.retrieval.first_stage import base_title
from admiral.storage.atomic_files import check_distinct_paths
from proofs.verifier import LABELS
from training.command_options import (
    documents_option,
    exclude_option,
    hold_out_option,
    kb_option,
    out_argument,
    program,
    seed_option,
    source_option,
)
from training.data.bridge_twins import bridge_twins
from training.data.claim_sources import FORMATS, Source, is_held_out, titles_of
from training.data.evidence_corpora import Corpus, PassageCorpus, with_documents
from training.data.evidence_examples import (
    closest_sentences,
    evidence_examples,
    joined_examples,
    page_examples,
    selection_examples,
)
from training.data.examples import (
    NON_COMMERCIAL,
    REMEDY,
    Example,
    draw_examples,
    summary_by_source,
)
from training.data.passages import inference_passages, passage_examples
from training.data.records import numbered_objects, write_records
from training.data.worlds import world_examples

_PAIRS = "nli:"
_MAX_SENTENCES = 12
_NAME = re.compile(r"[A-Z][\w'’.-]*(?: (?:(?:of|the|and|de|von) )?[A-Z0-9][\w'’.-]*)*")
_WORD = re.compile(r"\w+")
_CONTENT = re.compile(r"\d+|\w{4,}")
_MIN_NAME = 4  # shorter names, such as "He", are not distinctive
# Share of the examples that get titles.
_TITLED = 0.7
_LONGEST_TITLE = 10  # words
_SEARCHED_DOCUMENTS = 4


def inference_files(path: Path, split: str) -> list[Path]:
    """Return a file of pairs, or the files of a split in a folder (``*.train.jsonl.gz``).

    Raises `AdmiralError` if there is no such file, or the folder has none of this split.
    """
    if path.is_file():
        return [path]
    files = sorted({*path.glob(f"*.{split}.jsonl"), *path.glob(f"*.{split}.jsonl.gz")})
    if not files:
        raise AdmiralError(
            f"{path}: there is no file *.{split}.jsonl or *.{split}.jsonl.gz; give a file of "
            "pairs, a folder of them, or another --split"
        )
    return files


@dataclass(frozen=True, slots=True)
class _Pair:
    premise: str
    hypothesis: str
    label: str
    source: str
    group: str | None = None


def read_inference_examples(path: Path, *, non_commercial: bool = False) -> Iterator[Example]:
    """Yield the examples of a file, each sentence of a premise one of the evidence.

    `non_commercial`: whether to yield examples of `NON_COMMERCIAL` sources.
    """
    for where, record in numbered_objects(path):
        pair = read_record(_Pair, record, where, REMEDY)
        texts = split_sentences(pair.premise)
        if not 1 <= len(texts) <= _MAX_SENTENCES:
            texts = [pair.premise]
        known = pair.label in LABELS and len(texts) == 1
        example = {
            "claim": pair.hypothesis,
            "evidence": [("", text) for text in texts],
            "label": pair.label,
            "source": pair.source,
            "sentences": [pair.label] if known else [],
            "group": pair.group or "",
        }
        if non_commercial or pair.source not in NON_COMMERCIAL:
            yield read_record(Example, example, where, REMEDY)


class TitleNames:
    """The titles that texts may not name, such as those of the documents of development claims.

    `titles`: the titles. A qualifier in parentheses is not part of a name.
    """

    def __init__(self, titles: Collection[str]) -> None:
        names = {tuple(_WORD.findall(base_title(title.replace("_", " ")))) for title in titles}
        self._names = names - {()}
        self._longest = min(max(map(len, self._names), default=0), _LONGEST_TITLE)

    def in_text(self, text: str) -> bool:
        """Return whether a text names a title: its words, from a capital letter or a digit on."""
        words = _WORD.findall(text)
        for begin, word in enumerate(words):
            if word[0].isupper() or word[0].isdigit():
                for end in range(begin + 1, min(begin + self._longest, len(words)) + 1):
                    if tuple(words[begin:end]) in self._names:
                        return True
        return False

    def in_example(self, example: Example) -> bool:
        """Return whether the claim or the evidence names a title."""
        texts = (example.claim, *(text for sentence in example.evidence for text in sentence))
        return bool(self._names) and any(map(self.in_text, texts))


def _covers(evidence: Sequence[tuple[str, str]], claim: str) -> bool:
    """Return whether evidence has all words of a claim, so that it may decide it."""
    text = " ".join(text for _, text in evidence).casefold()
    return set(_CONTENT.findall(claim.casefold())) <= set(_CONTENT.findall(text))


def with_titles(examples: Sequence[Example], source: str, seed: int) -> list[Example]:
    """Return examples of which most of a source have a title, as sentences of documents have.

    Where all sentences with titles were of one label more often, titles would give it away. The
    title is the name in the claim that the evidence repeats, or else the first one in the claim.

    `source`: the source whose evidence gets titles. Examples that have titles, or sentences of
    several documents, stay as they are.
    """
    rng = random.Random(f"{seed} {source}")
    return [
        _titled(example) if example.source == source and rng.random() < _TITLED else example
        for example in examples
    ]


def _titled(example: Example) -> Example:
    several = example.label != "neutral" and "neutral" in example.sentences
    if several or any(title for title, _ in example.evidence):
        return example
    names = [name for name in _NAME.findall(example.claim) if len(name) >= _MIN_NAME]
    text = " ".join(text for _, text in example.evidence)
    title = next((name for name in names if name in text), names[0] if names else "")
    evidence = tuple((title, text) for _, text in example.evidence)
    return replace(example, evidence=evidence)


def surrounded_examples(
    examples: Sequence[Example], source: str, corpus: Corpus, seed: int
) -> Iterator[Example]:
    """Yield the entailed and contradicted examples of a source with further sentences.

    In use, the sentence that decides a claim stands among others that share words with it. Neutral
    examples are left out, since retrieval may find what decides their claims.

    `corpus`: the documents to find sentences in: the best one of each that BM25 finds for the
    claim.
    """
    chosen = [e for e in examples if e.source == source and e.label in LABELS]
    chosen = [e for e in chosen if e.label != "neutral"]
    results = corpus.search([example.claim for example in chosen], _SEARCHED_DOCUMENTS)
    for example, found in zip(chosen, results, strict=True):
        rng = random.Random(f"{seed} {example.claim} {example.evidence}")
        titles = [result.title for result in found[: rng.randint(1, _SEARCHED_DOCUMENTS)]]
        own = " ".join(text for _, text in example.evidence)
        titled = any(title for title, _ in example.evidence)
        # Titled only as the evidence is; retrieval may have found the evidence itself.
        around = [
            (title if titled else "", text)
            for title, text in closest_sentences(example.claim, corpus, titles, 1)
            if text not in own and not _covers([("", text)], example.claim)
        ]
        if around:
            unknown = (None,) * len(example.evidence)
            labelled: list[tuple[tuple[str, str], str | None]] = [
                *zip(example.evidence, example.sentences or unknown, strict=True),
                *((sentence, "neutral") for sentence in around),
            ]
            rng.shuffle(labelled)
            yield replace(
                example,
                evidence=tuple(sentence for sentence, _ in labelled),
                sentences=tuple(label for _, label in labelled),
            )


@program
@out_argument
@click.option(
    "--nli",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="Inference pairs: a file, or a folder of files *.SPLIT.jsonl.gz; repeatable.",
)
@click.option("--split", default="train", show_default=True, help="Split of the folders of --nli.")
@click.option(
    "--non-commercial",
    is_flag=True,
    help=f"Also use {' and '.join(sorted(NON_COMMERCIAL))}, whose licences forbid commercial use.",
)
@click.option(
    "--surround",
    multiple=True,
    metavar="SOURCE",
    help="Repeat the entailed and contradicted examples of a source of --nli with further "
    "sentences that BM25 finds for the claim; repeatable.",
)
@click.option(
    "--title",
    multiple=True,
    metavar="SOURCE",
    help="Give the evidence of a source of --nli titles, as documents have them; repeatable.",
)
@click.option(
    "--join",
    multiple=True,
    metavar="SOURCE",
    help="Also join claims of a source of --nli in pairs; repeatable.",
)
@kb_option("name")
@source_option(f"Claims with gold evidence; repeatable. Formats: {', '.join(FORMATS)}.")
@documents_option
@click.option(
    "--select",
    "selections",
    multiple=True,
    metavar="[FORMAT:]FILE",
    help="Claims with gold evidence to choose sentences for, among hard ones; repeatable.",
)
@click.option(
    "--passage",
    "passages",
    multiple=True,
    metavar="FORMAT:FILE",
    help="Claims with gold documents, or inference pairs (nli:FILE) with evidence from a document "
    "of the knowledge base: what decides them among the sentences around it, and, where they are "
    "entailed, the same without it; repeatable.",
)
@click.option(
    "--bridge-twins",
    "bridges",
    multiple=True,
    metavar="FORMAT:FILE",
    help="Claims with gold sentences of several documents, and twins in which a sentence has a "
    "general noun in place of the next document's name; repeatable.",
)
@click.option(
    "--worlds",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Examples about invented people, places and things.",
)
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="SOURCE=COUNT",
    help="Most examples of a source of --nli, drawn at random with their groups; repeatable.",
)
@exclude_option(
    "claims that share a document with them, and examples of --nli that name one, are left out"
)
@hold_out_option
@seed_option
def main(
    out: Path,
    nli: tuple[Path, ...],
    split: str,
    non_commercial: bool,
    surround: tuple[str, ...],
    title: tuple[str, ...],
    join: tuple[str, ...],
    name: str,
    sources: tuple[str, ...],
    documents: tuple[Path, ...],
    selections: tuple[str, ...],
    passages: tuple[str, ...],
    bridges: tuple[str, ...],
    worlds: int,
    limits: tuple[str, ...],
    exclude: tuple[Path, ...],
    hold_out: float,
    seed: int,
) -> None:
    """Write examples to OUT (JSON Lines), the same ones for the same seed."""
    if not (nli or sources or selections or passages or bridges or worlds):
        raise click.UsageError(
            "There is nothing to build from: give --nli, --source, --select, --passage, "
            "--bridge-twins or --worlds."
        )
    most = dict(map(_parse_limit, limits))
    pairs = [text.removeprefix(_PAIRS) for text in passages if text.startswith(_PAIRS)]
    in_files = [text for text in passages if not text.startswith(_PAIRS)]
    claims = [
        (Source.parse(text).without_held_out(hold_out), kind)
        for texts, kind in (
            (sources, ""),
            (selections, "selection"),
            (in_files, "passage"),
            (bridges, "twins"),
        )
        for text in texts
    ]
    files = [file for path in nli for file in inference_files(path, split)]
    around = [file for path in pairs for file in inference_files(Path(path), split)]
    inputs = (*files, *around, *(one.path for one, _ in claims), *documents, *exclude)
    check_distinct_paths(out, *inputs)
    excluded = titles_of(exclude)
    read = partial(
        _inference_examples,
        non_commercial=non_commercial,
        names=TitleNames(excluded),
        limits=most,
        hold_out=hold_out,
        seed=seed,
    )
    examples, decided = read(files), read(around)
    for source in title:
        examples = with_titles(examples, source, seed)
    joined = [new for source in join for new in joined_examples(examples, source, seed)]
    if claims or surround or decided:
        with ExitStack() as stack:
            kb = stack.enter_context(KnowledgeBase.open(locate(name)))
            corpus = with_documents(kb, documents)
            for source in surround:
                examples += list(surrounded_examples(examples, source, kb, seed))
            examples += inference_passages(decided, corpus, excluded, seed)
            for own, kind in claims:
                examples += _claim_examples(own, corpus, excluded, seed, kind)
    examples += joined
    examples += islice(world_examples(seed), worlds)
    if not examples:
        raise AdmiralError(f"{out}: no examples are left; check the sources")
    write_records(out, examples)
    for source, labels, taken in summary_by_source(examples):
        click.echo(f"{source}: {labels}; {taken} in an epoch", err=True)
    click.echo(f"{out}: {len(examples):,} examples", err=True)


def _parse_limit(text: str) -> tuple[str, int]:
    name, _, count = text.rpartition("=")
    if not name or not count.isdecimal():
        raise AdmiralError(f"--limit {text}: is not SOURCE=COUNT, such as fever=2000")
    return name, int(count)


def _inference_examples(
    files: Sequence[Path],
    non_commercial: bool,
    names: TitleNames,
    limits: Mapping[str, int],
    hold_out: float,
    seed: int,
) -> list[Example]:
    """Return the examples of files that name no excluded document, by file."""
    kept: list[Example] = []
    for file in files:
        read = list(read_inference_examples(file, non_commercial=non_commercial))
        allowed = [example for example in read if not names.in_example(example)]
        if len(allowed) < len(read):
            left_out = len(read) - len(allowed)
            click.echo(f"{file}: {left_out:,} of {len(read):,} left out: excluded", err=True)
        for source in dict.fromkeys(example.source for example in allowed):
            own = [example for example in allowed if example.source == source]
            limit = limits.get(source)
            kept += own if limit is None else draw_examples(own, limit, seed)
    return [example for example in kept if not is_held_out(example.claim, hold_out)]


_MAKERS = {"selection": selection_examples, "passage": passage_examples, "twins": bridge_twins}


def _claim_examples(
    source: Source, corpus: Corpus, excluded: set[str], seed: int, kind: str
) -> Iterator[Example]:
    """Yield the examples of a file of claims, with the names of folder and file as their source.

    `kind`: one of `_MAKERS`, which is added to the name; empty for evidence as it is retrieved.
    """
    count = left_out = 0
    path = source.path.resolve()
    name = "-".join(filter(None, (path.parent.name, path.name.split(".")[0], kind)))
    for count, item in enumerate(source.claims(), start=1):  # noqa: B007
        own: Corpus = PassageCorpus(item.passages) if item.passages else corpus
        rng = random.Random(f"{seed} {item.claim.claim}")
        examples: list[Example] = []
        if not excluded.isdisjoint(item.claim.all_titles):
            pass
        elif kind:
            examples = list(_MAKERS[kind](item.claim, own, name, rng))
        else:
            examples = list(evidence_examples(item.claim, own, name, rng))
            examples += page_examples(item.claim, own, name, rng)
        left_out += not examples
        yield from examples
    click.echo(
        f"{source.path}: {count - left_out:,} claims, {left_out:,} left out: excluded, or without "
        "label or gold documents here",
        err=True,
    )
