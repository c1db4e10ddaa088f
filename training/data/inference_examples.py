"""Examples of natural language inference, and what is made of them.

Two claims with evidence of their own can be joined. A joined claim is entailed if both parts are,
and contradicted if one part is, whatever is known of the other; otherwise it is open. Claims in use
often have several parts, those of most data sets only one.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.io.sentence_splitter import split_sentences
from admiral.records import read_record
from admiral.retrieval.first_stage import base_title
from proofs.verifier import LABELS
from training.data.evidence_corpora import Corpus
from training.data.evidence_examples import closest_sentences
from training.data.examples import (
    NON_COMMERCIAL,
    RELEVANT,
    REMEDY,
    Example,
    Labelled,
    Span,
    content_words,
)
from training.data.records import numbered_objects

#: Labels of examples whose evidence decides the claim.
DECIDED = ("entailment", "contradiction")
_MAX_SENTENCES = 12
_NAME = re.compile(r"[A-Z][\w'’.-]*(?: (?:(?:of|the|and|de|von) )?[A-Z0-9][\w'’.-]*)*")
_WORD = re.compile(r"\w+")
_MIN_NAME = 4  # shorter names, such as "He", are not distinctive
# Share of the examples that get titles.
_TITLED = 0.7
_LONGEST_TITLE = 10  # words
_SEARCHED_DOCUMENTS = 4
_JOINTS = (". ", ", and ", "; ", ", while ")
_JOINED_SENTENCES = 3  # of each part
_JOINED_CHARACTERS = 160
_PARTS = (2, 2, 2, 3, 3, 4)  # of a claim, drawn from these
# Half of the claims have entailed parts alone, so that a joint does not mean contradiction.
_ALL_ENTAILED = 0.5
# As many lack the evidence of a part.
_WITHHELD = 0.4


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
        return any(
            tuple(words[begin:end]) in self._names
            for begin, word in enumerate(words)
            if word[0].isupper() or word[0].isdigit()
            for end in range(begin + 1, min(begin + self._longest, len(words)) + 1)
        )

    def in_example(self, example: Example) -> bool:
        """Return whether the claim or the evidence names a title."""
        texts = (example.claim, *(text for sentence in example.evidence for text in sentence))
        return bool(self._names) and any(map(self.in_text, texts))


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
    return replace(example, evidence=tuple((title, text) for _, text in example.evidence))


def surrounded_examples(
    examples: Sequence[Example], source: str, corpus: Corpus, seed: int
) -> Iterator[Example]:
    """Yield the entailed and contradicted examples of a source with further sentences.

    In use, the sentence that decides a claim stands among others that share words with it. Neutral
    examples are left out, since retrieval may find what decides their claims.

    `corpus`: the documents to find sentences in: the best one of each that BM25 finds for the
    claim.
    """
    chosen = [e for e in examples if e.source == source and e.label in DECIDED]
    results = corpus.search([example.claim for example in chosen], _SEARCHED_DOCUMENTS)
    for example, found in zip(chosen, results, strict=True):
        rng = random.Random(f"{seed} {example.claim} {example.evidence}")
        titles = [result.title for result in found[: rng.randint(1, _SEARCHED_DOCUMENTS)]]
        own = " ".join(text for _, text in example.evidence)
        titled = any(title for title, _ in example.evidence)
        # Titled only as the evidence is. Retrieval may have found the evidence itself, or a
        # sentence with all words of the claim, which may decide it.
        around: list[Labelled] = [
            ((title if titled else "", text), "neutral")
            for title, text in closest_sentences(example.claim, corpus, titles, 1)
            if text not in own and not content_words(example.claim) <= content_words(text)
        ]
        if around:
            unknown = (None,) * len(example.evidence)
            labelled = [*zip(example.evidence, example.sentences or unknown, strict=True), *around]
            rng.shuffle(labelled)
            yield example.with_evidence(labelled)


def joined_examples(examples: Sequence[Example], source: str, seed: int) -> Iterator[Example]:
    """Yield claims of two to four decided ones of a source, where possible on one document."""
    rng = random.Random(f"{seed} {source}")
    parts = [
        example
        for example in examples
        if example.source == source
        and example.label in DECIDED
        and len(example.evidence) <= _JOINED_SENTENCES
        and len(example.claim) <= _JOINED_CHARACTERS
    ]
    rng.shuffle(parts)
    of_title: defaultdict[str, list[Example]] = defaultdict(list)
    for part in {part.claim: part for part in parts}.values():
        of_title[part.evidence[0][0]].append(part)
    left: list[Example] = []
    for own in of_title.values():
        yield from _joins(own, left, source, rng)
    yield from _joins(left, [], source, rng)


def _joins(
    parts: Sequence[Example], left: list[Example], source: str, rng: random.Random
) -> Iterator[Example]:
    """Yield claims of some parts, and add to `left` those that remain."""
    entailed = [part for part in parts if part.label == "entailment"]
    contradicted = [part for part in parts if part.label == "contradiction"]
    while len(entailed) > 1 or (entailed and contradicted):
        is_entailed = not contradicted or (len(entailed) > 1 and rng.random() < _ALL_ENTAILED)
        chosen = [] if is_entailed else [contradicted.pop()]
        count = rng.choice(_PARTS) - len(chosen)
        chosen += entailed[-count:]
        del entailed[-count:]
        rng.shuffle(chosen)
        yield _joined(chosen, source, rng)
    left += entailed + contradicted


def _joined(parts: Sequence[Example], source: str, rng: random.Random) -> Example:
    joint, claim = rng.choice(_JOINTS), ""
    # The evidence of other claims on a document may decide a part of which it is not the evidence.
    apart = len({title for part in parts for title, _ in part.evidence if title}) != 1
    withheld = rng.choice(parts) if apart and rng.random() < _WITHHELD else None
    spans: list[Span] = []
    items: list[Labelled] = []
    for part in parts:
        claim += "" if not claim else joint if part is parts[-1] else f"{joint.split()[0]} "
        begin = len(claim)
        claim += part.claim.strip().rstrip(".")
        spans.append((begin, len(claim), "neutral" if part is withheld else part.label))
        if part is not withheld:
            # What the only sentence of a part does to the whole claim is known.
            one = part.label if part.label == "contradiction" else RELEVANT
            items += [(each, one if len(part.evidence) == 1 else None) for each in part.evidence]
    items = list(dict.fromkeys(items))
    rng.shuffle(items)
    labels = [label for _, _, label in spans]
    label = next((each for each in ("contradiction", "neutral") if each in labels), "entailment")
    return Example(f"{claim}.", (), label, f"{source}-joined", spans=tuple(spans)).with_evidence(
        items
    )
