"""Examples from natural language inference: `premise`, `hypothesis`, `label` and `source`."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from admiral.errors import AdmiralError, RecordError
from admiral.io.sentence_splitter import split_sentences
from admiral.io.streams import json_objects
from admiral.retrieval.mentions import base_title
from proofs.verifier.reading import LABELS
from training.data.evidence_corpora import Corpus
from training.data.evidence_examples import closest_sentences
from training.data.examples import NON_COMMERCIAL, Example, parse_example

_FIELDS = ("premise", "hypothesis", "label", "source")
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


def read_inference_examples(path: Path, *, non_commercial: bool = False) -> Iterator[Example]:
    """Yield the examples of a file, each sentence of a premise one of the evidence.

    `path`: JSON Lines, compressed or not. `non_commercial`: whether to yield examples of
    `NON_COMMERCIAL` sources.

    Raises `RecordError` for a bad record, with file, line and field.
    """
    for item in json_objects(path):
        if isinstance(item, RecordError):
            raise item
        number, record = item
        where = f"{path}:{number}"
        for name in _FIELDS:
            if not isinstance(record.get(name), str):
                remedy = f"The fields are {', '.join(_FIELDS)}"
                problem = "is missing" if name not in record else "is not a text"
                raise RecordError(where, name, problem, remedy)
        texts = split_sentences(record["premise"])
        if not 1 <= len(texts) <= _MAX_SENTENCES:
            texts = [record["premise"]]
        known = record["label"] in LABELS and len(texts) == 1
        example = parse_example(
            {
                "claim": record["hypothesis"],
                "evidence": [["", text] for text in texts],
                "label": record["label"],
                "source": record["source"],
                "sentences": [record["label"]] if known else [],
                "group": record.get("group"),
            },
            where,
        )
        if non_commercial or example.source not in NON_COMMERCIAL:
            yield example


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
